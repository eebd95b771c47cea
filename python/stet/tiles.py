"""Tensors of pictures in the form that a network wants: of stet's renderer, and of frames that another one made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from . import _core
from ._convert import stream_handle
from ._errors import ArgumentTypeError, InvalidArgumentError, NotFoundError


@dataclass(frozen=True)
class Output:
    """A tensor to be made of pictures.

    name         of an output ("rgb", "depth", …), or of another renderer's picture
    camera       its number, or of the sim's cameras its name
    dtype        None: the picture's own. Colours also "float32" and "float16", from 0 to 1; reals "float16"; ids
                 "uint32", "uint8", "int64"
    channels     the first ones; 0: all
    planar       [world, channel, height, width] instead of [world, height, width, channel]
    """

    name: str
    camera: int | str = 0
    dtype: object = None
    channels: int = 0
    planar: bool = False


@dataclass(frozen=True)
class Picture:
    """Where a picture of another renderer is: the tiles of all worlds and cameras, in one tensor.

    tensor       anything with __dlpack__ that the sim's device can reach, with any strides; it is read in place
    layout       what its dimensions are: n worlds, k cameras, h rows, w pixels of a row, c channels. By default "nhwc"
                 for four dimensions, "hwc" for three, "hw" for two
    size         (height, width) of a tile, in a tensor without n: one frame that has all tiles
    at           [world, camera, 2], row and column of the first pixel of each tile in such a frame; None: from left to
                 right, then down, world by world, as many in a row as fit
    """

    tensor: object
    layout: str | None = None
    size: tuple[int, int] | None = None
    at: object = None


_LAYOUTS = {2: "hw", 3: "hwc", 4: "nhwc"}


def _output(one: str | Output) -> Output:
    return one if isinstance(one, Output) else Output(one)


def _layout(name, picture, shape):
    layout = picture.layout or _LAYOUTS.get(len(shape), "")
    if len(layout) != len(shape) or len(set(layout)) != len(layout) or not set("hw") <= set(layout) <= set("nkhwc"):
        raise InvalidArgumentError(
            f"picture {name!r}: layout {layout!r} does not fit a tensor of shape {tuple(shape)}; give one letter for "
            "each dimension: n worlds, k cameras, h rows, w pixels, c channels"
        )
    if "k" in layout and "n" not in layout:
        raise InvalidArgumentError(f"picture {name!r}: a layout with cameras (k) has worlds (n), too")
    return layout


def _places(name, picture, nworld, frame, size):
    """Rows and columns of tiles in a frame, [world, camera, 2]."""
    if picture.at is not None:
        at = np.asarray(picture.at)
        if at.dtype.kind not in "iu" or at.shape not in ((nworld, 2), (nworld, *at.shape[1:2], 2)):
            raise InvalidArgumentError(
                f"picture {name!r}: at has rows and columns, integers of shape ({nworld}, cameras, 2), not "
                f"{at.dtype} of shape {at.shape}"
            )
        at = at.reshape(nworld, -1, 2).astype(np.int64)
    else:
        across, down = frame[1] // size[1], frame[0] // size[0]
        if across * down < nworld:
            raise InvalidArgumentError(
                f"picture {name!r}: a frame of {frame[0]} x {frame[1]} has room for {across * down} tiles of "
                f"{size[0]} x {size[1]}, but there are {nworld} worlds"
            )
        number = np.arange(nworld, dtype=np.int64)
        at = np.stack([number // across * size[0], number % across * size[1]], axis=-1)[:, None]
    if (at < 0).any() or (at + size > frame).any():
        raise InvalidArgumentError(
            f"picture {name!r}: a tile of {size[0]} x {size[1]} is not within the frame of {frame[0]} x {frame[1]}"
        )
    return at


def _resolve(sim, name, picture):
    """A picture as the library has it: an array and numbers, and its tiles' (height, width)."""
    if not isinstance(picture, Picture):
        picture = Picture(picture)
    array, shape, strides, first = _core._import_picture(sim, picture.tensor, name)
    layout = _layout(name, picture, shape)
    length, stride = dict(zip(layout, shape)), dict(zip(layout, strides))
    nworld = sim.nworld
    if "n" in layout:
        if length["n"] != nworld or picture.size is not None or picture.at is not None:
            raise InvalidArgumentError(
                f"picture {name!r}: it has {length['n']} worlds"
                + (f", the sim {nworld}" if length["n"] != nworld else ", so it takes neither size nor at")
            )
        size = (length["h"], length["w"])
        world, camera = np.arange(nworld)[:, None], np.arange(length.get("k", 1))
        table = first + world * stride["n"] + camera * stride.get("k", 0)
    else:
        if picture.size is None:
            raise InvalidArgumentError(f"picture {name!r}: it is one frame of all worlds; give the size of a tile")
        size = tuple(picture.size)
        at = _places(name, picture, nworld, (length["h"], length["w"]), size)
        table = first + at[..., 0] * stride["h"] + at[..., 1] * stride["w"]
    numbers = (length.get("c", 1), np.asarray(table, np.int64), stride["h"], stride["w"], stride.get("c", 1))
    return (array, *numbers), size


class Tiles:
    """Tensors of pictures: see Sim.tiles and Sim.foreign_tiles."""

    def __init__(self, tiles: _core._Tiles, outputs: Sequence[Output]) -> None:
        self._tiles = tiles
        self.outputs = tuple(outputs)

    def __repr__(self) -> str:
        return f"<stet.Tiles of {', '.join(one.name for one in self.outputs)}>"

    def render(self, mask: object = None) -> int:
        """Starts a frame of stet's renderer; returns its number, the last one's if nothing moved. mask: the worlds to
        draw.
        """
        return self._tiles.render(mask)

    def accept(self, mask: object = None, stream: object = None) -> int:
        """Starts a frame of another renderer: the pictures hold the pixels of the worlds in `mask` (None: all). Returns
        its number. stream: of a GPU, on which they are ready; None: they are ready now. Nothing is copied before the
        frame is read; one that was not read when the next is accepted is lost, which the log says once, and a miss of
        deferred_tiles each time.
        """
        return self._tiles.accept(mask, None if stream is None else stream_handle(stream))

    def tensor(self, output: int | str = 0, frame: int | None = None) -> _core.Array:
        """The tensor of an output, by number or name (the first of that name), in a frame; None: the latest. It is
        gone, and raises NotFoundError, when frames_in_flight further frames were started.
        """
        if isinstance(output, str):
            names = [one.name for one in self.outputs]
            if output not in names:
                raise NotFoundError(f"tiles: there is no output {output!r}; there are {', '.join(names)}")
            output = names.index(output)
        return self._tiles.tensor(output, frame)

    def read(self, output: int | str = 0, frame: int | None = None) -> np.ndarray:
        """The same as NumPy's array."""
        return self.tensor(output, frame).numpy()


def own_tiles(
    sim: _core.SimBase, outputs: Iterable[str | Output], samples: int, mode: str, fog: bool, groups: int, frames: int
) -> Tiles:
    every = [_output(one) for one in ([outputs] if isinstance(outputs, (str, Output)) else outputs)]
    requests = [(one.name, one.camera, one.dtype, one.channels, one.planar) for one in every]
    return Tiles(_core._own_tiles(sim, requests, samples, mode, fog, groups, frames), every)


def foreign_tiles(
    sim: _core.SimBase, pictures: Mapping[str, object], outputs: Iterable[str | Output] | None, frames: int
) -> Tiles:
    if not isinstance(pictures, Mapping):
        raise ArgumentTypeError(f"pictures are a dict of tensors by name, not a {type(pictures).__name__!r}")
    names = list(pictures)
    every = [_output(one) for one in (names if outputs is None else outputs)]
    found, sizes = [], []
    for name, picture in pictures.items():
        one, size = _resolve(sim, name, picture)
        found.append(one)
        sizes.append([size] * one[2].shape[1])
    for name, size in zip(names, sizes):
        if size != sizes[0]:
            raise InvalidArgumentError(
                f"picture {name!r} has {len(size)} cameras of {size[0]}, {names[0]!r} {len(sizes[0])} of "
                f"{sizes[0][0]}; make other tiles for it"
            )
    for one in every:
        if one.name not in names:
            raise NotFoundError(f"tiles: there is no picture {one.name!r}; there are {', '.join(names)}")
    requests = [(names.index(one.name), one.camera, one.dtype, one.channels, one.planar) for one in every]
    return Tiles(_core._foreign_tiles(sim, found, sizes[0] if sizes else [], requests, frames), every)
