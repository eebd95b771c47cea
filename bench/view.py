"""What looking at a run costs, and how fast a page gets pictures.

    PYTHONPATH=build/python .venv/bin/python bench/view.py [--scene humanoid] [--size 1280x720] [--worlds 256]
    [--device cpu] [--share 0.02] [--seconds 4] [--samples 5] [--parts pictures,training] [--out FILE]

pictures: a run of one world in real time, and a page that says at once that it has shown a picture, in a process of its
own: pictures a second, and milliseconds of processor time that stet's process takes for one (the run's steps, drawing,
encoding, sending). 60 a second on two cores are at most 33 ms each. With all pixels, and as the page does it where it
is not asked for all: what is slow to draw has half as many of a side while it moves.

training: steps of all worlds with random controls a second, with one world watched over without, in turns (without,
with, with, without) within one run, so that other work on the machine touches both; the median of the samples.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import threading
import time

from origin import machine, write

import stet

# A page without a browser: its arguments are the address and the size; it prints how many pictures came, each second.
PAGE = """
import json, sys, time
from websockets.sync.client import connect
page, token = sys.argv[1].split("/#")
look = {"do": "look", "camera": "", "view": [145, -12, 3, 0, 0, 0.8], "whole": False, "output": "rgb", "first": 0,
        "count": 1,
        "width": int(sys.argv[2]), "height": int(sys.argv[3]), "full": sys.argv[4] == "True", "follow": -1,
        "groups": [0, 1, 2], "fisheye": 0, "trail": -1, "contacts": False, "forces": False, "show": [],
        "timeline": False, "plots": []}
with connect(page.replace("http", "ws") + "/socket?token=" + token, origin=page, compression=None, max_size=None) as on:
    on.send(json.dumps(look))
    n = 0
    for data in on:
        if isinstance(data, bytes):
            n += 1
            on.send('{"do": "shown"}')
            print(n, flush=True)
"""


class Page:
    """A page in another process that counts its pictures."""

    def __init__(self, url, size, full):
        words = [sys.executable, "-c", PAGE, url, *map(str, size), str(full)]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE)
        self._process.stdout.readline()  # the first one is there
        os.set_blocking(self._process.stdout.fileno(), False)

    def new(self):
        """How many came since the last call."""
        return (self._process.stdout.read() or b"").count(b"\n")

    def close(self):
        self._process.terminate()
        self._process.wait()


def open_page(viewer, size, full, sim, steps):
    """A page that has its first picture; the sim steps meanwhile."""
    pages = []
    opens = threading.Thread(target=lambda: pages.append(Page(viewer.url, size, full)))
    opens.start()
    while opens.is_alive():
        sim.step(steps)
    return pages[0]


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def pictures(options, size, full):
    """[pictures a second, ms of processor time for one], a sample each."""
    rows = []
    with stet.Sim(stet.scenes / f"{options.scene}.xml", 1, "cpu") as sim, sim.view(speed=1) as viewer:
        steps = max(1, round(1 / 120 / sim.model.timestep))
        page = open_page(viewer, size, full, sim, steps)
        for _ in range(options.samples):
            page.new()
            used, begin = processor_seconds(), time.monotonic()
            while time.monotonic() - begin < options.seconds:
                sim.step(steps)
            n, seconds = page.new(), time.monotonic() - begin
            rows.append((n / seconds, 1e3 * (processor_seconds() - used) / max(n, 1)))
        page.close()
    return rows


def rate(sim, seconds):
    """Frames a second."""
    n, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        sim.control_noise(0.5, n)
        sim.step(5)
        sim.qpos.numpy()
        n += 1
    return n / (time.perf_counter() - begin)


def training(options, size):
    """[with over without, pictures a second], a sample each."""
    rows = []
    with stet.Sim(stet.scenes / f"{options.scene}.xml", options.worlds, options.device) as sim:
        rate(sim, options.seconds)
        device = sim.device.name
        for _ in range(options.samples):
            rates = {False: [], True: []}
            came = 0
            for watched in (False, True, True, False):
                if not watched:
                    rates[False].append(rate(sim, options.seconds))
                    continue
                with sim.view(share=options.share, rate=options.rate) as viewer:
                    page = open_page(viewer, size, False, sim, 5)
                    page.new()
                    rates[True].append(rate(sim, options.seconds))
                    came += page.new()
                    page.close()
            rows.append((sum(rates[True]) / sum(rates[False]), came / (2 * options.seconds)))
    return rows, device


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scene", default="humanoid")
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--worlds", type=int, default=256, help="of the training run")
    parser.add_argument("--device", default="cpu", help="of the training run")
    parser.add_argument("--share", type=float, default=0.02, help="of the time, for drawing beside the training run")
    parser.add_argument("--rate", type=float, default=60.0)
    parser.add_argument("--seconds", type=float, default=4.0, help="of a sample")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--parts", default="pictures,training")
    parser.add_argument("--out")
    options = parser.parse_args()
    size, load = tuple(map(int, options.size.split("x"))), os.getloadavg()[0]
    base, rows, device = f"view/{options.scene}", [], "cpu"
    for full, place, what in ((True, options.size, "all pixels"), (False, f"{options.size}/moving", "half of a side")):
        if "pictures" not in options.parts:
            continue
        found = pictures(options, size, full)
        rows += [
            {"name": f"{base}/{place}/pictures", "unit": "a second", "better": "higher", "goal": 60,
             "samples": [row[0] for row in found], "note": f"{what}; {len(os.sched_getaffinity(0))} processors"},
            {"name": f"{base}/{place}/processor_ms", "unit": "ms", "better": "lower", "goal": 33,
             "samples": [row[1] for row in found], "note": "of stet's process, for one picture"},
        ]  # fmt: skip
    if "training" in options.parts:
        watched, device = training(options, size)
        rows.append(
            {"name": f"{base}/{options.device}/{options.worlds}/watched", "unit": "of the rate", "better": "higher",
             "goal": 0.98, "samples": [row[0] for row in watched],
             "note": f"share {options.share}; {statistics.median(row[1] for row in watched):.1f} pictures a second"}
        )  # fmt: skip
    for row in rows:
        row["value"] = statistics.median(row["samples"])
        print(f"{row['name']:46} {row['value']:8.3g} {row['unit']:12} {row['note']}")
    if options.out:
        write(options.out, machine(device), rows,
              load=[round(x, 1) for x in (load, os.getloadavg()[0])])  # of a minute, before and after
    return 0


if __name__ == "__main__":
    sys.exit(main())
