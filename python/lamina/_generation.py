"""Texts that a model writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, Iterator, List, Mapping, Sequence, Union, overload

from . import _lamina
from ._handle import Handle
from ._lamina import Hypothesis
from ._media import as_image
from ._options import GenerateOptions, expect_effect, generate_options
from ._texts import Messages, as_list, as_messages, as_text, images_in, parts_as_json

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Generation(Handle):
    @overload
    def generate(self, texts: str, **options: Unpack[GenerateOptions]) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def generate(self, texts: Sequence[str], **options: Unpack[GenerateOptions]) -> List[str]: ...
    def generate(self, texts: Union[str, Sequence[str]], **options: Any) -> Union[str, List[str]]:
        """Generates a text from each text. The options are those of `lamina.GenerateOptions`."""
        found = [best[0].text if best else "" for best in self._generate(as_list(texts), options)]
        return found[0] if isinstance(texts, str) else found

    @overload
    async def generate_async(  # type: ignore[overload-overlap]
        self, texts: str, **options: Unpack[GenerateOptions]
    ) -> str: ...
    @overload
    async def generate_async(self, texts: Sequence[str], **options: Unpack[GenerateOptions]) -> List[str]: ...
    async def generate_async(self, texts: Union[str, Sequence[str]], **options: Any) -> Union[str, List[str]]:
        """The same on a thread. A task that is cancelled ends the generation within a step of its work."""
        return await self._awaited(lambda: self.generate(texts, **options))

    def hypotheses(self, texts: Sequence[str], **options: Unpack[GenerateOptions]) -> List[List[Hypothesis]]:
        """All hypotheses of each text, best first, with tokens and probabilities: one for each of `beams`."""
        return self._generate(as_list(texts), options)

    def _generate(self, texts: List[str], options: Mapping[str, Any]) -> List[List[Hypothesis]]:
        with self._turn:
            return _lamina.generate(self._session, texts, generate_options(options))

    def stream(self, text: str, **options: Unpack[GenerateOptions]) -> Iterator[str]:
        """Generates a text from a text, piece by piece as it comes. A loop that is left ends the generation.

        >>> for piece in model.stream("Once upon a time"):
        ...     print(piece, end="", flush=True)
        """
        self._opened()
        prompt = as_text(text, "text")
        return self._pieces(lambda give: self._generate([prompt], _giving(options, give)))

    def stream_async(self, text: str, **options: Unpack[GenerateOptions]) -> AsyncIterator[str]:
        """The same for `async for`.

        >>> async for piece in model.stream_async("Once upon a time"):
        ...     print(piece, end="", flush=True)
        """
        self._opened()
        prompt = as_text(text, "text")
        return self._pieces_async(lambda give: self._generate([prompt], _giving(options, give)))

    # ---- Conversations ----

    def chat_prompt(self, messages: Messages) -> str:
        """A conversation as the text that the model was trained to continue, by its own template.

        Messages are as in OpenAI's API: [{"role": "user", "content": "Hello"}]. A string is what the user says. The
        content may be a list of parts, {"type": "text", "text": ...} and, for models that see, {"type": "image", "image":
        FILE}, with an array or a `lamina.Image` in place of a file.
        """
        if images_in(messages):
            return _lamina.chat_prompt_of_parts(self._model, parts_as_json(messages))
        return _lamina.chat_prompt(self._model, as_messages(messages))

    def chat(self, messages: Messages, **options: Unpack[GenerateOptions]) -> str:
        """The model's answer in a conversation, sampled as its makers suggest where the options do not say."""
        return self._answer(self.chat_prompt(messages), messages, self._chat_options(options))[0].text

    def _answer(self, prompt: str, messages: Messages, options: Mapping[str, Any]) -> List[Hypothesis]:
        images = [as_image(each) for each in images_in(messages)]
        if not images:
            return self._generate([prompt], options)[0]
        with self._turn:
            ids = _lamina.image_prompt_ids(self._session, prompt, images)
            return _lamina.generate_from_ids(self._session, ids, generate_options(options))

    async def chat_async(self, messages: Messages, **options: Unpack[GenerateOptions]) -> str:
        """The same on a thread. A task that is cancelled ends the generation within a step of its work."""
        return await self._awaited(lambda: self.chat(messages, **options))

    def stream_chat(self, messages: Messages, **options: Unpack[GenerateOptions]) -> Iterator[str]:
        """The answer piece by piece as it comes. A loop that is left ends the generation."""
        self._opened()
        prompt, how = self.chat_prompt(messages), self._chat_options(options)
        return self._pieces(lambda give: self._answer(prompt, messages, _giving(how, give)))

    def stream_chat_async(self, messages: Messages, **options: Unpack[GenerateOptions]) -> AsyncIterator[str]:
        """The same for `async for`."""
        self._opened()
        prompt, how = self.chat_prompt(messages), self._chat_options(options)
        return self._pieces_async(lambda give: self._answer(prompt, messages, _giving(how, give)))

    def _chat_options(self, options: Mapping[str, Any]) -> Dict[str, Any]:
        suggested = _lamina.suggested_options(self._model)
        if suggested.temperature == 0:
            expect_effect(options)
        of_template = {"special_tokens": False, "reuse": True, "max_length": 4096, "beams": 1}
        return {**of_template, **{name: getattr(suggested, name) for name in _lamina.sampling_options}, **options}


def _giving(options: Mapping[str, Any], give: Any) -> Dict[str, Any]:
    return {**options, "stream": lambda _, piece: give(piece)}
