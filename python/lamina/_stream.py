"""Work on threads: what a function gives to a callback, piece by piece, and what is awaited."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextvars
import os
import queue
import threading
from typing import Any, AsyncIterator, Awaitable, Callable, Iterator, List, Optional, Set, TypeVar

from . import _lamina

Found = TypeVar("Found")

_stops: Set[_lamina.Stop] = set()  # of the threads of `pieces`, which nobody waits for when the program ends


def _stop_all() -> None:
    for stop in list(_stops):
        stop.set()


# Python waits for its threads before it ends, daemons excepted: their calls are ended then.
getattr(threading, "_register_atexit", atexit.register)(_stop_all)
atexit.register(_lamina.end_calls)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lamina.forget_calls)
Work = Callable[[Callable[[str], None]], object]


def pieces(work: Work, stop: _lamina.Stop) -> Iterator[str]:
    """Runs work(give) on a thread of its own, and yields what it gives. If the loop is left, the work ends."""
    given: queue.SimpleQueue[Any] = queue.SimpleQueue()
    left = threading.Event()

    def run() -> None:
        try:
            _lamina.stoppable(stop, lambda: work(lambda piece: given.put(("piece", piece))))
            given.put(("end", None))
        except BaseException as error:  # raised again where the pieces are read
            if not left.is_set():
                given.put(("error", error))

    thread = threading.Thread(target=run, name="lamina stream")
    _stops.add(stop)
    thread.start()
    try:
        while True:
            kind, value = given.get()
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        left.set()
        stop.set()
        thread.join()
        _stops.discard(stop)


class Thread:
    """Does the work that is awaited of one model: one after the other, as its calls take turns anyway."""

    def __init__(self) -> None:
        self._pool: Optional[concurrent.futures.ThreadPoolExecutor] = None

    async def awaited(self, work: Callable[[], Found], stop: _lamina.Stop) -> Found:
        """work(), which ends within a step if the task is cancelled, and never begins if it has not begun."""
        if self._pool is None:
            self._pool = concurrent.futures.ThreadPoolExecutor(1, "lamina await")
        found: List[Found] = []
        run = contextvars.copy_context().run
        future = self._pool.submit(run, _lamina.stoppable, stop, lambda: found.append(work()))
        try:
            await asyncio.wrap_future(future)
        finally:
            stop.set()
        return found[0]

    def end(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None


async def pieces_async(
    work: Work, awaited: Callable[[Callable[[], object]], Awaitable[object]]
) -> AsyncIterator[str]:
    """The same as `pieces`, for `async for`."""
    loop = asyncio.get_running_loop()
    given: asyncio.Queue[Optional[str]] = asyncio.Queue()  # None: the end

    def give(piece: str) -> None:
        loop.call_soon_threadsafe(given.put_nowait, piece)

    async def whole() -> None:
        try:
            await awaited(lambda: work(give))
        finally:
            given.put_nowait(None)

    task = asyncio.ensure_future(whole())
    try:
        piece = await given.get()
        while piece is not None:
            yield piece
            piece = await given.get()
        await task
    finally:
        if task.done() and not task.cancelled():
            task.exception()  # so that asyncio does not report it where the loop was left
        task.cancel()
