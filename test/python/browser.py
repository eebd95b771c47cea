"""A headless Chromium for tests, driven over its own protocol (DevTools)."""

import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import pytest


def find():
    """The program; the test is skipped where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")
    return program


class Browser:
    """A page of 1200 x 800 pixels."""

    def __init__(self):
        from websockets.sync.client import connect

        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen([
            find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--window-size=1200,800", "--remote-debugging-port=0", f"--user-data-dir={self._folder.name}", "about:blank"
        ], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port_file = Path(self._folder.name) / "DevToolsActivePort"
        self.wait(lambda: port_file.exists() and "\n" in port_file.read_text(), "a browser that listens")
        port = port_file.read_text().split("\n")[0]
        tabs = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json"))
        page = next(tab for tab in tabs if tab["type"] == "page")
        self._socket = connect(page["webSocketDebuggerUrl"], max_size=None).__enter__()
        self._ids = itertools.count(1)
        self.errors = []  # of the page's programs
        self.call("Runtime.enable")
        self.call("Page.enable")

    @staticmethod
    def wait(ready, what, seconds=30):
        end = time.monotonic() + seconds
        while True:
            got = ready()
            if got:
                return got
            assert time.monotonic() < end, f"waited {seconds} s for {what}"
            time.sleep(0.05)

    def call(self, method, **params):
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.recv(timeout=30))
            if answer.get("method") == "Runtime.exceptionThrown":
                details = answer["params"]["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description", details["text"]))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.until(f"location.href === {json.dumps(url)} && document.readyState === 'complete'", "the page")

    def run(self, script):
        """The value of an expression of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, script, what=None):
        return self.wait(lambda: self.run(script), what or script)

    def click(self, selector):
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, x, y, dx, dy, button="left", control=False, held=lambda: None):
        """`held` is called before the button is let go."""
        more = {"button": button, "modifiers": 2 * control}
        mask = {"left": 1, "right": 2}[button]
        self.mouse("mousePressed", x, y, buttons=mask, clickCount=1, **more)
        for k in range(1, 6):
            self.mouse("mouseMoved", x + dx * k / 5, y + dy * k / 5, buttons=mask, **more)
        held()
        self.mouse("mouseReleased", x + dx, y + dy, buttons=0, clickCount=1, **more)

    def screenshot(self, path):
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self):
        self._socket.close()
        self._process.terminate()
        self._process.wait(20)
        self._folder.cleanup()
