"""An iterator over what a function gives to a callback."""

from __future__ import annotations

import queue
import threading
from typing import Any, Callable, Iterator


class _Left(Exception):
    """Nobody waits for more pieces."""


def pieces(work: Callable[[Callable[[str], None]], Any]) -> Iterator[str]:
    """Runs work(give) on a thread of its own, and yields what it gives. If the loop is left, give() raises."""
    given: queue.SimpleQueue[Any] = queue.SimpleQueue()
    left = threading.Event()

    def give(piece: str) -> None:
        if left.is_set():
            raise _Left
        given.put(("piece", piece))

    def run() -> None:
        try:
            work(give)
            given.put(("end", None))
        except BaseException as error:  # raised again where the pieces are read
            given.put(("error", error))

    thread = threading.Thread(target=run, name="lamina stream")
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
        thread.join()
