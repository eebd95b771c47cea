"""Markers: pictures show them as geoms of the model, in each world as the caller wants, and nothing of them stays."""

import numpy as np
import pytest

import stet

SCENE = """<mujoco><statistic extent="3" center="0 0 .5"/>
<visual><scale jointlength="9" jointwidth=".8"/></visual><asset>
<mesh name="wedge" vertex="0 0 0 .5 0 0 0 .4 0 0 0 .6"/><material name="gold" rgba=".9 .7 .1 1"/></asset><worldbody>
<light pos="1 -1 4" dir="-.2 .2 -1"/><geom type="plane" size="2 2 .1"/><site name="spot" pos=".5 0 .5"/>
<body name="arm" pos="0 0 .5"><joint name="hinge" axis="0 0 1"/><geom type="capsule" size=".1" fromto="0 0 0 .4 0 0"/>{}
</body><camera pos="0 -3 1.4" xyaxes="1 0 0 0 .4 .9"/></worldbody></mujoco>"""
OUTPUTS = ("rgb", "depth", "seg_geom", "seg_body", "seg_type")


def make(text="", **keywords):
    return stet.Sim(SCENE.format(text), worlds=3, width=64, height=48, outputs=OUTPUTS, device="cpu", **keywords)


def pictures(sim):
    sim.render()
    return {name: sim.read(name).copy() for name in OUTPUTS}


def same(a, b, worlds=slice(None)):
    return all((a[name][worlds] == b[name][worlds]).all() for name in OUTPUTS)


def test_a_marker_looks_like_a_geom():
    geom = make('<geom type="box" size=".1 .2 .3" pos=".1 -.3 .2" quat="0.6 0 0.8 0" rgba=".2 .8 .3 1"/>')
    sim = make()
    assert not same(pictures(sim), pictures(geom))
    marker = sim.add_marker("box", [0.1, 0.2, 0.3], body="arm", pos=[0.1, -0.3, 0.2], quat=[0.6, 0, 0.8, 0],
                            rgba=[0.2, 0.8, 0.3], name="target")
    assert marker.id == 2 and sim.ids("seg_geom").rows[-1][:2] == (2, "target")
    for angle in (0, 0.7):
        for one in (sim, geom):
            one.qpos[:, 0] = [0, angle, -angle]
        a, b = pictures(sim), pictures(geom)
        assert same(a, b)
        assert marker.id in np.unique(a["seg_geom"])
    geom.close()
    sim.close()


def test_worlds_differ():
    sim = make()
    before = pictures(sim)
    marker = sim.add_marker("sphere", 0.2, pos=[[0, -0.5, 0.5], [0.5, -0.5, 0.5], [-0.5, -0.5, 0.5]], rgba=[1, 0, 0])
    shown = pictures(sim)
    columns = [np.nonzero(shown["seg_geom"][w] == marker.id)[1].mean() for w in range(3)]
    assert columns[2] < columns[0] < columns[1]
    marker.show([True, False, True])
    now = pictures(sim)
    assert same(now, before, 1) and same(now, shown, [0, 2])
    marker.show()
    assert same(pictures(sim), shown)
    marker.colour([0, 0, 1], world=2)
    now = pictures(sim)
    there = now["seg_geom"][2, ..., 0] == marker.id
    red, _, blue = now["rgb"][2][there].sum(0)
    assert blue > 5 * red
    assert same(now, shown, [0, 1]) and (now["depth"] == shown["depth"]).all()
    marker.move([0, -0.5, 0.5], world=1)
    now = pictures(sim)
    assert (now["seg_geom"][1] == now["seg_geom"][0]).all()
    marker.hide()
    assert same(pictures(sim), before)
    sim.close()


def test_markers_are_attached_and_removed():
    sim = make()
    before = pictures(sim)
    marker = sim.add_marker("mesh", mesh="wedge", material="gold", site="spot")
    at_site = pictures(sim)
    marker.attach(body="arm")
    assert not same(pictures(sim), at_site)
    sim.ids("seg_geom").label("hand", body="arm")
    marker.attach(site="spot")
    assert same(pictures(sim), at_site)
    marker.remove()
    assert same(pictures(sim), before)
    again = sim.add_marker("plane", [0.3, 0.3], camera=None, pos=[0, 0, 0.3])
    assert again.id == marker.id
    with pytest.raises(stet.StateError, match="was removed"):
        marker.show()
    sim.close()


def test_what_is_wrong_is_said():
    sim = make()
    with pytest.raises(stet.NotFoundError, match="no shape 'cube'; it is plane, sphere"):
        sim.add_marker("cube")
    with pytest.raises(stet.NotFoundError, match="body 'leg'.*arm"):
        sim.add_marker("box", [1, 1, 1], body="leg")
    with pytest.raises(stet.NotFoundError, match="no mesh 'hand'"):
        sim.add_marker("mesh", mesh="hand")
    with pytest.raises(stet.InvalidArgumentError, match=r"size\[1\] is 0"):
        sim.add_marker("box", 0.1)
    with pytest.raises(stet.InvalidArgumentError, match="give one of body, site"):
        sim.add_marker("sphere", 0.1, body="arm", site="spot")
    with pytest.raises(stet.InvalidArgumentError, match="rgba has 2 numbers"):
        sim.add_marker("sphere", 0.1, rgba=[1, 0])
    with pytest.raises(stet.InvalidArgumentError, match="alpha is 0"):
        sim.add_marker("sphere", 0.1, rgba=[1, 0, 0, 0])
    with pytest.raises(stet.InvalidArgumentError, match="quat is 0"):
        sim.add_marker("sphere", 0.1, quat=[0, 0, 0, 0])
    with pytest.raises(stet.ArgumentTypeError, match="color"):
        sim.add_marker("sphere", 0.1, color=[1, 0, 0])
    before = pictures(sim)
    marker = sim.add_marker("sphere", 0.1, pos=[0, 0, 1])
    assert marker.id == 2, "nothing of the refused ones is left"
    with pytest.raises(stet.InvalidArgumentError, match="there are 3"):
        marker.hide(world=3)
    with pytest.raises(stet.InvalidArgumentError, match="pos"):
        marker.move([[0, 0, 1]] * 2)
    with pytest.raises(stet.InvalidArgumentError, match=r"move: quat has shape \[1\]; give \[4\], or \[3, 4\]"):
        marker.move([0, 0, 1], [1])
    assert repr(marker) == "<stet.Marker, id 2>"
    marker.remove()
    assert repr(marker) == "<stet.Marker, removed>"
    assert same(pictures(sim), before)
    sim.close()
    with pytest.raises(stet.StateError):
        sim.add_marker("sphere")


def test_decorations_come_and_go():
    sim, later = make(show="joints"), make()
    none, joints = pictures(later), pictures(sim)
    assert not (joints["rgb"] == none["rgb"]).all()
    assert all((joints[name] == none[name]).all() for name in OUTPUTS if name != "rgb")
    later.show("joints")
    assert same(pictures(later), joints)
    later.show("joints", "frames", "com", "inertia", "contacts", "contactforce", "rangefinder")
    everything = pictures(later)
    assert not same(everything, joints) and not same(everything, none)
    later.step(5)
    later.show()
    sim.step(5)
    sim.show()
    assert same(pictures(later), pictures(sim))
    with pytest.raises(stet.NotFoundError, match="there are: joints contacts"):
        later.show("joint")
    with pytest.raises(stet.NotFoundError):
        make(show=["frames", "shadows"])
    sim.close()
    later.close()
