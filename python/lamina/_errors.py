"""The exceptions. Their messages are those of the library and of the command."""

from __future__ import annotations


class Error(RuntimeError):
    """Something went wrong: a file that cannot be written, or a defect. Base class of all errors of Lamina."""

    code: int = 1
    """The exit status that the `lamina` command has for it."""


class UsageError(Error, ValueError):
    """An argument that makes no sense here."""

    code = 2


class InputError(Error, ValueError):
    """A bad model, array, text or audio file."""

    code = 3


class NoDeviceError(Error):
    """There is no such device, or it cannot run this."""

    code = 4


class OutOfMemoryError(Error, MemoryError):
    """Memory ran out, of the device or of the host."""

    code = 5


class DeviceLostError(Error):
    """The device stopped answering."""

    code = 6


class ToleranceError(Error, AssertionError):
    """A comparison or a check found a difference beyond tolerance, or nothing was checked."""

    code = 7


class PluginError(Error):
    """A plugin is missing, broken, or breaks its contract."""

    code = 8


class UnprovenError(Error):
    """No kernel of a layer has passed its proof on the device."""

    code = 9


class Stopped(Exception):
    """Nobody waits for the result of a call any more. Callers never see it."""


BY_CODE = {
    each.code: each
    for each in (
        Error,
        UsageError,
        InputError,
        NoDeviceError,
        OutOfMemoryError,
        DeviceLostError,
        ToleranceError,
        PluginError,
        UnprovenError,
    )
}
