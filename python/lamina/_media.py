"""What a model makes of audio and images."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterable, Iterator, List, Sequence, Union, overload

import numpy as np
import numpy.typing as npt

from . import _lamina
from ._arrays import as_input
from ._embedding import Vectors
from ._handle import Handle
from ._lamina import Audio, Image, LabelScore, Transcript
from ._options import GenerateOptions, ImageOptions, filled, generate_options
from ._runtime import Path
from ._texts import as_list

if TYPE_CHECKING:
    from typing_extensions import Unpack

Sound = Union[Path, Audio, npt.NDArray[Any]]
Picture = Union[Path, Image, npt.NDArray[Any]]
Labels = List[LabelScore]


class Media(Handle):
    # ---- Audio ----

    @overload
    def transcribe(
        self, audio: List[Sound], rate: int = 0, **options: Unpack[GenerateOptions]
    ) -> List[Transcript]: ...
    @overload
    def transcribe(self, audio: Sound, rate: int = 0, **options: Unpack[GenerateOptions]) -> Transcript: ...
    def transcribe(
        self, audio: Union[Sound, List[Sound]], rate: int = 0, **options: Any
    ) -> Union[Transcript, List[Transcript]]:
        """What is said in audio of any length, files or arrays: a `Transcript`, or of a list, a list of them.

        An array holds one channel, from -1 to 1; `rate` is its number of samples per second.
        """
        sounds = [_sound(each, rate) for each in (audio if isinstance(audio, list) else [audio])]
        with self._turn:
            found = _lamina.transcribe(self._session, sounds, generate_options(options))
        return found if isinstance(audio, list) else found[0]

    @overload
    async def transcribe_async(
        self, audio: List[Sound], rate: int = 0, **options: Unpack[GenerateOptions]
    ) -> List[Transcript]: ...
    @overload
    async def transcribe_async(
        self, audio: Sound, rate: int = 0, **options: Unpack[GenerateOptions]
    ) -> Transcript: ...
    async def transcribe_async(
        self, audio: Union[Sound, List[Sound]], rate: int = 0, **options: Any
    ) -> Union[Transcript, List[Transcript]]:
        """The same on a thread. A task that is cancelled ends the work within a step."""
        return await self._awaited(lambda: self.transcribe(audio, rate, **options))

    def listen(
        self, chunks: Iterable[npt.NDArray[Any]], **options: Unpack[GenerateOptions]
    ) -> Iterator[Transcript]:
        """Transcripts of speech as it comes: of each utterance, once a pause of half a second follows it.

        `chunks` are arrays of samples of one channel, from -1 to 1, at the model's rate, mostly 16,000 a second. Times
        count from the first sample.
        """
        with self._turn:
            listener = _lamina.Listener(self._session, generate_options(options))

        def said() -> Iterator[Transcript]:
            for chunk in chunks:
                samples = as_input("chunk", chunk)
                with self._turn:
                    found = listener.add(samples)
                yield from found
            with self._turn:
                found = listener.finish()
            yield from found

        return said()

    # ---- Images ----

    def embed_images(self, images: Union[Picture, List[Picture]], **options: Unpack[ImageOptions]) -> Vectors:
        """Vectors of images, as float32 (N, C); of a single image, (C,).

        Images are files, or arrays of uint8, (height, width, 3): red, green and blue.
        """
        given = [as_image(each) for each in (images if isinstance(images, list) else [images])]
        with self._turn:
            found: Vectors = _lamina.embed_images(self._session, given, filled(_lamina.ImageOptions(), options))
        return found if isinstance(images, list) else found[0]

    @overload
    def classify_images(
        self, images: List[Picture], labels: Sequence[str] = (), **options: Unpack[ImageOptions]
    ) -> List[Labels]: ...
    @overload
    def classify_images(
        self, images: Picture, labels: Sequence[str] = (), **options: Unpack[ImageOptions]
    ) -> Labels: ...
    def classify_images(
        self, images: Union[Picture, List[Picture]], labels: Sequence[str] = (), **options: Any
    ) -> Union[Labels, List[Labels]]:
        """The scores of all classes of each image, best first; with `labels`, how well each of these describes it."""
        given = [as_image(each) for each in (images if isinstance(images, list) else [images])]
        names = as_list(labels, "labels")
        with self._turn:
            if names:
                found = _lamina.match_images(self._session, given, names, filled(_lamina.ImageOptions(), options))
            else:
                found = _lamina.classify_images(self._session, given, filled(_lamina.ImageOptions(), options))
        return found if isinstance(images, list) else found[0]

    @overload
    def generate_from_images(self, images: List[Picture], **options: Unpack[GenerateOptions]) -> List[str]: ...
    @overload
    def generate_from_images(self, images: Picture, **options: Unpack[GenerateOptions]) -> str: ...
    def generate_from_images(self, images: Union[Picture, List[Picture]], **options: Any) -> Union[str, List[str]]:
        """What a model such as TrOCR writes of each image. The options are those of `lamina.GenerateOptions`."""
        given = [as_image(each) for each in (images if isinstance(images, list) else [images])]
        with self._turn:
            best = _lamina.generate_from_images(self._session, given, generate_options(options))
        found = [hypotheses[0].text for hypotheses in best]
        return found if isinstance(images, list) else found[0]

    @overload
    async def generate_from_images_async(
        self, images: List[Picture], **options: Unpack[GenerateOptions]
    ) -> List[str]: ...
    @overload
    async def generate_from_images_async(self, images: Picture, **options: Unpack[GenerateOptions]) -> str: ...
    async def generate_from_images_async(
        self, images: Union[Picture, List[Picture]], **options: Any
    ) -> Union[str, List[str]]:
        """The same on a thread. A task that is cancelled ends the generation within a step of its work."""
        return await self._awaited(lambda: self.generate_from_images(images, **options))


def _sound(audio: Sound, rate: int) -> Audio:
    if isinstance(audio, Audio):
        return audio
    if isinstance(audio, (str, os.PathLike)):
        return _lamina.read_audio(os.fspath(audio))
    if rate <= 0:
        raise TypeError("an array of samples needs its rate, in samples per second: transcribe(samples, rate=16000)")
    return Audio(as_input("audio", audio), rate)


def as_image(image: Picture) -> Image:
    if isinstance(image, Image):
        return image
    if isinstance(image, (str, os.PathLike)):
        return _lamina.read_image(os.fspath(image))
    pixels = np.asarray(image)
    if pixels.dtype != np.uint8 or pixels.ndim != 3:
        raise TypeError(f"expected an image as uint8 (height, width, 3), found {pixels.dtype} {pixels.shape}")
    return Image(np.ascontiguousarray(pixels))
