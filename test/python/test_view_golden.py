"""Screenshots of stet.view's page against golden ones (golden/view_<name>.png), which somebody has looked at.

Both are a quarter as large as the page, so that letters, which each machine draws with its own, are grey areas, and may
differ by TOLERANCE. What the page shows is a recording made here of numbers alone: no physics, no clock.
"""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("websockets")
Image = pytest.importorskip("PIL.Image")
from browser import Browser  # noqa: E402

import stet  # noqa: E402
from stet.view import Viewer  # noqa: E402
from stet.view.replay import Replay  # noqa: E402

GOLDEN = Path(__file__).with_name("golden")
TOLERANCE = {"mean": 1.5, "apart": 0.01}  # of bytes; the part of the pixels that may differ by more than 40 of 255
SCENE = stet.scenes / "humanoid.xml"
FRAMES, WORLDS, AT = 20, 9, 7  # AT: the frame that is shown


@pytest.fixture(scope="module")
def browser():
    it = Browser()
    it.call("Emulation.setDeviceMetricsOverride", width=1200, height=660, deviceScaleFactor=1, mobile=False)
    yield it
    it.close()


def recording(lean):
    """Humanoids that walk on the spot, each with its own phase; lean: how far their waists are bent."""
    with stet.Sim(SCENE, device="cpu", threads=1) as sim:
        qpos = np.tile(sim.qpos.numpy(), (FRAMES, WORLDS, 1))
    phase = np.arange(FRAMES)[:, None, None] * 0.3 + np.arange(WORLDS)[None, :, None] * 0.7
    qpos[..., 7:] += 0.5 * np.sin(phase + np.arange(qpos.shape[2] - 7))
    qpos[..., 0] += np.arange(WORLDS) * 0.05
    qpos[..., 8] += lean
    return qpos


def look(browser, viewer, script):
    """Opens the page, holds it at the frame, and runs what a user would do."""
    browser.open(viewer.url)
    browser.until("document.querySelector('#clock').textContent.includes('pictures')")
    browser.click("#pause")
    browser.run(f"(s => {{ s.value = {AT}; s.oninput(); }})(document.querySelector('#frame'))")
    browser.run(f"(() => {{ {script} }})()")
    clock = "document.querySelector('#clock').textContent"
    browser.until(f"{clock}.includes('frame {AT} of {FRAMES}')")
    browser.until(f"{clock}.includes('4 rays a pixel') || document.querySelector('#output').value !== 'rgb'")
    before = None
    while before != (before := browser.run(clock)):  # until the last picture has come
        browser.run("new Promise((done) => setTimeout(done, 600))")
    # Numbers that differ from run to run.
    browser.run("document.querySelector('#clock').textContent = ''")


CHOOSE = ("for (const [id, value] of Object.entries({})) {{ const e = document.getElementById(id); e.value = value; "
          "e.onchange(); }}")
CASES = {
    "one": (False, CHOOSE.format("{camera: 'wide', trail: 1, count: 1}")),
    "mosaic": (False, CHOOSE.format("{camera: 'wide', count: 9}")),
    "bodies": (False, CHOOSE.format("{output: 'seg_body', camera: 'wide', count: 1}")),
    "two": (True, CHOOSE.format("{camera: 'main', count: 1}")),
}


@pytest.mark.parametrize("name", CASES)
def test_the_page_looks_as_it_did(browser, tmp_path, name):
    two, script = CASES[name]
    qpos = recording(0)
    if name == "mosaic":
        qpos[AT, 3] = np.nan
    other = {"qpos": recording(0.2)} if two else None
    with Viewer(Replay(SCENE, {"qpos": qpos}, 0.02, other=other)) as viewer:
        look(browser, viewer, script)
        browser.screenshot(tmp_path / "page.png")
        assert browser.errors == []
    page = Image.open(tmp_path / "page.png").convert("RGB")
    page = page.resize((page.width // 4, page.height // 4), Image.Resampling.BOX)
    page.save(tmp_path / f"view_{name}.png", optimize=True)
    golden = GOLDEN / f"view_{name}.png"
    assert golden.exists(), f"there is no {golden}; look at {tmp_path}/view_{name}.png and copy it there"
    mine, theirs = (np.asarray(image.convert("RGB")).astype(int) for image in (page, Image.open(golden)))
    assert mine.shape == theirs.shape
    apart = np.abs(mine - theirs)
    most = (apart.max(axis=-1) > 40).mean()
    assert apart.mean() <= TOLERANCE["mean"] and most <= TOLERANCE["apart"], (
        f"{tmp_path}/view_{name}.png differs from {golden} by {apart.mean():.2f} on average, {most:.3f} of the pixels "
        "by more than 40; if that was meant, look at it and copy it there")
