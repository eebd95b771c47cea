"""What `stet run --out` writes: tensors that NumPy reads, pictures of the right size and pixels, recordings, the
summary.
"""

import csv
import json
import os

import numpy as np

from command import files_below, folder, read_png, run, scene

OUTPUTS = {
    "rgb": (np.uint8, 3), "rgba": (np.uint8, 4), "depth": (np.float32, 1), "distance": (np.float32, 1),
    "normal": (np.float32, 3), "albedo": (np.uint8, 4), "seg_geom": (np.int32, 1), "seg_body": (np.int32, 1),
    "seg_type": (np.int32, 1), "motion": (np.float32, 2), "body_point": (np.float32, 3),
}


def load(cwd, name):
    return np.load(os.path.join(cwd, "out", name))


def png(cwd, name):
    return read_png(os.path.join(cwd, "out", name))


def in_grid(tensor, columns, rows):
    """The tiles [n][h][w][c] in a grid, row by row; black where there is none."""
    n, h, w, c = tensor.shape
    grid = np.zeros((rows * h, columns * w, c), tensor.dtype)
    for k in range(n):
        y, x = k // columns * h, k % columns * w
        grid[y : y + h, x : x + w] = tensor[k]
    return grid


def test_every_output():
    with folder() as cwd:
        done = run(scene("hand.xml"), "--worlds", 5, "--frames", 2, "--size", "40x30", "--output", ",".join(OUTPUTS),
                   "--out", "out", cwd=cwd)
        want = ["summary.json"] + [f"mosaic-{name}.png" for name in OUTPUTS] + [f"{name}.npy" for name in OUTPUTS]
        want += [f"ids-{name}.csv" for name in OUTPUTS if name.startswith("seg_")]
        assert files_below(os.path.join(cwd, "out")) == sorted(want)
        assert sorted(done["files"]) == sorted("out/" + name for name in want)
        tensor = {}
        for name, (dtype, channels) in OUTPUTS.items():
            tensor[name] = load(cwd, name + ".npy")
            assert tensor[name].dtype == dtype and tensor[name].shape == (5, 30, 40, channels), name
            picture = png(cwd, f"mosaic-{name}.png")
            assert picture.shape == (3 * 30, 2 * 40, 4 if name == "rgba" else 3), (name, picture.shape)
        for name in ("rgb", "rgba", "albedo"):
            channels = 4 if name == "rgba" else 3
            assert np.array_equal(png(cwd, f"mosaic-{name}.png"), in_grid(tensor[name][..., :channels], 2, 3)), name
        assert tensor["rgb"].std() > 10, "a picture of something"
        check_colours(cwd, tensor)
        check_agreement(tensor)


def test_range_of_depths():
    """Even steps of 1 / depth from the light end to the dark one; nothing hit is black."""
    with folder() as cwd:
        run(scene("cartpole.xml"), "--worlds", 2, "--frames", 1, "--size", "40x30", "--output", "depth,distance",
            "--depth-range", "3,4.5", "--camera", "main", "--out", "out", cwd=cwd)
        for name in ("depth", "distance"):
            depth = load(cwd, f"{name}.npy")
            colours = png(cwd, f"mosaic-{name}.png").astype(int)
            grid = in_grid(np.where(np.isfinite(depth), depth, 0), 2, 1)[..., 0]
            part = np.clip((1 / 3 - 1 / np.maximum(grid, 1e-6)) / (1 / 3 - 1 / 4.5), 0, 1)
            ramp = np.array([(0.99, 0.98, 0.82, 0.43, 0.09), (0.95, 0.66, 0.33, 0.18, 0.08),
                             (0.74, 0.42, 0.45, 0.50, 0.26)])
            wanted = np.stack([np.interp(4 * part, range(5), points) for points in ramp], axis=-1) * 255
            wanted[grid == 0] = 0
            assert np.abs(colours - wanted).max() < 1 and (part > 0).any() and (part < 1).any()


def test_fisheye():
    with folder() as cwd:
        run(scene("hand.xml"), "--worlds", 1, "--frames", 1, "--size", "40x30", "--output", "depth,distance",
            "--fisheye", "0,200", "--camera", "free,free:fit", "--out", "out", cwd=cwd)
        depth, distance = (
            [load(cwd, f"{name}-{camera}.npy") for camera in ("free", "free_fit")] for name in ("depth", "distance")
        )
        assert (depth[0] < distance[0]).any(), "an ordinary camera"
        assert np.allclose(depth[1], distance[1], rtol=1e-6) and np.isfinite(depth[1]).any()


def check_colours(cwd, tensor):
    """Equal ids have equal colours and different ids different ones; nothing is black; near is lighter than far."""
    for name in ("seg_geom", "seg_body", "seg_type"):
        ids = in_grid(tensor[name] + 1, 2, 3)[..., 0]  # 0: no world there, or the sky
        colours = png(cwd, f"mosaic-{name}.png").astype(int) @ [65536, 256, 1]
        seen = {i: set(colours[ids == i]) for i in np.unique(ids)}
        assert all(len(found) == 1 for found in seen.values()), name
        assert len(set.union(*seen.values())) == len(seen), name
        assert seen.get(0, {0}) == {0}, name
        with open(os.path.join(cwd, "out", f"ids-{name}.csv"), encoding="utf-8", newline="") as f:
            table = {int(row["id"]): row for row in csv.DictReader(f)}
        assert table[-1]["name"] == "sky" and all(row["name"] for row in table.values()), name
        assert all(found == {int(table[i - 1]["colour"][1:], 16)} for i, found in seen.items()), name
    for name in ("depth", "distance"):
        depth = in_grid(np.where(np.isfinite(tensor[name]), tensor[name], 0), 2, 3)[..., 0]
        light = png(cwd, f"mosaic-{name}.png").astype(int).sum(axis=2)
        assert np.all(light[depth == 0] == 0), name
        shown = depth[depth > 0]
        near, far = np.quantile(shown, 0.1), np.quantile(shown, 0.9)
        assert light[(depth > 0) & (depth <= near)].min() > light[depth >= far].max(), name
    normal = tensor["normal"]
    hit = (normal != 0).any(axis=-1, keepdims=True)
    want = np.where(hit, (0.5 + 0.5 * normal.astype(float)) * 255, 0)
    shown = png(cwd, "mosaic-normal.png").astype(float)
    assert np.abs(shown - in_grid(want, 2, 3)).max() <= 0.5 + 1e-6


def check_agreement(tensor):
    """The outputs are of the same scene: what is hit in one is hit in all."""
    hit = np.isfinite(tensor["depth"][..., 0])
    assert hit.any()
    assert np.array_equal(hit, np.isfinite(tensor["distance"][..., 0]))
    assert np.all(tensor["distance"][hit] >= tensor["depth"][hit] * (1 - 1e-6))
    for name in ("seg_geom", "seg_body", "seg_type"):
        assert np.array_equal(hit, tensor[name][..., 0] >= 0), name
    assert np.array_equal(hit, tensor["rgba"][..., 3] == 255)
    assert np.allclose(np.linalg.norm(tensor["normal"][hit], axis=-1), 1, atol=1e-5)


def test_several_cameras():
    with folder() as cwd:
        done = run(scene("hand.xml"), "--worlds", 3, "--frames", 1, "--size", "16x24", "--camera", "all", "--out",
                   "out", cwd=cwd)
        assert done["cameras"] == ["main", "top", "front"]
        want = ["mosaic-rgb.png", "rgb-front.npy", "rgb-main.npy", "rgb-top.npy", "summary.json"]
        assert files_below(os.path.join(cwd, "out")) == want
        each = [load(cwd, f"rgb-{name}.npy") for name in ("main", "top", "front")]
        cells = np.concatenate(each, axis=2)  # a world's cameras side by side
        assert np.array_equal(png(cwd, "mosaic-rgb.png"), in_grid(cells, 2, 2))
        one = run(scene("hand.xml"), "--worlds", 3, "--frames", 1, "--size", "16x24", "--camera", "front", "--out",
                  "out2", cwd=cwd)
        assert one["cameras"] == ["front"]
        assert np.array_equal(np.load(os.path.join(cwd, "out2", "rgb.npy")), each[2])


def test_odd_camera_names():
    """Names that no file can have, names that become equal, no names."""
    with folder() as cwd:
        cameras = "".join(
            f'<camera pos="0 {k} 3" {name}/>' for k, name in enumerate(('name="a/b"', 'name="a b"', "", 'name="../c"'))
        )
        with open(os.path.join(cwd, "scene.xml"), "w", encoding="utf-8") as f:
            f.write(f'<mujoco><worldbody><geom size="1"/>{cameras}</worldbody></mujoco>')
        run("scene.xml", "--worlds", 1, "--frames", 1, "--size", "8x8", "--camera", "all", "--out", "out", cwd=cwd)
        tensors = [name for name in files_below(os.path.join(cwd, "out")) if name.endswith(".npy")]
        assert tensors == ["rgb-.._c.npy", "rgb-a_b-0.npy", "rgb-a_b-1.npy", "rgb-camera2.npy"], tensors
        assert sorted(os.listdir(cwd)) == ["out", "scene.xml"]


def test_scenes_without_cameras():
    with folder() as cwd:
        done = run(scene("robot.urdf"), "--worlds", 2, "--frames", 1, "--size", "32x32", "--out", "out", "--output",
                   "rgb,seg_body", cwd=cwd)
        assert done["cameras"] == ["free"]
        bodies = load(cwd, "seg_body.npy")
        assert len(np.unique(bodies)) >= 4, "the free camera sees the arm"


def test_free_cameras():
    with folder() as cwd:
        done = run(scene("hand.xml"), "--worlds", 1, "--frames", 1, "--size", "32x32", "--camera",
                   "free:90,-30,main,free:2,-2,2,0,0,1.5,free", "--output", "seg_geom", "--out", "out", cwd=cwd)
        assert done["cameras"] == ["free:90,-30", "main", "free:2,-2,2,0,0,1.5", "free"]
        framed = load(cwd, "seg_geom-free_90_-30.npy")
        assert (framed > 0).mean() > 1.5 * (load(cwd, "seg_geom-free.npy") > 0).mean(), "the hand is larger"


def test_groups():
    with folder() as cwd:
        with open(os.path.join(cwd, "scene.xml"), "w", encoding="utf-8") as f:
            f.write("<mujoco><worldbody><geom size='.1'/><geom size='.1' pos='.3 0 0' group='3'/></worldbody></mujoco>")
        for groups, geoms in (([], [-1, 0]), (["--groups", "3"], [-1, 1]), (["--groups", "3,0,5"], [-1, 0, 1])):
            run("scene.xml", "--worlds", 1, "--frames", 1, "--size", "32x32", "--output", "seg_geom", "--out", "out",
                *groups, cwd=cwd)
            assert np.unique(load(cwd, "seg_geom.npy")).tolist() == geoms, groups


def test_numbers():
    with folder() as cwd:
        common = [scene("hand.xml"), "--worlds", 2, "--frames", 1, "--size", "40x30", "--first-world", 7]
        run(*common, "--out", "out", cwd=cwd)
        run(*common, "--out", "numbered", "--numbers", cwd=cwd)
        plain, numbered = png(cwd, "mosaic-rgb.png"), read_png(os.path.join(cwd, "numbered", "mosaic-rgb.png"))
        assert plain.shape == numbered.shape
        cells = numbered.reshape(30, 2, 40, 3)
        assert (cells[0] == 128).all() and (cells[:, :, 0] == 128).all()
        assert (cells[1:8, 0, 1:6] != cells[1:8, 1, 1:6]).any(), "7 and 8"
        assert np.array_equal(cells[8:, :, 1:], plain.reshape(cells.shape)[8:, :, 1:])


def test_save_every():
    with folder() as cwd:
        common = [
            scene("hand.xml"), "--worlds", 2, "--frames", 6, "--size", "16x16", "--control", "noise", "--output",
            "rgb,depth"
        ]
        done = run(*common, "--out", "out", "--save-every", 3, cwd=cwd)
        names = [f"mosaic-{output}{number}.png" for output in ("rgb", "depth") for number in ("-00003", "-00006", "")]
        assert [n for n in files_below(os.path.join(cwd, "out")) if n.endswith(".png")] == sorted(names)
        assert np.array_equal(png(cwd, "mosaic-rgb-00006.png"), png(cwd, "mosaic-rgb.png"))
        assert not np.array_equal(png(cwd, "mosaic-rgb-00003.png"), png(cwd, "mosaic-rgb.png"))
        third = run(*common[:4], 3, *common[5:], "--out", "third", cwd=cwd)
        assert np.array_equal(read_png(os.path.join(cwd, "third", "mosaic-rgb.png")), png(cwd, "mosaic-rgb-00003.png"))
        assert done["frame_hash"] == run(*common, cwd=cwd)["frame_hash"] != third["frame_hash"]


def test_save_tensors():
    with folder() as cwd:
        common = [scene("hand.xml"), "--worlds", 2, "--size", "16x12", "--control", "noise", "--camera", "main,top",
                  "--output", "rgb,depth,seg_geom"]
        done = run(*common, "--frames", 7, "--out", "out", "--save-tensors", "every:3", cwd=cwd)
        for output, dtype, channels in (("rgb", np.uint8, 3), ("depth", np.float32, 1), ("seg_geom", np.int32, 1)):
            for camera in ("main", "top"):
                frames = load(cwd, f"frames-{output}-{camera}.npy")
                assert frames.dtype == dtype and frames.shape == (2, 2, 12, 16, channels), (output, frames.shape)
                assert f"out/frames-{output}-{camera}.npy" in done["files"]
        for k, count in enumerate((3, 6)):
            run(*common, "--frames", count, "--out", f"to{count}", cwd=cwd)
            for name in ("rgb-main", "depth-top", "seg_geom-top"):
                alone = np.load(os.path.join(cwd, f"to{count}", name + ".npy"))
                assert np.array_equal(load(cwd, f"frames-{name}.npy")[k], alone), (name, count)
        one = run(*common, "--frames", 7, "--out", "one", "--save-tensors", "every:3:npz", cwd=cwd)
        assert "one/frames.npz" in one["files"] and not [name for name in one["files"] if "frames-" in name]
        assert not [name for name in os.listdir(os.path.join(cwd, "one")) if name.startswith("frames-")]
        with np.load(os.path.join(cwd, "one", "frames.npz")) as arrays:
            assert sorted(arrays) == [f"{o}:{c}" for o in ("depth", "rgb", "seg_geom") for c in ("main", "top")]
            for name in arrays:
                apart = load(cwd, f"frames-{name.replace(':', '-')}.npy")
                assert arrays[name].dtype == apart.dtype and np.array_equal(arrays[name], apart), name
        run(*common, "--frames", 2, "--out", "few", "--save-tensors", "every:3", cwd=cwd)
        assert np.load(os.path.join(cwd, "few", "frames-rgb-main.npy")).shape == (0, 2, 12, 16, 3)


def test_recordings():
    fields = ["qpos", "qvel", "ctrl", "sensordata", "time", "xpos", "xquat", "act"]
    with folder() as cwd:
        run(
            scene("hand.xml"), "--worlds", 3, "--frames", 4, "--substeps", 5, "--control", "noise", "--output", "none",
            "--record", ",".join(fields), "--out", "deep/down/out", cwd=cwd,
        )
        out = os.path.join(cwd, "deep", "down", "out")
        assert files_below(out) == sorted([f"{name}.npy" for name in fields] + ["summary.json"])
        data = {name: np.load(os.path.join(out, name + ".npy")) for name in fields}
        items = dict(qpos=31, qvel=30, ctrl=20, sensordata=42, time=1, xpos=81, xquat=108, act=0)
        for name, array in data.items():
            assert array.dtype == np.float32 and array.shape == (4, 3, items[name]), (name, array.shape)
        assert np.allclose(data["time"][:, :, 0], 0.002 * 5 * np.arange(1, 5)[:, None])
        assert np.allclose(np.linalg.norm(data["xquat"].reshape(-1, 4), axis=1), 1, atol=1e-5)
        assert not np.array_equal(data["qpos"][0], data["qpos"][3])
        assert not np.array_equal(data["ctrl"][3, 0], data["ctrl"][3, 1]), "each world has its own noise"


def test_summary_is_what_is_printed():
    with folder() as cwd:
        done = run(scene("cartpole.xml"), "--worlds", 2, "--frames", 2, "--size", "8x8", "--out", "out", "--save",
                   "state", cwd=cwd)
        with open(os.path.join(cwd, "out", "summary.json"), encoding="utf-8") as f:
            assert json.load(f) == done
        assert set(done["files"]) == {"out/mosaic-rgb.png", "out/rgb.npy", "out/summary.json", "state"}


def test_tall_mosaic():
    """Tall cells stand side by side, without places for worlds that there are not."""
    with folder() as cwd:
        run(scene("cartpole.xml"), "--worlds", 20, "--frames", 1, "--substeps", 1, "--size", "1x16384", "--out", "out",
            cwd=cwd)
        picture, tensor = png(cwd, "mosaic-rgb.png"), load(cwd, "rgb.npy")
        assert tensor.shape == (20, 16384, 1, 3)
        assert np.array_equal(picture, in_grid(tensor, 20, 1))


if __name__ == "__main__":
    from command import main

    main(globals())
