"""What a model reads out of texts: vectors, classes, answers, missing words, and its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Tuple, Union, overload

from . import _lamina
from ._embedding import Vectors, embed, name_prompts
from ._handle import Handle
from ._lamina import Answer, LabelScore, MaskedWord, TokenLabels
from ._options import AnswerOptions, EmbedOptions, FillOptions, MatchOptions, ReadOptions, expect_known, filled
from ._texts import as_ids, as_list, as_pairs, as_text

if TYPE_CHECKING:
    from typing_extensions import Unpack

Labels = List[LabelScore]


class Reading(Handle):
    # ---- Vectors ----

    def embed(self, texts: Union[str, Sequence[str]], **options: Unpack[EmbedOptions]) -> Vectors:
        """Vectors of texts, as float32 (N, C); of a single text, (C,). Options: `lamina.EmbedOptions`."""
        given = as_list(texts)
        with self._turn:
            found = embed(self._model, self._session, given, options)
        return found[0] if isinstance(texts, str) else found

    async def embed_async(self, texts: Union[str, Sequence[str]], **options: Unpack[EmbedOptions]) -> Vectors:
        """The same on a thread. A task that is cancelled ends the work within a step."""
        return await self._awaited(lambda: self.embed(texts, **options))

    @overload
    def embed_tokens(self, texts: str, **options: Unpack[ReadOptions]) -> Vectors: ...  # type: ignore[overload-overlap]
    @overload
    def embed_tokens(self, texts: Sequence[str], **options: Unpack[ReadOptions]) -> List[Vectors]: ...
    def embed_tokens(self, texts: Union[str, Sequence[str]], **options: Any) -> Union[Vectors, List[Vectors]]:
        """A vector for each token of each text, as float32 (tokens, C), of a model such as ColBERT.

        `prompt_name` says what the texts are: "query" or, by default, "document". `classify_pairs` scores pairs of both.
        """
        given = as_list(texts)
        with self._turn:
            found: List[Vectors] = _lamina.embed_tokens(self._session, given, _how(self._model, options))
        return found[0] if isinstance(texts, str) else found

    @property
    def prompts(self) -> Dict[str, str]:
        """What `embed` can put before texts, by name: config_sentence_transformers.json has it."""
        return _lamina.prompts(self._model)

    # ---- Classes ----

    @overload
    def classify(self, texts: str, **options: Unpack[ReadOptions]) -> Labels: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, texts: Sequence[str], **options: Unpack[ReadOptions]) -> List[Labels]: ...
    def classify(self, texts: Union[str, Sequence[str]], **options: Any) -> Union[Labels, List[Labels]]:
        """The scores of all classes of each text, best first."""
        given = as_list(texts)
        with self._turn:
            found = _lamina.classify(self._session, given, _how(self._model, options))
        return found[0] if isinstance(texts, str) else found

    @overload
    async def classify_async(  # type: ignore[overload-overlap]
        self, texts: str, **options: Unpack[ReadOptions]
    ) -> Labels: ...
    @overload
    async def classify_async(self, texts: Sequence[str], **options: Unpack[ReadOptions]) -> List[Labels]: ...
    async def classify_async(self, texts: Union[str, Sequence[str]], **options: Any) -> Union[Labels, List[Labels]]:
        """The same on a thread. A task that is cancelled ends the work within a step."""
        return await self._awaited(lambda: self.classify(texts, **options))

    def classify_pairs(self, pairs: Sequence[Tuple[str, str]], **options: Unpack[ReadOptions]) -> List[Labels]:
        """The same for texts that are read together: a question and a document, a premise and a hypothesis.

        `prompt` tells a reranker that is asked, such as Qwen3-Reranker, what is asked for.
        """
        given = as_pairs(pairs)
        with self._turn:
            return _lamina.classify_pairs(self._session, given, _how(self._model, options))

    @overload
    def match_texts(  # type: ignore[overload-overlap]
        self, texts: str, labels: Sequence[str], **options: Unpack[MatchOptions]
    ) -> Labels: ...
    @overload
    def match_texts(
        self, texts: Sequence[str], labels: Sequence[str], **options: Unpack[MatchOptions]
    ) -> List[Labels]: ...
    def match_texts(
        self, texts: Union[str, Sequence[str]], labels: Sequence[str], **options: Any
    ) -> Union[Labels, List[Labels]]:
        """How likely each of these labels describes a text, best first.

        The model must say whether one text follows from another, as those trained on MNLI do.
        """
        given, names = as_list(texts), as_list(labels, "labels")
        with self._turn:
            found = _lamina.match_texts(self._session, given, names, filled(_lamina.MatchOptions(), options))
        return found[0] if isinstance(texts, str) else found

    @overload
    def label_tokens(  # type: ignore[overload-overlap]
        self, texts: str, **options: Unpack[ReadOptions]
    ) -> List[TokenLabels]: ...
    @overload
    def label_tokens(self, texts: Sequence[str], **options: Unpack[ReadOptions]) -> List[List[TokenLabels]]: ...
    def label_tokens(
        self, texts: Union[str, Sequence[str]], **options: Any
    ) -> Union[List[TokenLabels], List[List[TokenLabels]]]:
        """The tokens of each text, each with the scores of its classes, best first."""
        given = as_list(texts)
        with self._turn:
            found = _lamina.label_tokens(self._session, given, _how(self._model, options))
        return found[0] if isinstance(texts, str) else found

    # ---- Answers and missing words ----

    def answer(self, pairs: Sequence[Tuple[str, str]], **options: Unpack[AnswerOptions]) -> List[List[Answer]]:
        """The likeliest answers to questions, best first. Each pair is a question, and a text with the answer."""
        given = as_pairs(pairs)
        with self._turn:
            return _lamina.answer(self._session, given, filled(_lamina.AnswerOptions(), options))

    @overload
    def fill_masks(  # type: ignore[overload-overlap]
        self, texts: str, **options: Unpack[FillOptions]
    ) -> List[MaskedWord]: ...
    @overload
    def fill_masks(self, texts: Sequence[str], **options: Unpack[FillOptions]) -> List[List[MaskedWord]]: ...
    def fill_masks(
        self, texts: Union[str, Sequence[str]], **options: Any
    ) -> Union[List[MaskedWord], List[List[MaskedWord]]]:
        """The likeliest words for each mask of a text, such as "<mask>" or "[MASK]", best first."""
        given = as_list(texts)
        with self._turn:
            found = _lamina.fill_masks(self._session, given, filled(_lamina.FillOptions(), options))
        return found[0] if isinstance(texts, str) else found

    # ---- Tokens ----

    @overload
    def tokenize(self, texts: str) -> List[int]: ...  # type: ignore[overload-overlap]
    @overload
    def tokenize(self, texts: Sequence[str]) -> List[List[int]]: ...
    def tokenize(self, texts: Union[str, Sequence[str]]) -> Union[List[int], List[List[int]]]:
        """The token ids that the model gets of texts, with the prompt that it puts before them. Too many are refused."""
        found = _lamina.tokenize(self._model, as_list(texts))
        return found[0] if isinstance(texts, str) else found

    def encode(self, text: str, *, special_tokens: bool = True) -> List[int]:
        """The token ids of a text of any length, with or without those that the model expects around a text."""
        return _lamina.token_ids(self._model, as_text(text, "text"), special_tokens)

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """The text of token ids: of those that the model writes, or reads if it writes none."""
        return _lamina.detokenize(self._model, as_ids(ids), skip_special_tokens)

    def count_tokens(self, text: str, *, special_tokens: bool = True) -> int:
        """How many token ids `encode` gives."""
        return len(self.encode(text, special_tokens=special_tokens))


def _how(model: _lamina.Model, options: Mapping[str, Any]) -> _lamina.ReadOptions:
    expect_known(options, list(ReadOptions.__annotations__))
    given = dict(options)
    name_prompts(model, given)
    how: _lamina.ReadOptions = filled(_lamina.ReadOptions(), given)
    return how
