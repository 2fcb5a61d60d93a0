"""What callers pass as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import InputError


def as_input(name: str, value: Any) -> npt.NDArray[Any]:
    """A dense array of float32 or int32, without a copy where it is one already.

    Takes what NumPy takes, and arrays of any library that has DLPack, such as PyTorch's tensors. Floats become float32,
    integers and booleans int32.
    """
    try:
        dlpack = hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray)
        array = np.from_dlpack(value) if dlpack else np.asarray(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"'{name}': expected an array in host memory: {error}") from error
    if array.dtype.kind == "f":
        return np.ascontiguousarray(array, np.float32)
    if array.dtype.kind in "biu":
        limits = np.iinfo(np.int32)
        if array.dtype.itemsize > 2 and array.size and (array.min() < limits.min or array.max() > limits.max):
            worst = array.max() if array.max() > limits.max else array.min()
            raise InputError(f"'{name}': {worst} does not fit int32")
        return np.ascontiguousarray(array, np.int32)
    raise InputError(f"'{name}': expected numbers, found an array of {array.dtype}")
