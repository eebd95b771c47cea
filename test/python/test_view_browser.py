"""The page of stet.view in a real browser: Debian's Chromium, headless."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

pytest.importorskip("websockets")
Image = pytest.importorskip("PIL.Image")
from browser import Browser  # noqa: E402

import stet  # noqa: E402
from stet.view.framing import find_floor  # noqa: E402

# A picture of the canvas, as what is on it; small, to be compared.
CANVAS = """(() => { const c = document.querySelector('#picture'), s = document.createElement('canvas');
s.width = 48; s.height = 32; const p = s.getContext('2d'); p.drawImage(c, 0, 0, 48, 32);
return [...p.getImageData(0, 0, 48, 32).data]; })()"""
CLOCK = "document.querySelector('#clock').textContent"
STEPS = f"+({CLOCK}.match(/(?:step|frame) (\\d+)/) ?? [0, -1])[1]"


@pytest.fixture(scope="module")
def browser():
    it = Browser()
    yield it
    it.close()


@pytest.fixture
def run(make):
    """A sim that steps in a thread, at the page's control."""
    sim = make(stet.scenes / "humanoid.xml", 9)
    stop = threading.Event()

    def steps():
        while not stop.is_set():
            sim.step(4)

    viewers = [sim.view(control=True, speed=1)]
    thread = threading.Thread(target=steps)
    thread.start()
    yield sim, viewers
    stop.set()
    viewers[-1].close()
    thread.join(20)


def pixels(browser):
    return np.array(browser.run(CANVAS)).reshape(32, 48, 4)[..., :3].astype(int)


def changed(browser, before):
    return browser.wait(lambda: np.abs(pixels(browser) - before).mean() > 1, "a picture that changes")


def still(browser):
    """Waits until a run that is paused has no further picture to come."""

    def same():
        before = browser.run(CLOCK)
        time.sleep(0.3)
        return browser.run(CLOCK) == before

    browser.wait(same, "the last picture")


def choose(browser, element, value):
    browser.run(f"(e => {{ e.value = {value!r}; e.onchange(); }})(document.querySelector('#{element}'))")


def test_the_page(browser, run, tmp_path):
    sim, viewers = run
    browser.open(viewers[0].url)
    browser.until(f"{STEPS} > 3")
    assert pixels(browser).std() > 10
    choose(browser, "count", 1)

    # Pause holds the run; looking around goes on.
    browser.click("#pause")
    browser.until("document.querySelector('#pause').textContent === 'Go on'")
    held = browser.run(STEPS)
    time.sleep(0.3)
    assert browser.run(STEPS) == held
    for act in (lambda: browser.drag(400, 300, 120, 20), lambda: browser.drag(400, 300, 100, 60, "right"),
                lambda: browser.mouse("mouseWheel", 400, 300, deltaX=0, deltaY=400),
                lambda: choose(browser, "output", "seg_body"), lambda: choose(browser, "output", "rgb"),
                lambda: choose(browser, "camera", sim.model.cameras[0]), lambda: browser.click("#fit")):
        still(browser)
        before = pixels(browser)
        act()
        changed(browser, before)
    browser.click("#step")
    browser.until(f"{STEPS} === {held + 1}")

    # Ctrl and drag pull the body under the pointer.
    choose(browser, "follow", 1)
    browser.click("#pause")
    still_there = browser.run(STEPS)
    browser.until(f"{STEPS} > {still_there + 3}")
    pulled = []

    def held():
        browser.wait(lambda: sim.xfrc_applied.numpy().any(), "a force")
        pulled.append(sim.xfrc_applied.numpy())
        browser.screenshot(tmp_path / "pull.png")

    x, y = browser.run("(b => [b.left + b.width / 2, b.top + b.height / 2])"
                       "(document.querySelector('#picture').getBoundingClientRect())")
    browser.drag(x, y, 150, -100, control=True, held=held)
    assert pulled[0][0].any() and not pulled[0][1:].any()
    browser.wait(lambda: not sim.xfrc_applied.numpy().any(), "no force")
    for element in ("contacts", "forces", "timeline"):
        browser.click("#" + element)
    choose(browser, "trail", 1)
    choose(browser, "fisheye", 150)
    browser.until("document.querySelector('#frametime').textContent.endsWith(' ms')")
    time.sleep(1)
    browser.screenshot(tmp_path / "marks.png")
    browser.run("document.querySelector('#bars').scrollIntoView()")
    browser.screenshot(tmp_path / "timeline.png")
    for element in ("contacts", "forces", "timeline"):
        browser.click("#" + element)
    choose(browser, "trail", -1)
    choose(browser, "fisheye", 0)
    choose(browser, "follow", -1)
    browser.click("#pause")

    # A slider writes the control of its world, with the next step.
    browser.run("(s => { s.value = s.max; s.oninput(); })(document.querySelectorAll('#sliders input')[2])")
    most = sim.control_table("high").numpy()[2]
    browser.wait(lambda: sim.ctrl.numpy()[0, 2] == pytest.approx(most), "the slider's control")
    assert not sim.ctrl.numpy()[1:].any()

    # A plot, and the mosaic with numbers.
    browser.run("document.querySelector('#field').value = 'qpos'; document.querySelector('#item').value = 2")
    browser.click("#add button")
    browser.click("#pause")
    browser.until("document.querySelector('#plots p')?.textContent.startsWith('qpos[2] ')")
    before = pixels(browser)
    choose(browser, "count", 9)
    changed(browser, before)
    browser.until("document.querySelectorAll('#counters tr').length > 1")
    browser.screenshot(tmp_path / "mosaic.png")
    assert np.asarray(Image.open(tmp_path / "mosaic.png").convert("RGB")).std() > 10

    # A double click in the mosaic goes to that world, and then follows a body.
    for kind, count in (("mousePressed", 1), ("mouseReleased", 1), ("mousePressed", 2), ("mouseReleased", 2)):
        browser.mouse(kind, 450, 310, button="left", buttons=1, clickCount=count)
    browser.until("document.querySelector('#count').value === '1' && document.querySelector('#first').value === '4'")

    browser.run("document.querySelector('#resetall').click()")
    browser.until(f"parseFloat({CLOCK}) < 0.5")
    assert browser.errors == []


def test_the_connection_drops(browser, run):
    """The page says so, and goes on when there is something to see again."""
    sim, viewers = run
    browser.open(viewers[0].url)
    browser.until(f"{STEPS} > 3")
    port = int(viewers[0].url.split(":")[2].split("/")[0])
    token = viewers[0]._server.token
    viewers[0].close()
    browser.until("document.querySelector('#message').textContent.startsWith('The run has ended; a new one')")
    viewers.append(sim.view(port=port, control=True, speed=1))
    viewers[1]._server.token = token
    browser.until("document.querySelector('#message').textContent === ''")
    before = browser.run(STEPS)
    browser.until(f"{STEPS} !== {before}")
    assert browser.errors == []


def test_the_run_is_killed(browser):
    """The page says so, and tries again."""
    words = ["view", str(stet.scenes / "cartpole.xml"), "--no-browser"]
    process = subprocess.Popen([sys.executable, "-m", "stet", *words], stdout=subprocess.PIPE, text=True)
    try:
        browser.open(process.stdout.readline().split()[0])
        browser.until(f"{STEPS} > 3")
    finally:
        process.kill()
        process.wait()
    browser.until("document.querySelector('#message').textContent === "
                  "'No answer: the run was stopped, or the connection is lost — trying again'")
    assert browser.errors == []


def test_a_wrong_token(browser, run):
    browser.open(run[1][0].url[:-1])
    browser.until("document.querySelector('#message').textContent.includes('of another run')")
    assert browser.run(STEPS) == -1


def test_where_the_page_begins_and_what_keys_do(browser, make, tmp_path):
    """Worlds, the tracking camera, keys without a click, boxes beside their texts, and a camera that stays above."""
    sim = make(stet.scenes / "quadruped.xml", 20)
    stop = threading.Event()

    def steps():
        while not stop.is_set():
            sim.step(4)

    with sim.view(control=True, speed=1) as viewer:
        thread = threading.Thread(target=steps)
        thread.start()
        try:
            browser.open(viewer.url)
            browser.until(f"{STEPS} > 3")
            assert browser.run("document.querySelector('#count').value") == "16"
            for key, code in ((" ", "Space"), (".", "Period")):
                before = browser.run(STEPS)
                for kind in ("keyDown", "keyUp"):
                    more = {"text": key} if kind == "keyDown" else {}
                    browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, **more)
                if key == " ":
                    browser.until("document.querySelector('#pause').textContent === 'Go on'")
                    still(browser)
                else:
                    browser.until(f"{STEPS} === {before + 1}")
            # Each box is left of its text, and near it.
            gaps = browser.run("""[...document.querySelectorAll('label > input[type=checkbox]')].filter((box) =>
                box.offsetParent).map((box) => { const range = document.createRange();
                range.selectNodeContents(box.parentElement); range.setStartAfter(box);
                return range.getBoundingClientRect().left - box.getBoundingClientRect().right; })""")
            assert len(gaps) > 8 and all(0 <= gap < 12 for gap in gaps), gaps
            # However far one drags, the camera does not go through the floor.
            choose(browser, "camera", "")
            browser.click("#moving")
            still(browser)
            for _ in range(4):
                browser.drag(400, 500, 0, -200)
                still(browser)
            browser.screenshot(tmp_path / "low.png")
            view = browser.run("(async () => (await import('./view.js')).lookOf())()")["view"]
            height = view[5] - view[2] * np.sin(np.radians(view[1]))
            assert view[1] > -90 and height > find_floor(sim.model)
        finally:
            stop.set()
            viewer.close()
            thread.join(20)
    assert browser.errors == []
