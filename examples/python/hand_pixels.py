"""Hands that fumble a cube, seen through a camera: random actions for a second; saves what world 0 to 3 look like then.

    python3 hand_pixels.py [PICTURE.ppm]
"""

import argparse

import gymnasium
import numpy as np

words = argparse.ArgumentParser(description="Hands that fumble a cube, seen through a camera.")
words.add_argument("picture", nargs="?", default="hands.ppm", help="the file to write, PPM")
path = words.parse_args().picture
envs = gymnasium.make_vec("stet.gym:stet/HandPixels-v0", num_envs=4, width=160, height=160)
pictures, _ = envs.reset(seed=0)
envs.action_space.seed(0)
for _ in range(50):
    pictures, rewards, dropped, late, _ = envs.step(envs.action_space.sample())
row = np.concatenate(pictures, axis=1)
with open(path, "wb") as file:
    file.write(b"P6 %d %d 255\n" % (row.shape[1], row.shape[0]) + row.tobytes())
print(f"{path}: {envs.num_envs} hands; the cubes turn at {np.round(rewards, 2)} rad/s")
envs.close()
