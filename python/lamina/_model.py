"""Models, and what they do."""

from __future__ import annotations

import os
import threading
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union, overload

import numpy as np
import numpy.typing as npt

from . import _lamina, _tables
from ._arrays import as_input
from ._lamina import Answer, Audio, Device, Graph, Hypothesis, Image, LabelScore, MaskedWord, TokenLabels, Transcript
from ._options import AnswerOptions, FillOptions, GenerateOptions, ImageOptions, MatchOptions, ReadOptions, filled
from ._runtime import Path, runtime
from ._stream import pieces

if TYPE_CHECKING:
    from typing_extensions import Unpack

Array = npt.NDArray[Any]
Vectors = npt.NDArray[np.float32]
Messages = Union[str, Sequence[Mapping[str, str]]]
Sound = Union[Path, Audio, Array]
Picture = Union[Path, Image, Array]


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
        "f32" or "f16": the numbers in which keys and values of earlier tokens are kept.
    fusion
        One layer may replace several where they stand together, if it passed its proof on the device and is faster.
    split
        How many of the model's layers each of several devices has; if empty, each as many as it has memory for, in
        their order. `Model.parts` says what came of it.
    max_memory
        How many bytes of each device may be filled so, if not all that is free.
    cache
        Remember in ~/.cache/lamina which kernels have been proved on a device, and how fast they are.
    validation
        Run under Vulkan's validation layers; their messages go to the logger "lamina".
    """
    shared = runtime(plugin_folders, cache, validation)
    how = How(dict(variants), precision, kv_cache, fusion, list(split), list(max_memory))
    return Model(shared, shared.load(os.fspath(path)), shared.device(device), how)


class Part(NamedTuple):
    """What a device has of a model."""

    device: Device
    layers: int
    """How many of the layers that repeat in the model."""
    first: str
    """The name of the first of them, such as "model.layers.0"; "" if there is none."""
    last: str


class How(NamedTuple):
    """What sessions of a model are made with."""

    variants: Dict[str, str]
    precision: str
    kv_cache: str
    fusion: bool
    split: List[int]
    max_memory: List[int]


class Model:
    """A model on a device. `load` makes it.

    Threads that use the same model take turns. While the device works, other threads of Python run.
    """

    def __init__(self, shared: _lamina.Runtime, model: _lamina.Model, device: Device, how: How) -> None:
        self._runtime, self._model, self._device = shared, model, device
        self._how = how
        self._turn = threading.RLock()
        self._session = self._open(keep_all=False)
        self._tapped: Optional[_lamina.Session] = None  # the session that keeps all tensors

    def _open(self, keep_all: bool) -> _lamina.Session:
        how = self._how
        return self._runtime.session(
            self._model,
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
        return self._model.name

    @property
    def path(self) -> FilePath:
        return self._model.folder

    @property
    def device(self) -> Device:
        """The device it runs on."""
        return self._device

    @property
    def parts(self) -> List[Part]:
        """What each of several devices has of the model; empty if there is one."""
        return [Part(*part) for part in self._session.parts]

    @property
    def graphs(self) -> Dict[str, Graph]:
        """What `run` runs: names of graphs, with their inputs, outputs and layers."""
        return _lamina.graphs(self._model)

    # ---- Text ----

    @overload
    def generate(self, texts: str, **options: Unpack[GenerateOptions]) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def generate(self, texts: Sequence[str], **options: Unpack[GenerateOptions]) -> List[str]: ...
    def generate(self, texts: Union[str, Sequence[str]], **options: Any) -> Union[str, List[str]]:
        """Generates a text from each text. The options are those of `lamina.GenerateOptions`."""
        found = [best[0].text if best else "" for best in self._generate(_list(texts), options)]
        return found[0] if isinstance(texts, str) else found

    def hypotheses(self, texts: Sequence[str], **options: Unpack[GenerateOptions]) -> List[List[Hypothesis]]:
        """All hypotheses of each text, best first, with tokens and probabilities: one for each of `beams`."""
        return self._generate(_list(texts), options)

    def _generate(self, texts: List[str], options: Mapping[str, Any]) -> List[List[Hypothesis]]:
        with self._turn:
            return _lamina.generate(self._session, texts, filled(_lamina.GenerateOptions(), options))

    def stream(self, text: str, **options: Unpack[GenerateOptions]) -> Iterator[str]:
        """Generates a text from a text, piece by piece as it comes. A loop that is left ends the generation.

        >>> for piece in model.stream("Once upon a time"):
        ...     print(piece, end="", flush=True)
        """
        return pieces(lambda give: self._generate([text], {**options, "stream": lambda _, piece: give(piece)}))

    def chat_prompt(self, messages: Messages) -> str:
        """A conversation as the text that the model was trained to continue, by its own template.

        Messages are as in OpenAI's API: [{"role": "user", "content": "Hello"}]. A string is what the user says.
        """
        said = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        return _lamina.chat_prompt(self._model, [(each["role"], each["content"]) for each in said])

    def chat(self, messages: Messages, **options: Unpack[GenerateOptions]) -> str:
        """The model's answer in a conversation, sampled as its makers suggest where the options do not say."""
        return self._generate([self.chat_prompt(messages)], self._chat_options(options))[0][0].text

    def stream_chat(self, messages: Messages, **options: Unpack[GenerateOptions]) -> Iterator[str]:
        """The same, piece by piece as it comes."""
        return self.stream(self.chat_prompt(messages), **self._chat_options(options))

    def _chat_options(self, options: Mapping[str, Any]) -> Dict[str, Any]:
        suggested = _lamina.suggested_options(self._model)
        of_template = {"special_tokens": False, "reuse": True, "max_length": 4096, "beams": 1}
        return {**of_template, **{name: getattr(suggested, name) for name in _lamina.sampling_options}, **options}

    # ---- Numbers of texts ----

    def embed(self, texts: Union[str, Sequence[str]], **options: Unpack[ReadOptions]) -> Vectors:
        """Vectors of texts, as float32 (N, C); of a single text, (C,)."""
        with self._turn:
            found: Vectors = _lamina.embed(self._session, _list(texts), filled(_lamina.ReadOptions(), options))
        return found[0] if isinstance(texts, str) else found

    @overload
    def classify(self, texts: str, **options: Unpack[ReadOptions]) -> List[LabelScore]: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, texts: Sequence[str], **options: Unpack[ReadOptions]) -> List[List[LabelScore]]: ...
    def classify(self, texts: Union[str, Sequence[str]], **options: Any) -> Any:
        """The scores of all classes of each text, best first."""
        with self._turn:
            found = _lamina.classify(self._session, _list(texts), filled(_lamina.ReadOptions(), options))
        return found[0] if isinstance(texts, str) else found

    def classify_pairs(self, pairs: Sequence[Tuple[str, str]], **options: Unpack[ReadOptions]) -> List[List[LabelScore]]:
        """The same for texts that are read together: a question and a document, a premise and a hypothesis."""
        with self._turn:
            given = [(first, second) for first, second in pairs]
            read_as = filled(_lamina.ReadOptions(), options)
            found: List[List[LabelScore]] = _lamina.classify_pairs(self._session, given, read_as)
        return found

    def answer(self, pairs: Sequence[Tuple[str, str]], **options: Unpack[AnswerOptions]) -> List[List[Answer]]:
        """The likeliest answers to questions, best first. Each pair is a question, and a text with the answer."""
        with self._turn:
            given = [(question, text) for question, text in pairs]
            read_as = filled(_lamina.AnswerOptions(), options)
            found: List[List[Answer]] = _lamina.answer(self._session, given, read_as)
        return found

    @overload
    def fill_masks(self, texts: str, **options: Unpack[FillOptions]) -> List[MaskedWord]: ...  # type: ignore[overload-overlap]
    @overload
    def fill_masks(self, texts: Sequence[str], **options: Unpack[FillOptions]) -> List[List[MaskedWord]]: ...
    def fill_masks(self, texts: Union[str, Sequence[str]], **options: Any) -> Any:
        """The likeliest words for each mask of a text, such as "<mask>" or "[MASK]", best first."""
        with self._turn:
            found = _lamina.fill_masks(self._session, _list(texts), filled(_lamina.FillOptions(), options))
        return found[0] if isinstance(texts, str) else found

    @overload
    def match_texts(
        self, texts: str, labels: Sequence[str], **options: Unpack[MatchOptions]  # type: ignore[overload-overlap]
    ) -> List[LabelScore]: ...
    @overload
    def match_texts(
        self, texts: Sequence[str], labels: Sequence[str], **options: Unpack[MatchOptions]
    ) -> List[List[LabelScore]]: ...
    def match_texts(self, texts: Union[str, Sequence[str]], labels: Sequence[str], **options: Any) -> Any:
        """How likely each of these labels describes a text, best first.

        The model must say whether one text follows from another, as those trained on MNLI do.
        """
        with self._turn:
            found = _lamina.match_texts(
                self._session, _list(texts), _list(labels), filled(_lamina.MatchOptions(), options)
            )
        return found[0] if isinstance(texts, str) else found

    @overload
    def label_tokens(self, texts: str, **options: Unpack[ReadOptions]) -> List[TokenLabels]: ...  # type: ignore[overload-overlap]
    @overload
    def label_tokens(self, texts: Sequence[str], **options: Unpack[ReadOptions]) -> List[List[TokenLabels]]: ...
    def label_tokens(self, texts: Union[str, Sequence[str]], **options: Any) -> Any:
        """The tokens of each text, each with the scores of its classes, best first."""
        with self._turn:
            found = _lamina.label_tokens(self._session, _list(texts), filled(_lamina.ReadOptions(), options))
        return found[0] if isinstance(texts, str) else found

    def tokenize(self, texts: Union[str, Sequence[str]]) -> Any:
        """The token ids of texts: a list of integers for each."""
        found = _lamina.tokenize(self._model, _list(texts))
        return found[0] if isinstance(texts, str) else found

    # ---- Audio ----

    def transcribe(self, audio: Union[Sound, List[Sound]], rate: int = 0, **options: Unpack[GenerateOptions]) -> Any:
        """What is said in audio of any length: a `Transcript` of a file or an array, a list of them for a list.

        An array holds one channel, from -1 to 1; `rate` is its number of samples per second.
        """
        sounds = [_sound(each, rate) for each in (audio if isinstance(audio, list) else [audio])]
        with self._turn:
            found: List[Transcript] = _lamina.transcribe(
                self._session, sounds, filled(_lamina.GenerateOptions(), options)
            )
        return found if isinstance(audio, list) else found[0]

    # ---- Images ----

    def embed_images(self, images: Union[Picture, List[Picture]], **options: Unpack[ImageOptions]) -> Vectors:
        """Vectors of images, as float32 (N, C); of a single image, (C,).

        Images are files, or arrays of uint8, (height, width, 3): red, green and blue.
        """
        given = [_image(each) for each in (images if isinstance(images, list) else [images])]
        with self._turn:
            found: Vectors = _lamina.embed_images(self._session, given, filled(_lamina.ImageOptions(), options))
        return found if isinstance(images, list) else found[0]

    @overload
    def classify_images(
        self, images: List[Picture], labels: Sequence[str] = (), **options: Unpack[ImageOptions]
    ) -> List[List[LabelScore]]: ...
    @overload
    def classify_images(
        self, images: Picture, labels: Sequence[str] = (), **options: Unpack[ImageOptions]
    ) -> List[LabelScore]: ...
    def classify_images(
        self, images: Union[Picture, List[Picture]], labels: Sequence[str] = (), **options: Any
    ) -> Any:
        """The scores of all classes of each image, best first; with `labels`, how well each of these describes it."""
        given = [_image(each) for each in (images if isinstance(images, list) else [images])]
        read_as = filled(_lamina.ImageOptions(), options)
        with self._turn:
            if labels:
                found = _lamina.match_images(self._session, given, _list(labels), read_as)
            else:
                found = _lamina.classify_images(self._session, given, read_as)
        return found if isinstance(images, list) else found[0]

    # ---- Tensors ----

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
            found: Dict[str, Array] = session.run(graph, given, _list(taps))
            return found

    def _keeping_all(self) -> _lamina.Session:
        if self._tapped is None:
            self._tapped = self._open(keep_all=True)
        return self._tapped

    def __repr__(self) -> str:
        return f"<lamina.Model {self.name} on {self.device.id}>"

    def _repr_html_(self) -> str:
        rows: List[Tuple[Any, ...]] = [
            (name, len(graph.layers), ", ".join(map(repr, graph.inputs)), ", ".join(graph.outputs))
            for name, graph in self.graphs.items()
        ]
        caption = f"{self.name} on {self.device.id} ({self.device.name})"
        return _tables.as_html(("graph", "layers", "inputs", "outputs"), rows, caption)


def _list(texts: Union[str, Sequence[str]]) -> List[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _sound(audio: Sound, rate: int) -> Audio:
    if isinstance(audio, Audio):
        return audio
    if isinstance(audio, (str, os.PathLike)):
        return _lamina.read_audio(os.fspath(audio))
    if rate <= 0:
        raise TypeError("an array of samples needs its rate, in samples per second: transcribe(samples, rate=16000)")
    return Audio(as_input("audio", audio), rate)


def _image(image: Picture) -> Image:
    if isinstance(image, Image):
        return image
    if isinstance(image, (str, os.PathLike)):
        return _lamina.read_image(os.fspath(image))
    pixels = np.asarray(image)
    if pixels.dtype != np.uint8 or pixels.ndim != 3:
        raise TypeError(f"expected an image as uint8 (height, width, 3), found {pixels.dtype} {pixels.shape}")
    return Image(np.ascontiguousarray(pixels))
