"""Where a page begins: worlds, camera, what fills the picture; a run that waits for it; recordings that begin again."""

import json
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

pytest.importorskip("websockets")
pytest.importorskip("PIL")

from websockets.sync.client import connect

import stet
from stet.view import messages
from stet.view.framing import find_floor, first_look, frame_moving
from stet.view.pictures import Look, Painter
from stet.view.replay import Replay
from stet.view.source import Wants

# A robot of 30 cm on a floor of 20 m, among walls; `way` says where it stands.
HALL = """<mujoco><worldbody><geom name="floor" type="plane" size="20 20 .1" pos="0 0 -.5"/>
  <geom type="box" size="20 .2 3" pos="0 20 2.5"/><geom type="box" size=".2 20 3" pos="20 0 2.5"/>
  <geom type="plane" size="1 1 .1" pos="0 0 4" euler="0 30 0"/>
  <body name="robot" pos="{way} -.35">{joint}<geom size=".1" rgba="1 0 0 1"/>
   <body name="leg" pos="0 0 .1"><joint axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .1 0 .1"
    rgba="1 0 0 1"/></body></body>{more}</worldbody></mujoco>"""


LOOK = {"do": "look", "camera": "", "view": None, "whole": False, "output": "rgb", "first": 0, "count": 1, "width": 64,
        "height": 48, "full": True, "follow": -1, "groups": [0, 1, 2], "fisheye": 0, "trail": -1, "contacts": False,
        "forces": False, "show": [], "timeline": False, "plots": []}


def hall(joint="<freejoint/>", way="3 4", more=""):
    return stet.load(HALL.format(joint=joint, way=way, more=more))


def state_of(sim):
    return {name: sim.array(name).read_worlds(0, 1) for name in ("qpos", "mocap_pos", "mocap_quat")}


@pytest.mark.parametrize(("way", "joint"), [("3 4", "<freejoint/>"), ("-15 9", "<freejoint/>"), ("0 0", "")])
def test_what_moves_fills_the_picture(way, joint):
    """It is a dot of a few pixels where the whole scene is shown."""
    model = hall(joint, way)
    painter = Painter(model, ("qpos", "mocap_pos", "mocap_quat"))
    views = {}
    with stet.Sim(model, threads=1) as sim:
        for whole in (False, True):
            views[whole] = painter.paint(Look(width=200, height=200, whole=whole), state_of(sim)).view
    painter.close()
    assert views[True][2] > 20 * views[False][2]  # metres: the whole scene is seen from far
    ids = stet.Sim(model, threads=1, outputs="seg_body", width=200, height=200, cameras="free", physics="mujoco")
    assert np.allclose(frame_moving(ids), views[False])
    ids.place_camera("free:" + ",".join(map(str, views[False])))
    body = ids.read("seg_body")[0, ..., 0]
    shown = np.argwhere(np.isin(body, [1, 2]))
    (top, left), (bottom, right) = shown.min(axis=0), shown.max(axis=0)
    assert 5 <= top and 5 <= left and bottom < 195 and right < 195  # all of it, with a margin
    assert max(bottom - top, right - left) > 70
    ids.close()


def test_where_a_page_begins():
    walker = hall()
    assert first_look(walker, 100) == {"count": 16, "camera": "", "follow": 1}
    assert first_look(walker, 3)["count"] == 3
    assert first_look(hall(""), 1)["follow"] == -1  # it does not walk
    cube = '<body name="cube"><freejoint/><geom size=".1"/></body>'
    assert first_look(hall("", more=cube), 1)["follow"] == -1  # the arm is not on the cube
    tracked = hall(more='<body><camera name="chase" mode="trackcom" pos="0 -1 1"/></body><camera name="fixed"/>')
    assert first_look(tracked, 1) == {"count": 1, "camera": "chase", "follow": -1}
    still = stet.load("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    assert first_look(still, 1) == {"count": 1, "camera": "", "follow": -1}
    with stet.Sim(still, physics="mujoco", threads=1, cameras="free", outputs="rgb") as sim:
        assert frame_moving(sim) is None


def test_the_floor():
    assert find_floor(hall()) == -0.5  # the highest level plane: that of 4 m leans
    assert find_floor(stet.load("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")) is None
    moving = "<body><joint/><geom type='sphere' size='1'/><geom type='plane' size='1 1 1' pos='0 0 9'/></body>"
    with pytest.raises(stet.Error):
        stet.load(f"<mujoco><worldbody>{moving}</worldbody></mujoco>")  # MuJoCo has no planes that move


def test_recordings_begin_again():
    model = stet.load(stet.scenes / "cartpole.xml")
    replay = Replay(model, {"qpos": np.zeros((5, 1, model.nq))}, seconds=0.02, speed=1)
    try:
        seen, end = set(), time.monotonic() + 20
        while len(seen) < 5 and time.monotonic() < end:
            seen.add(replay.take(Wants(0, 1)).facts["steps"])
            time.sleep(0.005)
        assert seen == {0, 1, 2, 3, 4} and not replay.paused
        replay._go_on(5 * 7)  # whole rounds
        assert not replay.paused
        replay.tell("loop", {"on": False})
        while not replay.paused and time.monotonic() < end:
            time.sleep(0.005)
        assert replay.paused and replay.take(Wants(0, 1)).facts["steps"] == 4
    finally:
        replay.close()
    assert messages.parse('{"do": "loop", "on": true}') == ("loop", {"on": True})


def reader_of(url):
    page, token = url.split("/#")
    return connect(page.replace("http", "ws") + "/socket?token=" + token, origin=page, compression=None, max_size=None)


def test_a_run_waits_for_its_page():
    with stet.Sim(stet.scenes / "cartpole.xml", 2, threads=1) as sim, sim.view() as viewer:
        assert not viewer.wait(0.05)
        facts = []

        def read():
            with reader_of(viewer.url) as socket:
                facts.append(json.loads(socket.recv())["facts"])

        opened = threading.Timer(0.2, read)
        opened.start()
        assert viewer.wait(20)
        opened.join()
        assert facts[0]["look"]["count"] == 2 and facts[0]["floor"] == 0
    assert not viewer.wait(5)  # closed: nobody will come


@pytest.mark.parametrize("words", [["run", str(stet.scenes / "cartpole.xml"), "--worlds", "2", "--frames", "40",
                                    "--output", "none", "--view", "--wait", "--no-browser"]])
def test_a_run_of_the_command_waits(words):
    process = subprocess.Popen([sys.executable, "-m", "stet", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    try:
        url = process.stderr.readline().split()[0]
        time.sleep(1)
        assert process.poll() is None  # forty frames take no time
        with reader_of(url) as socket:
            assert "facts" in json.loads(socket.recv())
            assert process.poll() is None  # it waits for somebody who looks
            socket.send(json.dumps(LOOK))
            assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
