"""Runtimes, which models with the same options share, and devices."""

from __future__ import annotations

import atexit
import functools
import os
from typing import Any, List, Sequence, Tuple, Union

from . import _lamina, _tables
from ._lamina import Device

Path = Union[str, "os.PathLike[str]"]


@functools.lru_cache(maxsize=None)
def _runtime(plugin_folders: Tuple[str, ...], cache: bool, validation: bool) -> _lamina.Runtime:
    return _lamina.Runtime(list(plugin_folders), cache, validation)


atexit.register(_runtime.cache_clear)  # before the interpreter takes modules apart


def folders_of(plugin_folders: Union[Path, Sequence[Path]]) -> Tuple[str, ...]:
    folders = [plugin_folders] if isinstance(plugin_folders, (str, os.PathLike)) else plugin_folders
    return tuple(os.path.abspath(os.fspath(folder)) for folder in folders)


def runtime(
    plugin_folders: Union[Path, Sequence[Path]] = (), cache: bool = True, validation: bool = False
) -> _lamina.Runtime:
    """The runtime with these options."""
    return _runtime(folders_of(plugin_folders), cache, validation)


class Devices(Tuple[Device, ...]):
    """The devices of this machine, as a tuple that shows itself as a table."""

    no_vulkan: str = ""
    """Why there is no Vulkan device; empty if there is one."""

    _head = ("device", "name", "kind", "driver", "memory", "usable")

    def _rows(self) -> List[Tuple[Any, ...]]:
        gib = 2**30
        return [
            (d.id, d.name, d.kind, d.driver, f"{d.memory_bytes / gib:.1f} GiB" if d.memory_bytes else "", _usable(d))
            for d in self
        ]

    def __repr__(self) -> str:
        return _tables.as_text(self._head, self._rows())

    def _repr_html_(self) -> str:
        return _tables.as_html(self._head, self._rows(), self.no_vulkan and f"no Vulkan: {self.no_vulkan}")


def _usable(device: Device) -> str:
    return "no: " + "; ".join(device.unusable) if device.unusable else "yes"


def devices(*, plugin_folders: Union[Path, Sequence[Path]] = ()) -> Devices:
    """Every device of this machine, usable or not: Vulkan's in the loader's order, then the CPU."""
    found = runtime(plugin_folders)
    out = Devices(found.devices())
    out.no_vulkan = found.no_vulkan()
    return out
