"""A step of an environment as one graph of PyTorch's on a GPU (VectorEnv, graph=True).

Invariants:
    GRAPH-1  a step that cannot be captured leaves nothing behind: no device work, and the environment's attributes as
             they were
    GRAPH-2  a graph is replayed only while the recording of stet's part of it stands: memory that it uses is there
    GRAPH-3  whatever a step passes to kernels by value, or uploads, and that has changed, drops the graph
"""

from __future__ import annotations

import contextlib
import functools
import gc
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import stet

_WARM = 3  # steps before a capture: compiled, tables uploaded, once round the ring of frames
_LOOK = 1024  # replays after which a step runs by itself, for what the host does now and then (room for contacts)
_CHANGES = ("set_parameter", "randomize", "set_reset", "add_kernel", "set_kernel_args", "remove_kernel",
            "clear_kernels", "restore", "resume", "set_contact_slots", "configure")
_TASK = ("observation", "reward", "terminated", "begin", "control", "track", "info")


class Cuda:
    """The calls of PyTorch that know of GPUs."""

    def __init__(self, sim: Any, device: Any) -> None:
        import torch

        self._cuda, self._sim, self._device = torch.cuda, sim, device

    def follow(self) -> None:
        """stet works in PyTorch's current stream, so what one of them writes the other reads in order."""
        stream, now = self._cuda.current_stream(self._device), self._sim.__dict__.get("_in_stream")
        if now is None or stream != now:  # to PyTorch a stream is neither equal nor unequal to None
            self._sim.use_stream(stream)

    def watch(self, run: Any) -> tuple[Any, str]:
        """What run() returned, and where in it PyTorch's host waited for the device, which no graph can."""
        self._sim.wait_for_code()  # a graph goes on with the code that it began with
        self._cuda.set_sync_debug_mode("warn")
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                out = run()
        finally:
            self._cuda.set_sync_debug_mode("default")
        waits = ""
        for one in said:
            if "synchroniz" in str(one.message):
                waits = waits or f"the host waits for the device in line {one.lineno} of {one.filename}"
            else:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        return out, waits

    def capture(self, run: Any) -> tuple[Any, Any, int]:
        """The graph of what run() issues, what run() returned, and the number of stet's recording of it."""
        graph, stream = self._cuda.CUDAGraph(), self._cuda.Stream(self._device)
        before = self._cuda.current_stream(self._device)
        self._cuda.synchronize(self._device)
        self._sim.use_stream(stream)
        try:
            with self._cuda.device(self._device), self._cuda.graph(graph, stream=stream):
                out = run()
                recording = self._sim.recording
        finally:
            self._cuda.set_stream(before)  # which a capture that fails may have left
            self._sim.use_stream(before)
        return graph, out, recording


@contextlib.contextmanager
def nothing_collected() -> Iterator[None]:
    """Python's garbage waits: to free memory of a GPU, or an older graph, would end a capture with an error."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def find_culprit(error: BaseException) -> str:
    """Which function of the task an error came from, and what it says. A capture that ends by an error adds another."""
    while error.__context__ is not None:
        error = error.__context__
    said = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.name in _TASK and not frame.filename.startswith(__file__.rpartition("/")[0]):
            return f"{frame.name}, line {frame.lineno}: {said}"
    return said


def find_rebound(before: dict[str, Any], after: dict[str, Any]) -> str:
    """What a step bound anew, which a replay would not do."""
    own = ("before", "after", "_ready")
    names = [name for name in after if name not in own and after[name] is not before.get(name, after)]
    if not names:
        return ""
    name = names[0]
    return (f"self.{name} is bound to another object in the step, and a replay would go on with the old one; write "
            f"into a tensor instead (self.{name}.copy_(…), self.{name}[:] = …)")


def fill(to: Any, x: Any) -> Any:
    """Copies the tensors of tuples and dicts into others."""
    if isinstance(x, dict):
        for name in x:
            fill(to[name], x[name])
    elif isinstance(x, tuple):
        for one, other in zip(to, x, strict=True):
            fill(one, other)
    elif x is not None:
        to.copy_(x)
    return to


class StepGraph:
    """A step, run(actions), that is captured once it was run some times, and then replayed."""

    def __init__(self, env: Any, run: Any, written: list[Any], calls: Any) -> None:
        self._env, self._sim, self._run, self._written = env, env.sim, run, written
        self._calls = calls
        self._graph: Any = None
        self._out: Any = None
        self._actions: Any = None
        self._recording = self._replays = self._warm = self.captures = 0
        self.capturing = False
        self.refused = ""
        """Why the step is not captured."""
        for name in _CHANGES:
            if hasattr(env.sim, name):
                setattr(env.sim, name, self._dropping(getattr(env.sim, name)))

    def _dropping(self, method):
        """GRAPH-3."""

        @functools.wraps(method)
        def call(*args, **keywords):
            self.drop()
            return method(*args, **keywords)

        return call

    def drop(self) -> None:
        """The next steps run by themselves again, and then another graph is captured."""
        self._graph = self._out = None
        self._warm = 0

    @property
    def captured(self) -> bool:
        return self._graph is not None

    def __call__(self, actions: Any) -> Any:
        if "step" in self._sim.__dict__:  # somebody watches the sim (Sim.view)
            return self._run(actions)
        if self._graph is None and not self.refused:
            self._warm += 1
            if self._warm == _WARM:
                out, waits = self._calls.watch(lambda: self._run(actions))
                self._refuse(waits)
                return out
            if self._warm > _WARM:
                self._capture(actions)
        if self._graph is None:
            return self._run(actions)
        if not self._stands():
            out = self._run(actions)
            return out if self._graph is None else fill(self._out, out)
        self._actions.copy_(actions)
        self._graph.replay()
        for array in self._written:
            array.mark_written()
        return self._out

    def _stands(self):
        """Whether the graph may be replayed now, which is announced (GRAPH-2)."""
        self._replays += 1
        if self._replays % _LOOK == 0:
            self._sim.faults()
            return False
        try:
            self._sim.replayed(self._recording)
        except stet.NotFoundError:
            self.drop()
            return False
        return True

    def _capture(self, actions):
        env, before = self._env, dict(vars(self._env))
        self._actions = actions.clone()
        self.capturing = True
        try:
            with nothing_collected():
                graph, out, recording = self._calls.capture(lambda: self._run(self._actions))
        except Exception as error:
            why = find_culprit(error)
        else:
            why = find_rebound(before, vars(env))
            if not why and not recording:
                why = "there was no memory for stet's part of it"
        finally:
            self.capturing = False
        if why:
            vars(env).clear()
            vars(env).update(before)
            self._refuse(why)
            return
        self._graph, self._out, self._recording = graph, out, recording
        self.captures += 1

    def _refuse(self, why):
        self.refused = why
        if why:
            warnings.warn(f"{type(self._env).__name__}: the step is not captured as one graph, and goes on launch by "
                          f"launch: {why}", RuntimeWarning, stacklevel=5)
