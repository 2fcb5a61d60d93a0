"""A bar that shows how far work is."""

from __future__ import annotations

import contextlib
from typing import Callable, Iterator, Optional

from ._errors import UsageError

Progress = Callable[[int, int], None]


@contextlib.contextmanager
def bar(wanted: bool, total: int, what: str, also: Optional[Progress] = None) -> Iterator[Optional[Progress]]:
    """What to pass as `progress`: it moves a bar of the package tqdm, if one is wanted, and calls `also`."""
    if not wanted:
        yield also
        return
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise UsageError("show_progress: the package tqdm is not installed; 'pip install tqdm', or pass progress=") from None
    with tqdm(total=total, desc=what, unit="text") as shown:

        def move(done: int, all: int) -> None:
            shown.update(done - shown.n)
            if also is not None:
                also(done, all)

        yield move
