"""stet.view: what readers get, what they may not do, and that a run does not notice them."""

import dataclasses
import http.client
import io
import json
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from conftest import SCENE

import stet
from stet.view import messages
from stet.view.camera import Camera
from stet.view.overlay import Trail
from stet.view.pictures import Look, Painter, Picture, body_point, colours, mosaic
from stet.view.pull import Pull
from stet.view.reader import Reader
from stet.view.replay import Replay, open_folder
from stet.view.source import Wants

pytest.importorskip("websockets")
Image = pytest.importorskip("PIL.Image")
from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: E402
from websockets.sync import client  # noqa: E402

LOOK = {"do": "look", "camera": "", "view": [90, -20, 4, 0, 0, 1], "whole": False, "output": "rgb", "first": 0,
        "count": 1, "width": 64, "height": 48, "full": True, "follow": -1, "groups": [0, 1, 2], "fisheye": 0,
        "trail": -1, "contacts": False, "forces": False, "show": [], "timeline": False, "plots": []}


def address(url, token=None):
    """Where the page's connection is, and what the page says of itself."""
    page, own = url.split("/#")
    return page.replace("http", "ws") + f"/socket?token={own if token is None else token}", page


def connect(url, **keywords):
    return client.connect(url, compression=None, **keywords).__enter__()


class Page:
    """A page without a browser."""

    def __init__(self, url):
        place, origin = address(url)
        self.socket = connect(place, origin=origin)
        self.facts = json.loads(self.socket.recv(timeout=10))["facts"]

    def send(self, do, **entries):
        self.socket.send(json.dumps({"do": do, **entries}))

    def look(self, **other):
        self.socket.send(json.dumps({**LOOK, **other}))

    def picture(self, shown=True):
        """What stands with the next picture, and the picture."""
        while True:
            data = self.socket.recv(timeout=20)
            if isinstance(data, bytes):
                break
        size, = struct.unpack_from("<I", data)
        if shown:
            self.send("shown")
        return json.loads(data[4:4 + size]), np.asarray(Image.open(io.BytesIO(data[4 + size:])))

    def text(self):
        """The next message that is no picture; pictures before it count as shown, or no further one would come."""
        while isinstance(data := self.socket.recv(timeout=20), bytes):
            self.send("shown")
        return json.loads(data)

    def close(self):
        self.socket.close()


def wait_for_question(viewer, first=0):
    """Until a reader has asked for worlds from `first` on: the next step answers it."""
    while not any(wants.first == first for wants, *_ in list(viewer._source._asked.values())):
        time.sleep(0.001)


class Stepper:
    """Steps a sim in a thread of its own, as a training loop does, until it is told to stop."""

    def __init__(self, sim):
        self.sim, self.stop, self.steps = sim, False, 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stop:
            self.sim.step()
            self.steps += 1
            time.sleep(0.001)

    def end(self):
        self.stop = True
        self.thread.join(20)
        assert not self.thread.is_alive()


@pytest.fixture
def watched(make):
    """A sim that steps, with a viewer that may control it, and pages."""
    sim = make(worlds=5, physics="mujoco")
    viewer = sim.view(control=True)
    stepper, pages = Stepper(sim), []

    def page():
        pages.append(Page(viewer.url))
        return pages[-1]

    yield sim, viewer, stepper, page
    for one in pages:
        one.close()
    stepper.stop = True
    viewer.close()
    stepper.end()


# ---- messages ------------------------------------------------------------------------------------------------------


def test_messages():
    assert messages.parse(json.dumps(LOOK))[1]["view"] == (90, -20, 4, 0, 0, 1)
    assert messages.parse('{"do": "control", "world": -1, "actuator": 3, "value": 0.5}') == ("control", {
        "world": -1, "actuator": 3, "value": 0.5})


@pytest.mark.parametrize("text", [
    "", "[]", "{", "null", '"step"', '{"do": 3}', '{"do": "fly"}', '{"do": "step", "more": 1}', '{"do": "pause"}',
    '{"do": "pause", "on": 1}', '{"do": "speed", "factor": NaN}', '{"do": "speed", "factor": true}', b'{"do": "step"}',
    '{"do": "speed", "factor": 1e999}', '{"do": "seek", "frame": 1.0}', '{"do": "seek", "frame": -1}', "[" * 4000,
    '{"do": "step"}' + " " * 5000, '{"do": "seek", "frame": ' + "9" * 4000 + "}"
])
def test_malformed_messages(text):
    with pytest.raises(ValueError):
        messages.parse(text)


def test_any_message_is_taken_or_refused():
    """Messages with bytes changed, left out and repeated: entries of the row, within their bounds, or a ValueError."""
    rng = random.Random(1)
    seeds = [json.dumps(LOOK), '{"do": "control", "world": -1, "actuator": 3, "value": 0.5}', '{"do": "step"}',
             '{"do": "pick", "x": 0.5, "y": 1}', '{"do": "reset", "world": 0, "keyframe": -1}']
    taken = 0
    for _ in range(20000):
        text = list(rng.choice(seeds))
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(text))
            text[at:at + rng.randrange(3)] = rng.choice(
                ["", '"', "{", "[", "]", "-", "9" * rng.randrange(1, 400), "e9", "null", "true", "NaN", ",", "\x00"])
        try:
            kind, entries = messages.parse("".join(text))
        except ValueError:
            continue
        taken += 1
        assert entries.keys() == messages.KINDS[kind].keys()
        if kind == "look":
            assert 1 <= entries["count"] <= messages.MOST_WORLDS and entries["width"] <= messages.MOST_PIXELS
    assert taken > 100


# ---- who may look --------------------------------------------------------------------------------------------------


@pytest.fixture
def viewer(make):
    viewer = make().view()
    yield viewer
    viewer.close()


def refused(url, status=403, **keywords):
    with pytest.raises(InvalidStatus) as error:
        connect(url, **keywords)
    assert error.value.response.status_code == status


def test_token_origin_and_host(viewer):
    good, origin = address(viewer.url)
    connect(good, origin=origin).close()
    local = good.replace("127.0.0.1", "localhost")
    connect(local, origin=origin.replace("127.0.0.1", "localhost")).close()
    for token in ("", "x", viewer.url.split("#")[1][:-1], viewer.url.split("#")[1] + "x", "%ff%00"):
        refused(address(viewer.url, token)[0], origin=origin)
    refused(good.split("?")[0], origin=origin)
    refused(good)  # no origin
    for other in ("http://evil.example", "null", origin.replace("http", "https"), origin + "0", "http://127.0.0.1"):
        refused(good, origin=other)
    # A name of somebody else's that was made to point here: the browser sends it as Host and Origin.
    port = int(origin.rsplit(":", 1)[1])
    refused(f"ws://evil.example:{port}/socket?" + good.split("?")[1], origin=f"http://evil.example:{port}",
            sock=socket.create_connection(("127.0.0.1", port)))
    refused(good.replace("/socket", "/other"), status=404, origin=origin)


def get(viewer, path, host=None):
    import http.client

    port = int(viewer.url.split(":")[2].split("/")[0])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    return answer.status, answer.read(), dict(answer.getheaders())


def test_the_page_s_files(viewer):
    status, body, headers = get(viewer, "/")
    assert status == 200 and b"view.js" in body and headers["Content-Type"].startswith("text/html")
    assert "default-src 'self'" in headers["Content-Security-Policy"] and viewer.url.split("#")[1].encode() not in body
    assert b"http" not in body, "nothing is fetched from elsewhere"
    assert get(viewer, "/view.js")[2]["Content-Type"].startswith("text/javascript")
    for path in ("/../__init__.py", "/page/view.js", "/server.py", "//etc/passwd", "/%2e%2e/server.py"):
        assert get(viewer, path)[0] == 404
    assert get(viewer, "/", host="evil.example")[0] == 403


def ask_for(viewer, path):
    """The answer to a plain request: its status and its text."""
    where = viewer.url.partition("//")[2].partition("/")[0]
    connection = http.client.HTTPConnection(where, timeout=10)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", where)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_why_there_is_no_connection(viewer):
    token = viewer.url.partition("#")[2]
    assert ask_for(viewer, f"/token?token={token}") == (200, "the right token")
    for wrong in ("", "?token=", f"?token={token[:-1]}", "?token=%ff%00"):
        status, said = ask_for(viewer, "/token" + wrong)
        assert status == 403 and "of another run" in said
    for path in ("//[", "//[::1", "/[", "*", "/\\", "//]:80/socket"):
        assert ask_for(viewer, path) == (404, "no such page")


HOLD = """import contextlib, threading, stet
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
sim = stet.Sim(stet.scenes / "cartpole.xml", worlds=2, threads=1)
view = sim.view(browser=False)
host, token = view.url.split("//")[1].split("/#")
there = threading.Event()
def reader():
    with (contextlib.suppress(ConnectionClosed),
          connect(f"ws://{host}/socket?token={token}", origin=f"http://{host}") as page):
        while True:
            page.recv()
            there.set()
threading.Thread(target=reader, daemon=True).start()
there.wait(20)
sim.step(5)
"""


def test_a_program_ends_with_an_open_page():
    ended = subprocess.run([sys.executable, "-c", HOLD], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0 and ended.stderr == ""


@pytest.mark.parametrize("message", ["{", '{"do": "fly"}', b"\x00" * 10, json.dumps({**LOOK, "first": 5}),
                                     json.dumps({**LOOK, "camera": "none"}), json.dumps({**LOOK, "follow": 99})])
def test_nonsense_ends_the_connection(viewer, message):
    page = Page(viewer.url)
    page.socket.send(message)
    with pytest.raises(ConnectionClosed) as error:
        page.socket.recv(timeout=10)
    assert error.value.rcvd.code == 1008


def test_a_huge_message_ends_the_connection(viewer):
    page = Page(viewer.url)
    page.socket.send("x" * 1_000_000)
    with pytest.raises(ConnectionClosed) as error:
        page.socket.recv(timeout=10)
    assert error.value.rcvd.code == 1009


@pytest.mark.parametrize("end", ["at once", "with a picture", "no HTTP", "no handshake"])
def test_a_reader_that_is_gone(make, capfd, end):
    """A browser that was killed, or something else that knocks: the run goes on and says nothing, others look."""
    sim = make()
    with sim.view() as viewer:
        stepper = Stepper(sim)
        if end in ("at once", "with a picture"):
            page = Page(viewer.url)
            page.look(width=640, height=480)
            if end == "with a picture":
                page.picture(shown=False)
            raw = page.socket.socket
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raw.close()
        else:
            with socket.create_connection(("127.0.0.1", viewer._server.port)) as raw:
                raw.sendall(b"\x16\x03\x01\x02\x00\x01\xfc" if end == "no HTTP" else b"GET / HTTP/1.1\r\n")
        other = Page(viewer.url)
        other.look()
        assert other.picture()[1].std() > 5
        other.close()
        stepper.end()
    assert capfd.readouterr() == ("", "")


# ---- a run ---------------------------------------------------------------------------------------------------------


def run_hashes(make, physics, viewed):
    """Hashes of a run, in which pages look at all that there is."""
    sim = make(worlds=7, physics=physics, seed=3)
    viewer = sim.view() if viewed else None
    hashes, pages, pictures = [], [], []
    if viewed:
        pages = [Page(viewer.url), Page(viewer.url)]
        pages[0].look(count=4, plots=[["qpos", 0], ["qacc", 1], ["xpos", 3]])
        pages[1].look(output="depth", first=6, camera="top")
        look = [threading.Thread(target=lambda p=p: pictures.extend(p.picture()[0]["steps"] for _ in range(5)))
                for p in pages]
        for thread in look:
            thread.start()
    for frame in range(300):
        sim.control_noise(0.8, frame)
        sim.step(2)
        if frame % 100 == 50:
            sim.reset(worlds=[1, 3], qpos_noise=0.1)
        hashes.append(sim.hash())
        if viewed and len(pictures) < 10:
            time.sleep(0.01)
    if viewed:
        for thread in look:
            thread.join(20)
        assert len(pictures) == 10 and max(pictures) > 1
        for page in pages:
            page.close()
        viewer.close()
    return hashes


@pytest.mark.parametrize("physics", ["mujoco", "native"])
def test_no_bit_of_a_run_changes(make, physics):
    assert run_hashes(make, physics, True) == run_hashes(make, physics, False)


def test_pictures_are_those_of_the_run(make):
    sim = make(worlds=3, outputs=("rgb",), cameras="free:90,-20,4,0,0,1", width=64, height=48)
    sim.ctrl[:] = [[1, 0], [-1, 0], [0, 2]]
    sim.step(50)
    with sim.view() as viewer:
        page = Page(viewer.url)
        for world in (1, 0):
            page.look(first=world)
            wait_for_question(viewer, world)  # not the one that "shown" put, of the world before
            sim.step()
            sim.render()
            head, picture = page.picture(shown=False)
            assert head["first"] == world and head["time"] == [sim.time[world, 0]]
            apart = [np.abs(picture.astype(int) - mine).mean() for mine in sim.read("rgb").astype(int)]
            assert apart[world] < 3 and apart[world] == min(apart)  # JPEG
            page.send("shown")
        page.close()
    painter = Painter(sim.model, ("qpos",))
    look = Look(view=tuple(LOOK["view"]), first=1, count=2, width=128, height=48)
    picture = painter.paint(look, {"qpos": sim.qpos[1:]})
    assert np.array_equal(picture.pixels, mosaic(sim.read("rgb")[1:], 2)) and np.allclose(picture.view, LOOK["view"])
    sim.show("joints", "inertia")
    sim.render()
    shown = painter.paint(dataclasses.replace(look, show=("inertia", "joints")), {"qpos": sim.qpos[1:]})
    assert np.array_equal(shown.pixels, mosaic(sim.read("rgb")[1:], 2)) and (shown.pixels != picture.pixels).any()
    painter.close()


def test_the_question_of_an_older_look_does_not_replace_that_of_a_newer(make, monkeypatch):
    """The thread that draws is held where it asks, while the page looks at another world."""
    monkeypatch.setattr("stet.view.reader._QUICK", 60)  # so it asks as soon as it has drawn
    sim = make(worlds=2)
    with sim.view() as viewer:
        plain, drawn, newer, older = viewer._source.ask, threading.Event(), threading.Event(), threading.Event()

        def ask(reader, wants, *rest):
            late = threading.current_thread().name == "stet.view pictures"
            if late:
                drawn.set()
                newer.wait(0.3)
            plain(reader, wants, *rest)
            (older if late else newer).set()

        page = Page(viewer.url)
        page.look()
        wait_for_question(viewer)
        sim.step()
        page.picture()
        wait_for_question(viewer)
        monkeypatch.setattr(viewer._source, "ask", ask)
        sim.step()
        assert drawn.wait(20)
        page.look(first=1)
        assert older.wait(20) and newer.wait(20)
        (wants, *_), = viewer._source._asked.values()
        assert wants.first == 1
        page.close()


def test_a_picture_is_of_the_look_that_its_sample_is_of(make, monkeypatch):
    """The page looks at more worlds just before the picture is drawn: those are not in the sample."""
    plain, looks = Reader._paint, [dict(count=2)]

    def paint(reader, *rest):
        if looks:
            reader._set_look(dataclasses.replace(reader._look, **looks.pop()))
        return plain(reader, *rest)

    monkeypatch.setattr(Reader, "_paint", paint)
    sim = make(worlds=2)
    with sim.view() as viewer:
        page = Page(viewer.url)
        page.look()
        for count in (1, 2):
            wait_for_question(viewer)
            sim.step()
            head, _ = page.picture()
            assert head["count"] == len(head["time"]) == count
        page.close()


def test_facts_and_plots(watched):
    sim, viewer, stepper, page = watched
    one = page()
    assert one.facts["worlds"] == 5 and one.facts["cameras"] == ["front", "top"] and one.facts["control"]
    assert one.facts["actuators"][0] == ["lift", -1, 1, 0] and "qacc" in one.facts["fields"]
    one.look(plots=[["qpos", 1], ["qpos", 9], ["nothing", 0]])
    head, picture = one.picture()
    assert picture.shape == (48, 64, 3) and picture.std() > 5
    value, least, mean, most = head["plots"][0]
    assert least <= value <= most and least <= mean <= most and head["plots"][1:] == [None, None]
    assert head["faults"] == {"count": 0, "first": []} and head["counters"]


def test_the_last_frame(watched):
    """Its timeline comes for those who want it, and no trace stays on."""
    sim, viewer, stepper, page = watched
    one = page()
    one.look()
    assert "timeline" not in one.picture()[0]
    one.look(timeline=True)
    while True:
        events = one.picture()[0].get("timeline")
        if events:
            break
    begins = [begin for _, _, begin, _ in events]
    assert begins == sorted(begins) and ["phase", "step"] in [event[:2] for event in events]
    assert all(time > 0 for *_, time in events)
    viewer.close()
    with pytest.raises(stet.StateError, match="not being traced"):
        sim.trace_end()


def test_counters_and_faults(watched):
    sim, viewer, stepper, page = watched
    one = page()
    one.look(plots=[["xpos", 3]])  # for which the run computes poses
    began = time.monotonic()
    while True:
        head, _ = one.picture()
        rows = head["counters"]
        if any(hits + misses > 1 for hits, misses, *_ in rows.values()):
            break
        assert time.monotonic() < began + 20
    assert all(len(row) == 4 and min(row) >= 0 for row in rows.values())
    sim.qvel[2] = [float("nan"), 0]
    while not head["faults"]["count"]:
        head, _ = one.picture()
    (world, names, at), = head["faults"]["first"]
    assert world == 2 and "bad_qvel" in names and 0 < at <= head["steps"]
    for _ in range(20):
        head, _ = one.picture()
    assert head["faults"]["first"][0][2] == at


def test_a_reader_that_stalls(watched):
    """It gets no further picture, the run goes on, and what it missed is counted."""
    sim, viewer, stepper, page = watched
    one, other = page(), page()
    one.look()
    head, _ = one.picture(shown=False)
    first = head["steps"]
    other.look()
    for _ in range(5):
        other.picture()
    before = stepper.steps
    time.sleep(0.3)
    assert stepper.steps > before + 20
    with pytest.raises(TimeoutError):
        one.socket.recv(timeout=0.2)
    one.send("shown")
    last = 0
    for _ in range(3):
        last, _ = one.picture()
    assert last["sent"] == 4 and last["skipped"] == last["steps"] - 4 and last["steps"] > first + 20


@pytest.mark.parametrize("full, coarse", [(False, 2), (True, 1)])
def test_what_is_slow_to_draw_has_fewer_pixels_while_it_moves(make, full, coarse):
    """A rate of a million makes every picture slow, so what moves has fewer pixels. What stands still has all of them,
    and a paused run has four rays a pixel.
    """
    sim = make(worlds=2, physics="mujoco")
    viewer = sim.view(control=True, rate=1e6)
    stepper, one = Stepper(sim), Page(viewer.url)

    def picture(azimuth=90):
        """The next one from there."""
        head = {"view": [None]}
        while head["view"][0] != azimuth:
            head, pixels = one.picture()
        assert pixels.shape == (48 // head["coarse"], 64 // head["coarse"], 3)
        return head["coarse"], head["rays"], head["paused"]

    one.look(full=full)
    assert picture() == (1, 1, False)
    for _ in range(3):
        assert picture() == (coarse, 1, False)
    one.send("pick", x=0.5, y=0.5)
    assert one.text()["picked"]["world"] == 0
    one.send("pause", on=True)
    while (last := picture())[1] == 1:
        pass
    assert last == (1, 4, True)
    one.send("pause", on=False)
    while picture()[2]:
        pass
    stepper.end()  # a run that is not paused, and does not step
    one.look(full=full, view=[0, -80, 3, 0, 0, 1])
    assert picture(0) == (coarse, 1, False)
    if not full:
        assert picture(0) == (1, 1, False)
    one.close()
    viewer.close()


def test_all_pixels_come_back_with_room_to_spare():
    one = Reader(None, None, None, rate=10, share=1)
    for coarse, took, slow in ((False, 0.09, False), (False, 0.11, True), (True, 0.02, True), (True, 0.017, False)):
        one._coarse = coarse
        one._judge(took)
        assert one._slow == slow


def test_pause_step_and_speed(watched):
    sim, viewer, stepper, page = watched
    one = page()
    one.look()
    one.picture()
    one.send("pause", on=True)
    while not one.picture()[0]["paused"]:
        pass
    time.sleep(0.1)
    held = stepper.steps
    time.sleep(0.2)
    assert stepper.steps == held
    one.look(view=[0, -80, 3, 0, 0, 1])  # looking around while it holds
    head, _ = one.picture()
    fine, smooth = one.picture()  # and, while nothing moves, once more
    assert fine["rays"] == 4 and head["rays"] == 1 and fine["steps"] == head["steps"]
    painter, look = Painter(sim.model, ("qpos",)), Look(view=(0, -80, 3, 0, 0, 1), width=64, height=48)
    state = {"qpos": sim.qpos.numpy()[:1]}
    apart = [np.abs(smooth.astype(int) - painter.paint(look, state, rays).pixels).mean() for rays in (1, 4)]
    assert apart[1] < apart[0]
    painter.close()
    one.send("step")
    head2 = head
    while head2["steps"] == head["steps"]:
        head2, _ = one.picture()
    assert head2["steps"] == head["steps"] + 1 and head2["paused"]
    one.send("speed", factor=0.05)  # a time step of 5 ms takes 100 ms
    one.send("pause", on=False)
    time.sleep(0.1)
    before, begin = stepper.steps, time.monotonic()
    time.sleep(0.6)
    assert stepper.steps - before <= (time.monotonic() - begin) / 0.1 + 2
    one.send("speed", factor=0)
    end = time.monotonic() + 10
    before = stepper.steps
    while stepper.steps < before + 50:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("control", [False, True])
def test_readers_who_are_gone_hold_no_run(make, monkeypatch, control):
    monkeypatch.setattr("stet.view.run._ALONE_SECONDS", 0.2)
    sim = make()
    viewer = sim.view(control=control)
    run, page, stepper = viewer._source, Page(viewer.url), Stepper(sim)
    try:
        page.send("speed", factor=0.1)
        page.send("pause", on=True)
        deadline = time.monotonic() + 20
        while not run.paused and time.monotonic() < deadline:
            time.sleep(0.01)
        before = stepper.steps
        time.sleep(0.5)
        assert run.paused and stepper.steps <= before + 1  # who is there may hold it
        page.close()
        while stepper.steps < before + 20 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert stepper.steps >= before + 20 and not run.paused and run.speed == 0
    finally:
        stepper.stop = True
        viewer.close()
        stepper.end()


def test_controls_and_resets(watched):
    sim, viewer, stepper, page = watched
    one = page()
    one.look(first=2, plots=[["ctrl", 1], ["time", 0]])
    one.send("control", world=2, actuator=1, value=1.5)
    while True:
        head, _ = one.picture()
        value, least, _, most = head["plots"][0]
        if value == 1.5:
            break
    assert least == 0 and most == 1.5
    one.send("control", world=-1, actuator=1, value=-0.5)
    while one.picture()[0]["plots"][0] != [-0.5] * 4:
        pass
    while one.picture()[0]["time"][0] < 0.2:
        pass
    one.send("reset", world=2, keyframe=1)
    while True:
        head, _ = one.picture()
        value, least, _, most = head["plots"][1]
        if value < most:
            break
    assert value == least
    for wrong in ({"do": "reset", "world": 5, "keyframe": 0}, {"do": "reset", "world": 0, "keyframe": 2},
                  {"do": "control", "world": 0, "actuator": 2, "value": 0}, {"do": "seek", "frame": 0}):
        one.socket.send(json.dumps(wrong))
        assert one.text()["sentence"]


def test_equalities(make):
    sim = make(stet.scenes / "arm_table.xml", 2)
    before = sim.eq_active.numpy()
    with sim.view(control=True) as viewer:
        page = Page(viewer.url)
        assert len(page.facts["equalities"]) == sim.model.neq == len(page.facts["equalities_on"]) > 0
        assert page.facts["equalities_on"] == [bool(x) for x in before[0]]
        for wrong in ({"world": 0, "equality": sim.model.neq}, {"world": 2, "equality": 0}):
            page.send("equality", on=False, **wrong)
            assert "there is no" in page.text()["sentence"]
        for world, after in ((1, [before[0, 0], 0]), (-1, [0, 0])):
            page.send("equality", world=world, equality=0, on=False)
            until = time.monotonic() + 10
            while sim.eq_active.numpy()[:, 0].tolist() != after:
                assert time.monotonic() < until
                sim.step()
        page.close()


def test_a_run_that_is_only_looked_at(make):
    sim = make()
    with sim.view() as viewer:
        page = Page(viewer.url)
        assert not page.facts["control"]
        page.send("control", world=0, actuator=0, value=1)
        assert "control=True" in page.text()["sentence"]
        sim.step()
        assert not sim.ctrl.numpy().any()
        page.close()


def test_follow_and_pick(watched):
    sim, viewer, stepper, page = watched
    one = page()
    tip = sim.model.find("bodies", "tip")
    one.look(follow=tip, count=1, view=[90, -20, 3, 5, 5, 5])
    head, picture = one.picture()
    assert head["view"][:3] == [90, -20, 3] and 0 < np.hypot(*head["view"][3:5]) < 1
    one.send("pick", x=0.5, y=0.5)
    assert one.text()["picked"] == {"world": 0, "body": tip}
    one.look(count=3, follow=tip)
    one.picture()
    one.send("pick", x=0.99, y=0.99)  # no fourth world
    assert one.text()["picked"] == {"world": -1, "body": -1}


@pytest.mark.parametrize("lens", [{}, {"fisheye": 200}, {"cameras": "flat"}, {"cameras": "sensor"}])
def test_places_in_pictures(make, lens):
    """What a pixel's outputs say of its point is what the camera says of it."""
    camera = '<camera name="{}" pos="-.3 -2 1" xyaxes="1 .2 0 0 .2 1" {}/><geom'
    scene = SCENE.replace("<geom", camera.format("flat", 'projection="orthographic" fovy="2"'), 1).replace(
        "<geom", camera.format("sensor", 'sensorsize=".004 .003" resolution="40 30" focal=".003 .004" '
                                         'principal=".0005 .0002"'), 1)
    sim = make(scene, 1, width=40, height=30, outputs=("distance", "depth", "body_point", "seg_body"),
               **{"cameras": "front", **lens})
    sim.qpos.write([[0.3, 0.4]])
    sim.render()
    seen = {name: sim.read(name)[0].reshape(1200, -1) for name in sim.outputs}
    camera = Camera(sim.camera_poses()[0].astype(float), sim.lens())
    poses = Picture(None, None, [camera], sim.xpos.numpy().reshape(1, -1, 3), sim.xquat.numpy().reshape(1, -1, 4), [])
    hit = np.flatnonzero(seen["seg_body"] >= 0)
    assert 100 < len(hit) and {0, 2} <= set(seen["seg_body"][hit, 0])
    y, x = (np.stack(np.divmod(hit, 40)) + 0.5) / [[30], [40]]
    points = [body_point(poses, 0, seen["seg_body"][i, 0], seen["body_point"][i]) for i in hit]
    np.testing.assert_allclose(camera.places(points), np.stack([x, y], axis=1), atol=2e-4)
    for i, point in zip(range(0, len(hit), 50), points[::50]):
        depth = camera.depth(point)
        assert depth == pytest.approx(seen["depth"][hit[i], 0], rel=1e-4)
        np.testing.assert_allclose(camera.point(x[i], y[i], depth), point, atol=1e-3)
    with pytest.raises(stet.NotFoundError, match="no camera 7; there are 1"):
        sim.camera_poses(7)


def test_marks(make):
    """Contacts and their forces are those of the run; a trail is where the body was, and ends where it is."""
    sim = make(stet.scenes / "humanoid.xml", 2, physics="mujoco")
    sim.step(100)
    with sim.view() as viewer:
        page = Page(viewer.url)
        page.look(first=1, contacts=True, forces=True, trail=1, view=[90, -20, 4, 0, 0, 1])
        for _ in range(3):
            wait_for_question(viewer, 1)
            sim.step(5)
            marks = page.picture()[0]["marks"]
        page.close()
    painter = Painter(sim.model, ("qpos",))
    camera = painter.paint(Look(view=(90, -20, 4, 0, 0, 1), width=64, height=48), {"qpos": sim.qpos[1:]}).cameras[0]
    painter.close()
    n, by = sim.ncon[1, 0], {colour: [mark[1] for mark in marks if mark[0] == colour] for colour in dict(marks)}
    assert len(by["#f90"]) == len(by["#6e6"]) == n > 3 and len(by["#fc5"]) == 1
    at, frame = sim.contact_pos[1].reshape(-1, 3)[:n], sim.contact_frame[1].reshape(-1, 3, 3)[:n]
    force = np.stack([f.T @ g[:3] for f, g in zip(frame, sim.contact_force[1].reshape(-1, 6))])
    assert force[:, 2].sum() > 100  # the ground holds it
    mass = sim.cinert[1].reshape(-1, 10)[1:, 9].mean()
    np.testing.assert_allclose(np.array(by["#f90"])[:, 0], camera.places(at), atol=1e-3)
    np.testing.assert_allclose(np.array(by["#6e6"])[:, 1], camera.places(at + force * 0.005 / mass), atol=1e-3)
    trail = by["#fc5"][0]
    assert len(trail) == 3
    np.testing.assert_allclose(trail[-1], camera.places(sim.xpos[1, 3:6])[0], atol=1e-3)


def test_trails():
    camera = Camera(np.eye(3, 4), {"kind": "perspective", "near": 0, "left": -1, "right": 1, "bottom": -1, "top": 1})
    trail = Trail(1.0)
    for k in range(8):
        trail.add("a", k / 4, [k, 0, -2 if k != 5 else 2])
    # Of the last second; the camera looks along -z, so the sixth point is behind it.
    assert [places for _, places in trail.marks(camera)] == [[[1.25, 0.5], [1.5, 0.5]], [[2, 0.5], [2.25, 0.5]]]
    trail.add("a", 1.0, [0, 0, -1])
    assert len(trail.marks(camera)[0][1]) == 1
    trail.add("b", 2.0, [0, 0, -1])
    assert len(trail.marks(camera)[0][1]) == 1


def test_the_pull_is_mujoco_s(make):
    mujoco = pytest.importorskip("mujoco")
    sim = make(stet.scenes / "humanoid.xml", 2, physics="mujoco", keyframe="none")
    model = mujoco.MjModel.from_xml_path(str(stet.scenes / "humanoid.xml"))
    data, pert = mujoco.MjData(model), mujoco.MjvPerturb()
    data.qvel[:] = np.random.default_rng(3).normal(size=model.nv)
    mujoco.mj_forward(model, data)
    sim.qvel.write_worlds(1, data.qvel[None])
    for body in (1, 5, model.nbody - 1):
        pert.select, pert.active = body, mujoco.mjtPertBit.mjPERT_TRANSLATE
        pert.localpos = [0.1, -0.05, 0.02]
        pull = Pull(1, body, pert.localpos, data.xpos[body] + [0.3, 0.5, 0.7])
        pert.refselpos = pull.target
        jacobian, half = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        at = data.xpos[body] + data.xmat[body].reshape(3, 3) @ pert.localpos
        mujoco.mj_jac(model, data, jacobian, None, at, body)
        mujoco.mj_solveM(model, data, half, jacobian)
        pert.localmass = 3 / np.trace(jacobian @ half.T)
        mujoco.mjv_applyPerturbForce(model, data, pert)
        np.testing.assert_allclose(pull.force(sim, 1e-6), data.xfrc_applied[body], rtol=2e-4, atol=2e-3)


def test_pulling(watched):
    """Of one world, until it is let go or the page is closed."""
    sim, viewer, stepper, page = watched
    one = page()
    tip = sim.model.find("bodies", "tip")
    for end in ("release", "close"):
        one.look(first=3, follow=tip, view=[90, -20, 3, 5, 5, 5])
        one.picture()
        one.send("grab", x=0.5, y=0.5)
        one.send("pull", x=0.5, y=-0.5)
        while not one.picture()[0]["marks"] or sim.qpos.numpy()[3, 0] > -0.3:  # up
            pass
        forces = sim.xfrc_applied.numpy().reshape(5, -1, 6)
        assert forces[3, tip].any() and np.count_nonzero(forces.any(axis=2)) == 1
        if end == "release":
            one.send("release")
        else:
            one.close()
        until = time.monotonic() + 10
        while sim.xfrc_applied.numpy().any():
            assert time.monotonic() < until
        if end == "release":
            one.look(first=3, view=[90, 80, 3, 0, 0, 5])  # of the sky
            one.picture()
            one.send("grab", x=0.5, y=0.5)
            assert "no body" in one.text()["sentence"]


def test_the_end(make):
    sim = make()
    plain = sim.step
    viewer = sim.view()
    page = Page(viewer.url)
    for wrong in ({"rate": 0}, {"speed": -1}, {"rate": float("nan")}):
        with pytest.raises(stet.InvalidArgumentError, match="a rate is above 0"):
            sim.view(**wrong)
    for share in (0, 1.1, float("nan")):
        with pytest.raises(stet.InvalidArgumentError, match="for drawing is above 0, at most 1"):
            sim.view(share=share)
    with pytest.raises(stet.StateError, match="has a viewer"):
        sim.view()
    viewer.close()
    viewer.close()
    with pytest.raises(ConnectionClosed) as error:
        page.socket.recv(timeout=10)
    assert error.value.rcvd.reason == "the run has ended"
    assert viewer.closed and "step" not in vars(sim) and "closed" in repr(viewer)
    plain(2)
    sim.step()
    again = sim.view()
    sim.close()
    assert again.closed and sim.closed
    with pytest.raises(stet.StateError):
        sim.view()


def test_many_readers(watched):
    sim, viewer, stepper, page = watched
    pages = [page() for _ in range(100)]
    for one in pages:
        one.look(width=16, height=16)
    for one in pages:
        assert one.picture()[1].shape == (16, 16, 3)


# ---- pictures ------------------------------------------------------------------------------------------------------


def test_mosaic():
    three = np.arange(3, dtype=np.uint8).reshape(3, 1, 1, 1).repeat(3, -1)
    assert mosaic(three, 2)[..., 0].tolist() == [[0, 1], [2, 0]]


@pytest.mark.parametrize("output", ["depth", "distance", "normal", "albedo", "seg_geom", "seg_body", "seg_type",
                                    "motion", "body_point"])
def test_every_output_can_be_seen(make, output):
    sim = make(worlds=2)
    painter = Painter(sim.model, ("qpos",))
    look = Look(output=output, count=2, width=80, height=40)
    painter.paint(look, {"qpos": sim.qpos.numpy()})
    picture = painter.paint(look, {"qpos": sim.qpos.numpy() + 0.1})
    pixels = picture.pixels
    assert pixels.shape == (40, 80, 3) and pixels.dtype == np.uint8 and pixels.std() > 5 and len(picture.view) == 6
    painter.close()


def test_image(make):
    sim = make(worlds=5, outputs=("rgb", "rgba", "depth", "seg_body"), width=32, height=20, cameras="all")
    sim.step(20)
    sim.render()
    assert sim.image().size == (96, 40) and sim.image(worlds=1).size == (32, 20)
    mine = sim.read("rgb", "top")
    assert np.array_equal(np.asarray(sim.image("rgb", "top"))[20:, 32:64], mine[4])
    for output in sim.outputs:
        assert sim.image(output, 1, worlds=4).size == (64, 40)
    with pytest.raises(stet.StateError, match="no outputs"):
        make().image()


def test_the_sky_is_black():
    assert colours(np.array([[[np.inf]], [[2.0]]]), "depth")[..., 0].tolist() == [[0], [255]]
    assert not colours(np.full((1, 1, 1), -1), "seg_geom").any()


# ---- recordings ----------------------------------------------------------------------------------------------------


@pytest.fixture
def recording(make):
    sim = make(worlds=2)
    rows = []
    for frame in range(40):
        sim.control_noise(1, frame)
        sim.step(4)
        rows.append(sim.qpos.numpy())
    return np.stack(rows)


def test_replay(recording):
    from stet.view import Viewer

    recording[20:, 1] = np.nan
    with Viewer(Replay(SCENE, {"qpos": recording}, 0.02)) as viewer:
        page = Page(viewer.url)
        assert page.facts["frames"] == 40 and not page.facts["control"]
        page.look(plots=[["qpos", 0]])
        page.send("pause", on=True)
        for frame in (30, 7, 8, 39):  # forward and back
            page.send("seek", frame=frame)
            while True:
                head, picture = page.picture()
                if head["steps"] == frame:
                    break
            assert head["plots"][0][0] == pytest.approx(recording[frame, 0, 0]) and picture.std() > 5
        assert head["faults"] == {"count": 1, "first": [[1, ["not finite"], 20]]}
        page.send("seek", frame=3)
        page.send("step")
        while page.picture()[0]["steps"] != 4:
            pass
        page.send("pause", on=False)
        while page.picture()[0]["steps"] < 10:
            pass
        page.send("reset", world=0, keyframe=-1)
        assert "cannot be changed" in page.text()["sentence"]
        page.close()


def test_a_pause_while_a_sample_is_taken(recording):
    """Who has a sample from before it learns of it: the sample has the number from before."""
    class Pausing(dict):
        def __getitem__(self, name):
            replay.tell("pause", {"on": True})
            return super().__getitem__(name)

    other = Pausing()
    replay = Replay(SCENE, {"qpos": recording}, 1000.0)
    replay._other = other
    other["qpos"] = recording
    sample = replay.take(Wants(0, 1))
    assert sample.facts["paused"] or sample.number != replay.number
    assert replay.take(Wants(0, 1)).facts["paused"]
    replay.close()


def test_two_recordings(recording):
    from stet.view import Viewer

    other = recording[:35].copy()
    other[12:, 1, 0] += 0.25
    with Viewer(Replay(SCENE, {"qpos": recording}, 0.02, other={"qpos": other})) as viewer:
        page = Page(viewer.url)
        assert page.facts["frames"] == 35
        for frame, count in ((11, 1), (20, 1), (20, 2)):
            page.look(first=2 - count, count=count, width=256, height=96, view=[90, -10, 3, 0, 0, 1])
            page.send("seek", frame=frame)
            while True:
                head, picture = page.picture()
                if (head["steps"], head["count"]) == (frame, count):
                    break
            left, right = picture[:, :128].astype(int), picture[:, 128:].astype(int)
            red = (right[..., 0] > 180) & (right[..., 1:].max(axis=-1) < 110) & (abs(left - right).max(axis=-1) > 80)
            assert head["sides"] == 2 and head["apart"]["first"] == 12
            if frame == 11:
                assert head["apart"]["most"] == 0 and abs(left - right).mean() < 2
                continue
            assert 20 < red.sum() < 3000
            assert head["apart"] == {"most": pytest.approx(0.25), "field": "qpos", "world": 1, "item": 0, "first": 12}
        page.close()
    with pytest.raises(stet.InvalidArgumentError, match="one has 2 worlds.* one has 1"):
        Replay(SCENE, {"qpos": recording}, other={"qpos": recording[:, :1]})


def test_what_is_no_recording(tmp_path, recording):
    with pytest.raises(stet.InvalidArgumentError, match="qpos, or xpos and xquat"):
        Replay(SCENE, {"ctrl": recording})
    with pytest.raises(stet.InvalidArgumentError, match="the scene has 2 of it"):
        Replay(SCENE, {"qpos": recording[..., :1]})
    with pytest.raises(stet.InvalidArgumentError, match="array \\[frame, world, item\\]"):
        Replay(SCENE, {"qpos": recording, "ctrl": recording[:3]})
    with pytest.raises(stet.MissingFileError, match="no recording"):
        open_folder(tmp_path)
    (tmp_path / "summary.json").write_text("[]")
    with pytest.raises(stet.FileError, match="no recording"):
        open_folder(tmp_path)


# ---- the commands --------------------------------------------------------------------------------------------------


def start(*words):
    """The command, and a page of it. It takes Ctrl-C also where the test runs in the background of a shell, in which
    that signal is ignored, and a program inherits that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen([sys.executable, "-m", "stet", *words, "--no-browser"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    return process, Page(process.stdout.readline().split()[0])


def interrupt(process, page):
    process.send_signal(signal.SIGINT)
    with pytest.raises(ConnectionClosed) as error:
        while True:
            page.socket.recv(timeout=20)
    assert error.value.rcvd.reason == "the run has ended"
    assert process.wait(20) == 0 and process.stderr.read() == ""


def test_stet_view():
    scene = str(stet.scenes / "cartpole.xml")
    process, page = start("view", scene, "--worlds", "3", "--noise", "1", "--speed", "0", "--share", "0.5")
    assert page.facts["worlds"] == 3 and page.facts["control"]
    page.look(camera="side", plots=[["ctrl", 0]])
    while page.picture()[0]["steps"] < 30:
        pass
    interrupt(process, page)
    for words in (["view", scene], ["run", scene, "--view"]):
        wrong = subprocess.run([sys.executable, "-m", "stet", *words, "--share", "2"], capture_output=True, text=True)
        assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1 and "share is 2.0" in wrong.stderr


def test_stet_replay(tmp_path):
    program = Path(stet.__file__).parent / "bin" / "stet"
    subprocess.run([program, "run", stet.scenes / "cartpole.xml", "--worlds", "2", "--frames", "20", "--output", "none",
                    "--record", "qpos,ctrl", "--out", tmp_path], check=True, capture_output=True)
    process, page = start("replay", str(tmp_path))
    assert page.facts["worlds"] == 2 and page.facts["frames"] == 20 and page.facts["fields"] == ["ctrl", "qpos"]
    page.look()
    page.send("seek", frame=11)
    while page.picture()[0]["steps"] != 11:
        pass
    interrupt(process, page)
    process, page = start("replay", str(tmp_path), str(tmp_path))
    page.look()
    assert page.picture()[0]["apart"] == {"most": 0, "first": None}
    interrupt(process, page)


def test_a_run_of_the_command(tmp_path):
    """Its page shows it; with and without one the results are the same; what is wrong, the run says."""
    words = ["run", str(stet.scenes / "quadruped.xml"), "--worlds", "6", "--output", "none", "--control", "noise",
             "--json", "--frames"]
    stet_here = [sys.executable, "-m", "stet"]
    process = subprocess.Popen([*stet_here, *words, "1000000", "--view", "--no-browser"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    page = Page(process.stderr.readline().split()[0])
    assert page.facts["worlds"] == 6 and not page.facts["control"]
    page.look(count=2, first=3, plots=[["qpos", 2], ["xpos", 3]])
    head, picture = page.picture()
    assert len(head["time"]) == 2 and head["time"][0] > 0 and picture.std() > 5
    assert head["plots"][0][1] <= head["plots"][0][0] <= head["plots"][0][3] and head["faults"]["count"] == 0
    page.look(contacts=True, forces=True)
    page.picture()
    page.send("pause", on=True)
    assert "goes on by itself" in page.text()["sentence"]
    process.terminate()  # in order
    shown = json.loads(process.stdout.read())
    frames = shown["frames_done"]
    assert process.wait(20) == 143 and 0 < frames < 1000000 and "interrupted after frame" in process.stderr.read()
    plain = json.loads(subprocess.run([*stet_here, *words, str(frames)], check=True, capture_output=True).stdout)
    assert shown["state_hash"] == plain["state_hash"]
    with pytest.raises(ConnectionClosed) as error:
        page.socket.recv(timeout=20), page.socket.recv(timeout=20)
    assert error.value.rcvd.reason == "the run has ended"
    wrong = subprocess.run([*stet_here, "run", "none.xml", "--view"], capture_output=True, text=True)
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1 and "none.xml" in wrong.stderr
    program = Path(stet.__file__).parent / "bin" / "stet"
    alone = subprocess.run([program, *words, "1", "--view"], capture_output=True, text=True)
    assert alone.returncode == 2 and "python -m stet run --view" in alone.stderr
    closed = subprocess.run([program, *words, "1", "--view-socket", "99"], capture_output=True, text=True)
    assert closed.returncode == 2 and "no open socket" in closed.stderr


@pytest.mark.parametrize("request_", [b"{}\n", b"x" * 9000, b"[\n",
                                      b'{"first": 0, "count": 3, "fields": [], "whole": []}\n',
                                      b'{"first": 0, "count": 1, "fields": ["nose"], "whole": []}\n'])
def test_nonsense_does_not_disturb_a_run(request_):
    program = Path(stet.__file__).parent / "bin" / "stet"
    here, there = socket.socketpair()
    with here, there:
        here.sendall(request_)
        run = subprocess.Popen([program, "run", stet.scenes / "cartpole.xml", "--worlds", "2", "--frames", "20",
                                "--output", "none", "--view-socket", str(there.fileno())], pass_fds=[there.fileno()],
                               stdout=subprocess.DEVNULL)
        there.close()
        assert run.wait(20) == 0
        try:
            assert here.recv(9) == b""
        except ConnectionError:
            pass


def test_replay_of_a_data_set(make, tmp_path):
    data = pytest.importorskip("stet.data")
    pytest.importorskip("h5py")
    sim = make(stet.scenes / "cartpole.xml", 3)
    with data.Writer(tmp_path, sim, frames_in_shard=5) as writer:
        for _ in range(12):
            sim.step(4)
            writer.add()
    replay = open_folder(tmp_path)
    assert replay.frames == 12 and replay.nworld == 3 and replay.seconds == pytest.approx(0.02)
    assert replay.facts()["fields"] == ["time", "qpos", "ctrl"]
    replay.close()


@pytest.mark.parametrize("words, sentence", [(("view", "none.xml"), "none.xml: no such file"),
                                             (("replay", "."), "no recording of stet run")])
def test_a_command_s_wrong_input(tmp_path, words, sentence):
    done = subprocess.run([sys.executable, "-m", "stet", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("stet: ") and sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_c_program_says_where_they_are():
    program = Path(stet.__file__).parent / "bin" / "stet"
    done = subprocess.run([program, "view", "x.xml"], capture_output=True, text=True)
    assert done.returncode == 2 and "command of the Python package" in done.stderr


def test_a_library_is_missing(make, monkeypatch):
    sim = make()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(stet.UnsupportedError, match="stet.view needs websockets and pillow: pip install"):
        sim.view()
    assert "step" not in vars(sim)
