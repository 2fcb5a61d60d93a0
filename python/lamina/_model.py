"""Models, and how they are loaded."""

from __future__ import annotations

import html
import os
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Sequence, Tuple, TypeVar, Union

import numpy.typing as npt

from . import _lamina, _tables
from ._arrays import as_input
from ._generation import Generation
from ._handle import How, Loaded
from ._lamina import Device, Graph
from ._media import Media
from ._pages import Pages
from ._reading import Reading
from ._runtime import Path, folders_of
from ._texts import as_list

Array = npt.NDArray[Any]
Self = TypeVar("Self", bound="Model")


def adapters_of(lora: Union[Path, Sequence[Path], Mapping[Path, float]]) -> Tuple[Tuple[str, float], ...]:
    """Absolute paths, or names of models, with how strong each is."""

    def known(path: Path) -> str:
        return os.path.abspath(path) if os.path.exists(path) else os.fspath(path)

    if isinstance(lora, (str, os.PathLike)):
        return ((known(lora), 1.0),)
    if isinstance(lora, Mapping):
        return tuple((known(path), float(scale)) for path, scale in lora.items())
    return tuple((known(path), 1.0) for path in lora)


def load(
    path: Path,
    device: str = "auto",
    *,
    plugin_folders: Union[Path, Sequence[Path]] = (),
    variants: Mapping[str, str] = {},
    precision: str = "full",
    kv_cache: str = "f32",
    fusion: bool = True,
    split: Sequence[int] = (),
    max_memory: Sequence[int] = (),
    lora: Union[Path, Sequence[Path], Mapping[Path, float]] = (),
    mmproj: Path = "",
    draft: Path = "",
    cache: bool = True,
    validation: bool = False,
) -> Model:
    """Loads a model: a Hugging Face folder, a GGUF file, or a model folder of Lamina.

    device
        "auto", "cpu", "vulkan:0", "uuid:..." or "reference". "auto" prefers a GPU, and never takes a software driver.
        "vulkan:0,vulkan:1,cpu": several, for the layers of one model.
    plugin_folders
        Where else to look for layers, before $LAMINA_PLUGIN_PATH and those that come with Lamina.
    variants
        The variant of a layer that is to compute it, by layer; of other layers, the fastest.
    precision
        "full", "half" or "int8": how exact matrix products take activations, as floats, in 16 bits or in 8. Fewer are
        faster where a layer has kernels for them.
    kv_cache
        "f32", "f16" or "q8_0": the numbers in which keys and values of earlier tokens are kept. f16 takes half the
        memory, q8_0 about a quarter.
    fusion
        One layer may replace several where they stand together, if it passed its proof on the device and is faster.
    split
        How many of the model's layers each of several devices has; if empty, each as many as it has memory for, in
        their order. `Model.parts` says what came of it.
    max_memory
        How many bytes of each device may be filled so, if not all that is free.
    lora
        Adapters to merge into the model: folders of PEFT, or GGUF files for a model in a GGUF file; with how strong each
        is, {"adapter": 0.5}, or as they were trained.
    mmproj
        The projector of a GGUF file, which reads images for it. By default it is the file *mmproj*.gguf beside the model,
        if there is one that fits.
    draft
        A smaller model with the same vocabulary, which guesses what a text goes on with that is written alone. Several
        tokens are then checked in one step, as long as that is faster; the text is the same.
    cache
        Remember in ~/.cache/lamina which kernels have been proved on a device, and how fast they are.
    validation
        Run under Vulkan's validation layers; their messages go to the logger "lamina".
    """
    given = os.fspath(path)
    known = os.path.abspath(given) if os.path.exists(given) else given  # or the name of a model
    how = How(dict(variants), precision, kv_cache, fusion, list(split), list(max_memory))
    guesses = os.path.abspath(draft) if os.path.exists(draft) else os.fspath(draft)
    projector = os.path.abspath(mmproj) if os.fspath(mmproj) else ""
    folders = folders_of(plugin_folders)
    return Model(Loaded(known, device, folders, cache, validation, how, adapters_of(lora), guesses, projector))


class Part(NamedTuple):
    """What a device has of a model."""

    device: Device
    layers: int
    """How many of the layers that repeat in the model."""
    first: str
    """The name of the first of them, such as "model.layers.0"; "" if there is none."""
    last: str


class Model(Generation, Reading, Media, Pages):
    """A model on a device. `load` makes it, and `close` or `with` frees its memory.

    Threads that use the same model take turns. While the device works, other threads of Python run. Methods that end in
    `_async` are for asyncio. A pickled model is loaded again where it arrives, with the same options.
    """

    def __enter__(self: Self) -> Self:
        self._opened()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Tuple[Callable[[Loaded], Model], Tuple[Loaded]]:
        self._opened()
        return Model, (self._loaded,)

    @property
    def parts(self) -> List[Part]:
        """What each of several devices has of the model; empty if there is one."""
        return [Part(*part) for part in self._session.parts]

    @property
    def graphs(self) -> Dict[str, Graph]:
        """What `run` runs: names of graphs, with their inputs, outputs and layers."""
        return _lamina.graphs(self._model)

    def run(
        self, graph: str, inputs: Mapping[str, Any] = {}, /, *, taps: Sequence[str] = (), **arrays: Any
    ) -> Dict[str, Array]:
        """Runs a graph on arrays, given by the names of its inputs, and returns its outputs by name.

        Inputs may be NumPy arrays, lists of numbers, or arrays of any library that has DLPack. Outputs hold the memory
        into which the results came, so np.from_dlpack, torch.from_dlpack and others share it without a copy.

        `taps` names more tensors to return: outputs of layers, with "*" and "?" as in a shell. The first call with taps
        opens the model a second time, with room for all of its tensors.
        """
        given = {name: as_input(name, value) for name, value in {**inputs, **arrays}.items()}
        with self._turn:
            session = self._keeping_all() if taps else self._session
            found: Dict[str, Array] = session.run(graph, given, as_list(taps, "taps"))
            return found

    def __repr__(self) -> str:
        return f"<lamina.Model {self.name}{', closed' if self.closed else f' on {self.device.id}'}>"

    def _repr_html_(self) -> str:
        if self.closed:
            return html.escape(repr(self))
        rows: List[Tuple[Any, ...]] = [
            (name, len(graph.layers), ", ".join(map(repr, graph.inputs)), ", ".join(graph.outputs))
            for name, graph in self.graphs.items()
        ]
        caption = f"{self.name} on {self.device.id} ({self.device.name})"
        return _tables.as_html(("graph", "layers", "inputs", "outputs"), rows, caption)
