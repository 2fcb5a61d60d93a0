"""A model that is open on a device: how it was loaded, who uses it, and how it is closed."""

from __future__ import annotations

import threading
from pathlib import Path as FilePath
from typing import AsyncIterator, Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple, TypeVar

from . import _lamina
from ._errors import Stopped, UsageError
from ._lamina import Device
from ._runtime import runtime
from ._stream import Thread, pieces, pieces_async

Found = TypeVar("Found")


class How(NamedTuple):
    """What sessions of a model are made with."""

    variants: Dict[str, str]
    precision: str
    kv_cache: str
    fusion: bool
    split: List[int]
    max_memory: List[int]


class Loaded(NamedTuple):
    """What `load` was asked for: enough to do it again, in another process."""

    path: str
    device: str
    plugin_folders: Tuple[str, ...]
    cache: bool
    validation: bool
    how: How
    lora: Tuple[Tuple[str, float], ...] = ()
    draft: str = ""
    mmproj: str = ""


class Open(NamedTuple):
    """What holds memory."""

    model: _lamina.Model
    session: _lamina.Session


class Handle:
    """What all parts of `Model` stand on."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded, self._how = loaded, loaded.how
        self._runtime = runtime(loaded.plugin_folders, loaded.cache, loaded.validation)
        model = self._runtime.load(loaded.path, loaded.lora, loaded.mmproj)
        self._name, self._path = model.name, model.folder
        self._device = self._runtime.device(loaded.device)
        self._turn = threading.RLock()
        self._thread = Thread()
        self._stops: Set[_lamina.Stop] = set()  # of streams and of what is awaited
        self._open: Optional[Open] = Open(model, self._made(model, keep_all=False))
        if loaded.draft:
            first = self._runtime.device(self._device.id.split(",")[0])
            how, draft = self._how, self._runtime.load(loaded.draft)
            self._open.session.use_draft(
                self._runtime.session(draft, first, {}, False, how.fusion, how.precision, how.kv_cache, [], [])
            )
        self._tapped: Optional[_lamina.Session] = None  # the session that keeps all tensors

    def _made(self, model: _lamina.Model, keep_all: bool) -> _lamina.Session:
        how = self._how
        return self._runtime.session(
            model,
            self._device,
            how.variants,
            keep_all,
            how.fusion,
            how.precision,
            how.kv_cache,
            how.split,
            how.max_memory,
        )

    @property
    def name(self) -> str:
        return self._name

    @property
    def path(self) -> FilePath:
        return self._path

    @property
    def device(self) -> Device:
        """The device it runs on."""
        return self._device

    # ---- Its end ----

    @property
    def closed(self) -> bool:
        return self._open is None

    def close(self) -> None:
        """Frees the memory of the model, on its device and here. A closed model can only be loaded again.

        Streams and what is awaited end within a step of their work. Other calls are waited for. `with` closes, too:

        >>> with lamina.load("MODEL") as model:
        ...     vectors = model.embed(texts)
        """
        for stop in list(self._stops):
            stop.set()
        with self._turn:
            self._open = self._tapped = None
        self._thread.end()

    def _opened(self) -> Open:
        now = self._open
        if now is None:
            raise UsageError(f"the model {self._name} is closed: load it again")
        return now

    @property
    def _model(self) -> _lamina.Model:
        return self._opened().model

    @property
    def _session(self) -> _lamina.Session:
        return self._opened().session

    def _keeping_all(self) -> _lamina.Session:
        if self._tapped is None:
            self._tapped = self._made(self._model, keep_all=True)
        return self._tapped

    # ---- Work that is not waited for ----

    def _pieces(self, work: Callable[[Callable[[str], None]], object]) -> Iterator[str]:
        stop = _lamina.Stop()
        self._stops.add(stop)
        try:
            yield from pieces(work, stop)
        except Stopped:
            raise UsageError(f"the model {self._name} was closed while it generated") from None
        finally:
            self._stops.discard(stop)

    async def _awaited(self, work: Callable[[], Found]) -> Found:
        self._opened()
        stop = _lamina.Stop()
        self._stops.add(stop)
        try:
            return await self._thread.awaited(work, stop)
        except Stopped:
            raise UsageError(f"the model {self._name} was closed while it was at work") from None
        finally:
            self._stops.discard(stop)

    def _pieces_async(self, work: Callable[[Callable[[str], None]], object]) -> AsyncIterator[str]:
        return pieces_async(work, self._awaited)
