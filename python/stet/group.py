"""Processes that share the worlds of a run: stet.Group.

    group = stet.Group(4096)                    # of mpirun -n 8 python …
    group = stet.Group.torch(4096)              # of torchrun --nproc-per-node 8 …, after init_process_group
    with stet.Sim(scene, group=group, device=f"cuda:{local_rank}") as sim:
        sim.step(10)
        everything = group.gather(sim.qpos)     # on rank 0, else None
"""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from . import _core
from ._errors import InvalidArgumentError

if TYPE_CHECKING:
    from .sim import Sim


class Transport(Protocol):
    """How bytes cross between processes. All of them make the same calls in one order."""

    rank: int
    nrank: int

    def all_gather(self, data: bytes) -> bytes:
        """The data of each rank, one after the other."""

    def broadcast(self, data: bytes, root: int) -> bytes:
        """Those of rank `root`."""

    def send(self, data: bytes, to: int) -> None:
        """One message, which the other rank waits for."""

    def receive(self, size: int, source: int) -> bytes:
        """That message."""


class _Torch:
    """torch.distributed's, over host memory: the bytes are few, except for gathered arrays, which end on the host."""

    def __init__(self, group) -> None:
        import torch.distributed as dist

        if not dist.is_initialized():
            raise InvalidArgumentError("Group.torch: call torch.distributed.init_process_group first")
        self._dist = dist
        # NCCL moves memory of GPUs alone; gloo is PyTorch's own for the host.
        self._group = dist.new_group(backend="gloo") if group is None else group
        self.rank, self.nrank = dist.get_rank(self._group), dist.get_world_size(self._group)

    def _tensor(self, data):
        import torch

        return torch.frombuffer(bytearray(data), dtype=torch.uint8)

    def _other(self, rank):
        return self._dist.get_global_rank(self._group, rank)

    def all_gather(self, data):
        own = self._tensor(data)
        out = [own.new_empty(len(data)) for _ in range(self.nrank)]
        self._dist.all_gather(out, own, group=self._group)
        return b"".join(one.numpy().tobytes() for one in out)

    def broadcast(self, data, root):
        tensor = self._tensor(data)
        self._dist.broadcast(tensor, self._other(root), group=self._group)
        return tensor.numpy().tobytes()

    def send(self, data, to):
        self._dist.send(self._tensor(data), self._other(to), group=self._group)

    def receive(self, size, source):
        tensor = self._tensor(bytes(size))
        self._dist.recv(tensor, self._other(source), group=self._group)
        return tensor.numpy().tobytes()


def _host(x) -> np.ndarray:
    return np.ascontiguousarray(x.numpy() if isinstance(x, _core.Array) else x)


def _nccl(sim) -> str | None:
    """The NCCL that came as a package, as with PyTorch: a process should have one NCCL."""
    packages = importlib.util.find_spec("nvidia")
    if os.environ.get("STET_NCCL") or sim.device.type != "cuda" or packages is None:
        return None
    for folder in packages.submodule_search_locations or ():
        for file in (Path(folder, part, "lib", "libnccl.so.2") for part in ("nccl", "cu13")):
            if file.exists():
                return str(file)
    return None


class Group(_core.GroupBase):
    """Processes ("ranks") that share the worlds of a run: each has a block of them in a sim of its own, and worlds,
    sums and hashes have the same bits for any number of ranks.

    worlds       of the whole run
    transport    how bytes cross (Transport); None: MPI, whose launcher started the processes. Group.torch: PyTorch's
    own          this rank's worlds; None: an even share

    All methods but `fail` are called by all ranks, in one order; a rank waits in them for the others. If a rank calls
    another one, or has failed, all raise the same StateError.
    """

    def __init__(self, worlds: int, transport: Transport | None = None, own: int | None = None) -> None:
        super().__init__(int(worlds), transport, -1 if own is None else int(own))

    @classmethod
    def torch(cls, worlds: int, group=None, own: int | None = None) -> Group:
        """Of the processes of torch.distributed (torchrun), or of one of its groups, over gloo."""
        return cls(worlds, _Torch(group), own)

    def link(self, sim: Sim, library: str | os.PathLike[str] | None = None) -> str:
        """From now on arrays of the sim's device cross from GPU to GPU, where all processes have GPUs, each its own,
        and NVIDIA's NCCL (AMD's RCCL): returns its version. Without it they cross by MPI, where that takes memory of
        GPUs: "GPU-aware transport, because …", or "host memory, because …".

        library    its file; None: what the environment's STET_NCCL names, PyTorch's, or the system's
        """
        return self._link(sim, _nccl(sim) if library is None else os.fspath(library))

    def share(self, data: bytes) -> list[bytes]:
        """What each rank gives; equally many bytes of all."""
        all_of_them = self._share(bytes(data))
        return [all_of_them[k * len(data) : (k + 1) * len(data)] for k in range(self.nrank)]

    def _rows(self, what: str, x) -> np.ndarray:
        x = _host(x)
        if x.ndim < 1 or x.shape[0] != self.own:
            raise InvalidArgumentError(f"{what}: the shape is {x.shape}; this process has {self.own} worlds")
        return x

    def gather(self, x) -> np.ndarray | None:
        """Puts x [own, …] of all ranks together, in the order of the worlds: [worlds, …] on rank 0, else None."""
        x = self._rows("gather", x)
        everything = self._gather(x.tobytes(), x.dtype.itemsize * int(np.prod(x.shape[1:])))
        return None if everything is None else np.frombuffer(everything, x.dtype).reshape(self.worlds, *x.shape[1:])

    def scatter(self, x=None) -> np.ndarray:
        """The reverse: of x [worlds, …] of rank 0, this rank's worlds."""
        head = b""
        if self.rank == 0:
            x = _host(x)
            if x.ndim < 1 or x.shape[0] != self.worlds:
                raise InvalidArgumentError(f"scatter: the shape is {x.shape}; the run has {self.worlds} worlds")
            head = json.dumps([x.dtype.str, x.shape[1:]]).encode()
        dtype, shape = json.loads(self.share(head.ljust(256))[0])
        item = np.dtype(dtype).itemsize * int(np.prod(shape))
        own = self._scatter(x.tobytes() if self.rank == 0 else b"", item)
        return np.frombuffer(own, dtype).reshape(self.own, *shape).copy()

    def sum(self, x) -> np.ndarray:
        """The sum of x [own, …] over all worlds of the run, in float64, on all ranks: added pairwise along a binary
        tree over the worlds' numbers, so that its bits do not depend on the ranks.
        """
        x = self._rows("sum", x).astype(np.float64)
        n = int(np.prod(x.shape[1:]))
        return np.frombuffer(self._sum(x.tobytes(), n)).reshape(x.shape[1:]).copy()

    def hash_frame(self, sim: Sim, frame: int = -1) -> int:
        """The hash of a frame of all worlds, as one sim of them all has it; -1: the present picture."""
        return self._hash_frame(sim, frame)

    def save(self, sim: Sim, path: str | os.PathLike[str]) -> None:
        """Writes the state of all worlds to one file (rank 0 does), which any number of ranks can resume."""
        self._save(sim, os.fspath(path))

    def resume(self, sim: Sim, path: str | os.PathLike[str]) -> None:
        """Goes on with a saved state of the whole run; each rank reads its worlds."""
        self._resume(sim, os.fspath(path))
