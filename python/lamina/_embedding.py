"""Vectors of texts, with the options that embedding models have elsewhere."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

import numpy as np
import numpy.typing as npt

from . import _lamina
from ._errors import UsageError
from ._options import EmbedOptions, expect_known, filled
from ._progress import bar

Vectors = npt.NDArray[np.float32]


def embed(model: _lamina.Model, session: _lamina.Session, texts: List[str], options: Mapping[str, Any]) -> Vectors:
    """(N, C). The options are those of `EmbedOptions`; None is as if one was not given."""
    expect_known(options, list(EmbedOptions.__annotations__))
    given: Dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    normalize, dimensions = given.pop("normalize", None), given.pop("dimensions", None)
    if "batch_size" in given:
        if "batch" in given:
            raise TypeError("batch and batch_size are two names of one option; expected one of them")
        given["batch"] = given.pop("batch_size")
    name_prompts(model, given)
    with bar(given.pop("show_progress", False), len(texts), "embed", given.pop("progress", None)) as progress:
        if progress is not None:
            given["progress"] = progress
        found: Vectors = _lamina.embed(session, texts, filled(_lamina.ReadOptions(), given))
    return _shaped(found, normalize, dimensions)


def name_prompts(model: _lamina.Model, given: Dict[str, Any]) -> None:
    """Renames the options of prompts to those of ReadOptions, of which `prompt` is a name."""
    if "prompt" in given:
        given["prompt_text"] = _prompt_text(model, given.pop("prompt"))
    if "prompt_name" in given:
        given["prompt"] = given.pop("prompt_name")


def _prompt_text(model: _lamina.Model, text: str) -> str:
    known = _lamina.prompts(model)
    if text in known and text != known[text]:
        raise UsageError(
            f"prompt={text!r}: this is the name of a prompt of the model, {known[text]!r}; pass prompt_name={text!r}, "
            "or its text as prompt"
        )
    return text


def _shaped(found: Vectors, normalize: Optional[bool], dimensions: Optional[int]) -> Vectors:
    """The first `dimensions` of each vector, which has the length 1 again if it had."""
    if dimensions is not None:
        width = found.shape[1]
        if isinstance(dimensions, bool) or not isinstance(dimensions, (int, np.integer)) or not 1 <= dimensions <= width:
            raise UsageError(f"dimensions: expected a number from 1 to {width}, found {dimensions!r}")
        if normalize is None:
            normalize = bool(len(found)) and bool(np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-3))
        found = found[:, :dimensions]
    if normalize:
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        found = np.divide(found, np.maximum(lengths, 1e-12), dtype=np.float32)
    return found
