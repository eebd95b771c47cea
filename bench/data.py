"""What writing a data set takes beside the same library (h5py), which writes the same numbers from arrays.

    PYTHONPATH=build/python .venv/bin/python bench/data.py [--scene humanoid] [--worlds 64] [--size 64x64]
    [--frames 81] [--samples 5] [--out FILE]

A sample: two shards of frames of a sim that moves, of which the second one counts: the memory is there by then, as in a
long run. The time within stet.data.Writer.add() alone is taken; reading the frames from the sim is a part of it. Then
h5py writes the arrays of these frames into one file, with the same chunks, compression and checksums, and to the disk.
In turns within one run; the ratio of the two speeds, and its median.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import h5py
from origin import machine, write

import stet
import stet.data


def write_frames(sim, folder, frames, seed):
    """Seconds of the writing of a second shard, its arrays and its file."""
    took = 0.0
    with stet.data.Writer(folder, sim, fields=("qpos", "ctrl"), outputs=("rgb",), frames_in_shard=frames) as data:
        for frame in range(2 * frames):
            sim.control_noise(0.5, seed + frame)
            sim.step(5)
            sim.render()
            begin = time.perf_counter()
            data.add()
            took += time.perf_counter() - begin if frame >= frames else 0.0
    reader = stet.data.Reader(folder)
    return took, {name: reader.read(name, frames) for name in reader.names}, reader.shards[1][2]


def write_arrays(arrays, like, path):
    """Seconds in which h5py writes them into one file as those of another one are."""
    with h5py.File(like) as shard:
        options = {name: dict(chunks=array.chunks, compression=array.compression, shuffle=array.shuffle,
                              compression_opts=array.compression_opts, fletcher32=array.fletcher32)
                   for name, array in shard.items()}  # fmt: skip
    begin = time.perf_counter()
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            file.create_dataset(name, data=values, **options[name])
    with open(path, "rb") as done:
        os.fsync(done.fileno())
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scene", default="humanoid")
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("--size", default="64x64")
    parser.add_argument("--frames", type=int, default=81)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--out")
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    ratios, rates = [], []
    with stet.Sim(stet.scenes / f"{options.scene}.xml", options.worlds, "cpu", width=width, height=height,
                  outputs=("rgb",)) as sim, tempfile.TemporaryDirectory() as folder:  # fmt: skip
        for sample in range(options.samples + 1):  # the first one warms up
            at = Path(folder) / str(sample)
            mine, arrays, shard = write_frames(sim, at, options.frames, 2 * sample * options.frames)
            theirs = write_arrays(arrays, shard, Path(folder) / "theirs.h5")
            size = sum(values.nbytes for values in arrays.values())
            if sample:
                ratios.append(theirs / mine)
                rates.append(size / mine / 1e6)
        device = sim.device.name
    rows = [{"name": f"data/{options.scene}/{options.worlds}x{options.size}/over_h5py", "unit": "times",
             "value": statistics.median(ratios), "better": "higher", "goal": 0.8, "samples": ratios,
             "note": f"{statistics.median(rates):.0f} MB/s of frames, compressed"}]  # fmt: skip
    for row in rows:
        print(f"{row['name']:46} {row['value']:8.3g} {row['unit']:12} {row['note']}; {min(ratios):.3g} to "
              f"{max(ratios):.3g}")
    if options.out:
        write(options.out, machine(device), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
