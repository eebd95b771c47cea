"""stet.Sim: the arguments of the constructor, and what reads better in Python. The rest is in the extension (SimBase).
"""

from __future__ import annotations

import functools
import inspect
import logging
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from numpy.typing import ArrayLike, NDArray

from . import _convert, _core
from ._convert import stream_handle, texts, whole
from ._errors import ArgumentTypeError, InvalidArgumentError, NotFoundError, StateError
from ._load import load
from .contacts import Contacts, find_contacts
from .ids import Ids, make_ids
from .markers import Marker, add_marker
from .named import Named
from .rounds import Rounds
from .scan import GridPattern, RayPattern, Scanner
from .tiles import Output, Tiles, foreign_tiles, own_tiles

if TYPE_CHECKING:
    from .group import Group
    from .view import Viewer

_DEVICES = {"auto": 0, "cpu": 1, "null": 2, "cuda": 3, "hip": 4}
_Function = TypeVar("_Function", bound=Callable)
_log = logging.getLogger("stet")


# What was pickled; functions of Python, because pickle finds no others by their names.


def _load_bytes(data: bytes, path: str) -> _core.Model:
    return _core._load_bytes(data, path)


def _load_snapshot(data: bytes) -> _core.Snapshot:
    return _core._load_snapshot(data)


def _parse_device(device):
    """'cuda:1' as (type, number). Anything that prints as one is fine, such as torch.device('cuda:1')."""
    match = re.fullmatch(r"(\w+)(?::(\d+))?", str(device))
    kind, index = match.groups() if match else (None, None)
    if kind not in _DEVICES or (index and kind not in ("cuda", "hip")):
        raise NotFoundError(f"there is no device {str(device)!r}; it is auto, cpu, cuda, cuda:1, hip, hip:1 or null")
    return _DEVICES[kind], int(index or 0)


def _groups(groups):
    return sum({1 << whole("a group of geoms", group, 0, 5) for group in groups})


def _names_keywords(what: str) -> Callable[[_Function], _Function]:
    """A keyword that the function does not have raises ArgumentTypeError, which names the one that was meant. Its
    signature stays its own, for those that check types.
    """

    def decorate(function):
        names = [name for name in inspect.signature(function).parameters if name != "self"]

        @functools.wraps(function)
        def checked(*args, **keywords):
            for name in keywords:
                if name not in names:
                    raise ArgumentTypeError(_convert.unknown_keyword(what, name, names))
            return function(*args, **keywords)

        return checked

    return decorate


class SimOptions(TypedDict, total=False):
    """Keywords of Sim behind scene, worlds and device, for those that hand them on."""

    physics: str
    cameras: str | Iterable[str] | None
    width: int
    height: int
    sizes: Iterable[tuple[int, int]]
    fisheye: float | Iterable[float]
    samples: int
    mode: str
    fog: bool
    outputs: str | Iterable[str]
    seed: int
    first_world: int
    keyframe: int | str | None
    frames_in_flight: int
    groups: Iterable[int]
    show: str | Iterable[str]
    threads: int
    isa: str | None
    disable: str | Iterable[str]
    strict: bool
    audit: bool
    checked: bool
    cache_folder: str | os.PathLike[str] | None
    group: Group | None


class Sim(Rounds, Named, _core.SimBase):
    """Many copies ("worlds") of a robot scene, stepped and looked at on one device.

    scene        a path (MJCF, URDF, .mjb), a text that begins with '<', a stet.Model, an MjSpec or MjModel: stet.load,
                 which also takes files in memory, packages of ROS, and adds actuators
    worlds       how many
    group        a stet.Group: this process's worlds of a run over several; worlds and first_world are then the group's
    device       "auto", "cpu", "cuda", "cuda:1", "hip", "null" (runs nothing, for tests)
    physics      "mujoco"; "native": kernels, for models that they cover; "auto": native where it covers the model and,
                 on a CPU, is as fast by an estimate (physics_reason), else mujoco; or "external": the caller writes
                 poses, a step only counts time
    cameras      None: the model's first; "all"; or names. "free": where MuJoCo's viewer begins;
                 "free:AZIMUTH,ELEVATION,DISTANCE[,X,Y,Z]" looks at a point from there; "free:AZIMUTH,ELEVATION", or
                 "free:fit", so that the scene fills the picture
    width, height   pixels of each camera (128)
    sizes           (width, height) of one camera after the other, in place of these
    fisheye      vertical angle of view in degrees of cameras that are fisheyes (equidistant): one for all, or one for
                 each, 0 for none; depth is then the distance
    samples      rays a pixel for colours: 1, 4 or 16; other outputs show the pixel's centre
    mode         of colours: "mujoco", as its classic renderer makes them, or "physical": linear light, sRGB at the end,
                 soft shadows of lights with a bulb
    fog          whether colours have the fog of the model's visual/map fogstart and fogend, and visual/rgba fog, which
                 MuJoCo's renderer has off at first, too
    outputs      of "rgb", "rgba", "depth", "distance", "normal", "albedo", "seg_geom", "seg_body", "seg_type",
                 "motion", "body_point"; none: no pictures
    seed         of noise at resets and of control noise
    first_world  number of world 0 among all worlds of a run that several sims share: random numbers go by it
    keyframe     that worlds begin with: a number, a name, "none" (or "qpos0": the model's qpos0, with which
                 MuJoCo's own data begin); None: "home" if there is one, else the first, else qpos0
    frames_in_flight   how many frames can still be read, 1 to 16
    groups       of geoms that pictures show, 0 to 5
    show         names as of Sim.show, which changes them later: "joints", "contacts", "frames" …
    threads      0: one a processor; isa: of a CPU, "portable", "avx2", "avx512", "w1"; None: the widest, or, if there
                 are no outputs, the narrowest whose lanes hold all worlds: "w1" for one, and for models of more than 64
                 trees, whose worlds are solved one by one
    disable      names of mechanisms that are switched off; strict: a fallback is an error; audit: what stands is
                 checked
    checked      own kernels are held to the bounds of their arrays: a fault is a FaultError with line, array, index and
                 world. The same results, slower; STET_CHECKED=1 in the environment does it for a whole program
    cache_folder    of compiled kernels; None: $XDG_CACHE_HOME/stet

    A sim is used by one thread at a time: another one waits. Calls that take long let other threads of Python run.
    `with stet.Sim(…) as sim:` closes it at the end.
    """

    @_names_keywords("Sim")
    def __init__(
        self,
        scene: str | os.PathLike[str] | _core.Model | Any,
        worlds: int = 1,
        device: str = "auto",
        *,
        physics: str = "auto",
        cameras: str | Iterable[str] | None = None,
        width: int = 0,
        height: int = 0,
        sizes: Iterable[tuple[int, int]] = (),
        fisheye: float | Iterable[float] = (),
        samples: int = 1,
        mode: str = "mujoco",
        fog: bool = False,
        outputs: str | Iterable[str] = (),
        seed: int = 0,
        first_world: int = 0,
        keyframe: int | str | None = None,
        frames_in_flight: int = 2,
        groups: Iterable[int] = (0, 1, 2),
        show: str | Iterable[str] = (),
        threads: int = 0,
        isa: str | None = None,
        disable: str | Iterable[str] = (),
        strict: bool = False,
        audit: bool = False,
        checked: bool = False,
        cache_folder: str | os.PathLike[str] | None = None,
        group: Group | None = None,
    ) -> None:
        if group is not None:
            if worlds != 1 or first_world:
                raise InvalidArgumentError(
                    "Sim: the group says how many worlds there are; leave worlds, first_world out")
            worlds, first_world = group.own, group.first
        self._model = load(scene)
        if keyframe is not None and not isinstance(keyframe, str):
            keyframe = whole("keyframe", keyframe, -1, 2**31 - 1)
        options = {  # a row of `options` in src/make.cpp for each
            "worlds": whole("worlds", worlds, 1, 2**63 - 1),
            "first_world": whole("first_world", first_world, 0, 2**31 - 2),
            "device": _parse_device(device),
            "physics": str(physics),
            "cameras": [] if cameras is None else texts("cameras", cameras),
            "width": whole("width", width or 0, 0, 2**31 - 1),
            "height": whole("height", height or 0, 0, 2**31 - 1),
            "sizes": [[whole("sizes", side, 0, 2**31 - 1) for side in (width, height)] for width, height in sizes],
            "fisheye": [float(angle) for angle in ([fisheye] if isinstance(fisheye, (int, float)) else fisheye)],
            "samples": whole("samples", samples, 1, 16),
            "mode": str(mode),
            "fog": bool(fog),
            "outputs": texts("outputs", outputs),
            "seed": whole("seed", seed, 0, 2**64 - 1),
            "keyframe": keyframe,
            "frames_in_flight": whole("frames_in_flight", frames_in_flight, 1, 16),
            "groups": _groups(groups),
            "show": texts("show", show),
            "threads": whole("threads", threads, 0, 4096),
            "isa": isa or "",
            "disable": texts("mechanisms", disable),
            "strict": bool(strict),
            "audit": bool(audit),
            "checked": bool(checked),
            "cache_folder": os.fspath(cache_folder) if cache_folder else "",
        }
        super().__init__(self._model, options)
        if physics == "auto" and self.physics == "mujoco":
            _log.warning("Sim: physics auto is MuJoCo's, on the host, because %s; physics=\"mujoco\" asks for it",
                         self.physics_reason)

    if not TYPE_CHECKING:  # which would take any assignment then

        def __setattr__(self, name, value):
            try:
                super().__setattr__(name, value)
            except AttributeError:
                hint = (f"write into it: sim.{name}.write(…), sim.{name}[…] = …" if name in self.fields else
                        "it follows from the state" if name in self.quantities else "it is the sim's own")
                raise AttributeError(f"Sim.{name} cannot be replaced; {hint}") from None

    @property
    def model(self) -> _core.Model:
        """The scene: sizes, names, time step."""
        return self._model

    @_names_keywords("kernel")
    def kernel(
        self,
        source: str | None = None,
        name: str | None = None,
        path: str | os.PathLike[str] | None = None,
        includes: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
        *,
        compiler: str | None = None,
        cache_folder: str | os.PathLike[str] | None = None,
        shipped_folder: str | os.PathLike[str] | None = None,
        team: int = 0,
        teams: int = 0,
        constant: str | Iterable[str] = (),
    ) -> _core.Kernel:
        """A Kernel from a text in stet's language, or from the file `path`; `name`: which of its kernels. `includes`:
        folders where #include "…" looks. `compiler`: of a CPU; by default what the environment variable CC says, else
        "cc". `shipped_folder`: of a CPU, where compiled kernels lie that came with a program: they need no compiler.
        `team`, `teams`: on a GPU, threads of a team, teams of a block. `constant`: parameters that get no gradient
        (Kernel.adjoint, Tape).
        """
        if source is None and path is None:
            raise InvalidArgumentError("kernel: give a source or a path")
        return _core._kernel(
            self,
            source or "",
            name or "",
            os.fspath(path) if path else "",
            [os.fspath(folder) for folder in ([includes] if isinstance(includes, (str, os.PathLike)) else includes)],
            compiler or "",
            os.fspath(cache_folder) if cache_folder else "",
            os.fspath(shipped_folder) if shipped_folder else "",
            team,
            teams,
            texts("parameters", constant),
        )

    @_names_keywords("tiles")
    def tiles(
        self,
        outputs: str | Output | Iterable[str | Output],
        *,
        samples: int = 1,
        mode: str = "mujoco",
        fog: bool = False,
        groups: Iterable[int] = (0, 1, 2),
        frames_in_flight: int = 2,
    ) -> Tiles:
        """Pictures of this sim's cameras in other forms than its `outputs`: element types, first channels, channels
        apart; each an Output, or a name. They have frames of their own (Tiles.render).
        """
        return own_tiles(
            self,
            outputs,
            whole("samples", samples, 1, 16),
            str(mode),
            bool(fog),
            _groups(groups),
            whole("frames_in_flight", frames_in_flight, 1, 16),
        )

    @_names_keywords("foreign_tiles")
    def foreign_tiles(
        self,
        pictures: Mapping[str, object],
        outputs: Iterable[str | Output] | None = None,
        *,
        frames_in_flight: int = 2,
    ) -> Tiles:
        """The same for pictures that another renderer makes: tensors by name, of any layout and strides (Picture says
        which), read where they are. outputs None: each as it is, [world, height, width, channel]. The renderer draws,
        and Tiles.accept() starts a frame.
        """
        return foreign_tiles(self, pictures, outputs, whole("frames_in_flight", frames_in_flight, 1, 16))

    @_names_keywords("ids")
    def ids(self, of: str | range) -> Ids:
        """What the ids of pictures mean: of "seg_geom", "seg_body" or "seg_type", the model's names; of a range of
        numbers, for pictures of another renderer. Labels, colours and classes: Ids.
        """
        return make_ids(self, of)

    @_names_keywords("colour_depth")
    def colour_depth(
        self, pixels: _core.Array, near: float, far: float, out: _core.Array | None = None
    ) -> _core.Array:
        """Depths or distances as colours, on the device: of `pixels`, a tensor of Sim.tensor or Tiles.tensor of
        float32, [world, height, width, 1], from `near` (light and warm) to `far` metres (dark) in even steps of
        1 / depth; black where nothing was hit. out: where to, zeros([world, height, width, 3 or 4], "uint8"); None: a
        new one.
        """
        if out is None:
            out = self.zeros((*pixels.shape[:-1], 3), "uint8")
        _core._colour_depth(self, pixels, out, float(near), float(far))
        return out

    @_names_keywords("contacts")
    def contacts(
        self,
        geom1: str | int | Iterable[str | int] | None = None,
        geom2: str | int | Iterable[str | int] | None = None,
        *,
        body1: str | int | Iterable[str | int] | None = None,
        body2: str | int | Iterable[str | int] | None = None,
    ) -> Contacts:
        """Contacts of the present state between geoms of a first and a second set, in all worlds: how many, the force
        on the first by the second, the least distance, and which slots they are in. Geoms are given by names or
        numbers, or by their bodies; a set that is not given is all geoms.
        """
        return find_contacts(self, geom1, geom2, body1, body2)

    def show(self, *names: str) -> None:
        """What pictures show beside the scene from now on, in colours alone, as MuJoCo's viewer does: any of "joints",
        "contacts", "contactforce", "frames", "inertia", "com", "rangefinder"; nothing without names.
        """
        _core._decorate(self, texts("decorations", names))

    @_names_keywords("add_marker")
    def add_marker(
        self,
        shape: str,
        size: float | Sequence[float] = 0.05,
        *,
        body: str | None = None,
        site: str | None = None,
        geom: str | None = None,
        camera: str | None = None,
        pos: ArrayLike = (0, 0, 0),
        quat: ArrayLike = (1, 0, 0, 0),
        rgba: Sequence[float] | None = None,
        mesh: str | None = None,
        material: str | None = None,
        name: str | None = None,
    ) -> Marker:
        """Adds a shape that pictures show and physics does not know: "box", "sphere", "capsule", "cylinder",
        "ellipsoid", "plane" (size as of a geom in MJCF), or "mesh", one of the model's. It follows what it is under, by
        name (none: the world), has its own pose, colour and visibility in each world, shadows and reflections, and an
        id in seg_geom: Marker. pos [3] or [world, 3], quat w x y z [4] or [world, 4]; rgba None: the material's, or
        grey.
        """
        marker = add_marker(self, shape, size, (body, site, geom, camera), rgba, mesh, material, name)
        try:
            marker.move(pos, quat)
        except Exception:
            marker.remove()
            raise
        return marker

    @_names_keywords("scanner")
    def scanner(
        self,
        body: str | int,
        pattern: RayPattern | None = None,
        *,
        geoms: str | int | Iterable[str | int] | None = None,
        far: float = 100.0,
    ) -> Scanner:
        """Rays from a body in all worlds, of a GridPattern (None: 1.6 m by 1 m, every 0.1 m), LidarPattern or
        RayPattern: Scanner.read() gives [worlds, rays] distances of the first hit, m, at most `far`. They hit `geoms`,
        by names or numbers; None: all that stand still.
        """
        return Scanner(self, body, pattern or GridPattern(), geoms, far)

    @_names_keywords("height_scan")
    def height_scan(
        self,
        body: str | int,
        pattern: GridPattern | None = None,
        *,
        offset: float = 0.5,
        geoms: str | int | Iterable[str | int] | None = None,
        far: float = 100.0,
    ) -> Scanner:
        """A Scanner whose numbers are how far below a body, less `offset`, the ground is at each place of a grid that
        turns with the body's yaw (None: 1.6 m by 1 m, every 0.1 m: 187 rays), m, as an observation. Make it once.
        """
        pattern = pattern or GridPattern()
        return Scanner(self, body, pattern, geoms, far + pattern.height, 1.0, -pattern.height - offset)

    def record(self, name: str = "recording") -> _core.Record:
        """`with sim.record("a sweep"):` lists launches and copies instead of running them, and runs the list at the end
        of the block. A list that comes back is replayed as one thing. An exception forgets what was not run yet.
        """
        return _core._record(self, name)

    def loop(self, condition: _core.Array, most: int) -> _core.Loop:
        """`with sim.loop(condition, most):` in such a block: what is listed runs again while the first element of
        `condition` (int32) is not 0, at most `most` times.
        """
        return _core._loop(self, condition, most)

    def use_stream(self, stream: object) -> None:
        """Work goes to this stream of the GPU from now on (a handle, a torch.cuda.Stream; 0 is the legacy default
        stream); None: to stet's own. If it is being captured into a graph, stet joins.
        """
        self._use_stream(None if stream is None else stream_handle(stream))
        self._in_stream = stream  # which must live as long as it is used

    def wait_stream(self, stream: object) -> None:
        """What stet does from now on comes after all that the stream has got so far."""
        self._wait_stream(stream_handle(stream))

    def signal_stream(self, stream: object) -> None:
        """What the stream gets from now on comes after all that stet has issued so far."""
        self._signal_stream(stream_handle(stream))

    def save(self, path: str | os.PathLike[str]) -> None:
        """The whole state in a file."""
        self._save(os.fspath(path))

    def resume(self, path: str | os.PathLike[str]) -> None:
        """Puts all worlds back to what save() wrote."""
        self._resume(os.fspath(path))

    @_names_keywords("image")
    def image(self, output: str | None = None, camera: int | str = 0, worlds: int = 16) -> Any:
        """The first worlds as one picture, a PIL.Image, which notebooks show: an output of the sim (None: its first) as
        the worlds are now; depth and ids become colours. It needs Pillow.
        """
        from ._libraries import check_libraries
        from .view.pictures import colours, mosaic

        check_libraries("Sim.image", PIL="pillow")
        from PIL import Image

        if not self.outputs:
            raise StateError("image: the sim has no outputs; give it some: stet.Sim(…, outputs=('rgb',))")
        output = output or self.outputs[0]
        n = min(whole("worlds", worlds, 1, 2**31 - 1), self.nworld)
        pixels = self.tensor(output, camera).read_worlds(0, n)
        return Image.fromarray(mosaic(colours(pixels, output), math.ceil(math.sqrt(n))))

    def view(self, *, port: int = 0, control: bool = False, speed: float = 0.0, rate: float = 60.0,
             share: float = 1.0, browser: bool = False, wait: bool = False) -> Viewer:
        """A page in the browser that shows the run (stet.view): `url` of what comes back is its address on this
        machine. step() is then watched, and no bit of the run changes; pausing the page holds it. control: the page may
        reset worlds and write controls, too; speed: seconds of the simulation in one of the clock, 0: as fast as it
        goes; rate: pictures a second at most; share: of the time that drawing may take, which is what a run pays that
        uses all processors (0.02: it is at most about 2 % slower, and its pictures come when they can); port 0: any;
        browser: opens the page. wait: prints the address, and returns when the page is open, so that it sees the run
        from its first step (else: Viewer.wait()).
        """
        from .view import view

        return view(self, port=port, control=control, speed=speed, rate=rate, share=share, browser=browser,
                    wait=wait)

    @_names_keywords("set_parameter")
    def set_parameter(self, name: str, values: ArrayLike | None, mask: ArrayLike | None = None, *,
                      of: object = None, component: object = None) -> None:
        """Sets a parameter of the physics for all later steps: its items for all worlds alike, or [world, item]; None:
        the model's own. With a mask [world] only of the marked worlds.

        name       gravity (3, m/s^2), timestep (s), the factors friction, damping, stiffness, and arrays of MuJoCo's
                   model in its layout (Sim.parameters; include/stet/worlds.h has their sizes and ranges): body_mass,
                   geom_friction, jnt_range, actuator_gainprm …; constants that MuJoCo derives follow. And looks, which
                   pictures alone show: geom_matid (materials with their textures), geom_rgb, mat_rgb, light_diffuse,
                   cam_pos …
        of         only of these objects, by name, number, regular expression, or a list of them, as in Sim.columns:
                   set_parameter("geom_friction", 0.4, of="left_foot", component=0)
        component  only these of each object's numbers: one or a list

        With of or component, values are a number, one each of the chosen numbers, or [world, those].
        """
        if of is None and component is None or name not in self.parameters:
            return super().set_parameter(name, values, mask)
        if values is None:
            raise InvalidArgumentError(f"set_parameter: None is the model's own {name} of all objects; leave of and "
                                       "component out, or give numbers")
        columns, now = self.columns(name, of, component), super().parameter(name)
        try:
            now[:, columns] = values
        except ValueError as error:
            raise InvalidArgumentError(f"set_parameter: {name} of {of!r}: {error}") from None
        super().set_parameter(name, now, mask)

    def parameter(self, name: str, *, of: object = None, component: object = None) -> NDArray[Any]:
        """The present values of a parameter of the physics (set_parameter), [world, item] of float64; of and component:
        only those items.
        """
        values = super().parameter(name)
        return values if of is None and component is None else values[:, self.columns(name, of, component)]

    @_names_keywords("fork")
    def fork(self, world: int | Sequence[int] = 0, of: Sim | None = None) -> None:
        """Every world becomes a copy of one world, to the bit: its state, time, inputs, faults, and parameters of the
        physics (set_parameter). world: its number, or [nworld] numbers, one for each world of this sim; of: the sim
        whose world it is, of any number of worlds, the same model and the same kind of physics; None: this one.
        Random numbers of later resets go on as in `of`, and differ between worlds.
        """
        of = self if of is None else of
        if not isinstance(of, Sim):
            raise ArgumentTypeError(f"fork: of is a stet.Sim, not a {type(of).__name__!r}")
        numbers = [world] * self.nworld if hasattr(world, "__index__") else list(world)
        if len(numbers) != self.nworld:
            raise InvalidArgumentError(f"fork: {len(numbers)} numbers of worlds for a sim of {self.nworld}; give one "
                                       "number, or one for each world")
        numbers = [whole("fork: a world", number, 0, of.nworld - 1) for number in numbers]
        given = {name: of.parameter(name)[numbers] if of._has_parameter(name) else None
                 for name in self.parameters if of._has_parameter(name) or self._has_parameter(name)}
        self.restore(of.snapshot().select(numbers))
        for name, values in given.items():
            self.set_parameter(name, values)

    def _named_sim(self) -> Sim:
        return self

    def _named_part(self, array: str, columns: Any) -> Any:
        return self.array(array).host()[:, columns]

    def _named_write(self, array: str, columns: Any, values: Any) -> None:
        self.array(array)[:, columns] = values

    def __enter__(self) -> Sim:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
