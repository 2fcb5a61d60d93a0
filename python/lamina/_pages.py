"""What a model reads on pages: classes of their words, of themselves, and answers."""

from __future__ import annotations

import operator
import os
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Tuple, Union, overload

from . import _lamina
from ._errors import InputError
from ._handle import Handle
from ._lamina import LabelScore, PageAnswer, PageWord, WordLabels
from ._media import Picture, as_image
from ._options import PageOptions, filled
from ._runtime import Path
from ._texts import as_list, as_text

if TYPE_CHECKING:
    from typing_extensions import Unpack

Word = Union[PageWord, Tuple[str, Sequence[int]]]
Labels = List[LabelScore]


class Page:
    """The words of a page, where they stand, and what it looks like, for models such as LayoutLMv3.

    words
        A file as Tesseract writes it (`tesseract page.png page tsv`), or words with their boxes: left, top, right and
        bottom, in thousandths of the page, from 0 to 1000.
    image
        A file, or an array of uint8, (height, width, 3). Models that do not see pages need none.
    """

    def __init__(self, words: Union[Path, Sequence[Word]], image: Optional[Picture] = None) -> None:
        is_file = isinstance(words, (str, os.PathLike))
        self.words: List[PageWord] = (
            _lamina.read_page_words(os.fspath(words))  # type: ignore[arg-type]
            if is_file
            else [_word(word, i) for i, word in enumerate(words)]  # type: ignore[arg-type]
        )
        self.image = None if image is None else as_image(image)

    def __repr__(self) -> str:
        return f"<lamina.Page of {len(self.words)} words>"


class Pages(Handle):
    @overload
    def label_words(self, pages: Page, **options: Unpack[PageOptions]) -> List[WordLabels]: ...
    @overload
    def label_words(self, pages: Sequence[Page], **options: Unpack[PageOptions]) -> List[List[WordLabels]]: ...
    def label_words(
        self, pages: Union[Page, Sequence[Page]], **options: Any
    ) -> Union[List[WordLabels], List[List[WordLabels]]]:
        """The words of each page that have tokens, each with the scores of its classes, best first."""
        given = _pages(pages)
        with self._turn:
            found = _lamina.label_words(self._session, given, filled(_lamina.PageOptions(), options))
        return found[0] if isinstance(pages, Page) else found

    @overload
    def classify_pages(self, pages: Page, **options: Unpack[PageOptions]) -> Labels: ...
    @overload
    def classify_pages(self, pages: Sequence[Page], **options: Unpack[PageOptions]) -> List[Labels]: ...
    def classify_pages(self, pages: Union[Page, Sequence[Page]], **options: Any) -> Union[Labels, List[Labels]]:
        """The scores of all classes of each page, best first."""
        given = _pages(pages)
        with self._turn:
            found = _lamina.classify_pages(self._session, given, filled(_lamina.PageOptions(), options))
        return found[0] if isinstance(pages, Page) else found

    @overload
    def answer_page(  # type: ignore[overload-overlap]
        self, page: Page, questions: str, **options: Unpack[PageOptions]
    ) -> List[PageAnswer]: ...
    @overload
    def answer_page(
        self, page: Page, questions: Sequence[str], **options: Unpack[PageOptions]
    ) -> List[List[PageAnswer]]: ...
    def answer_page(
        self, page: Page, questions: Union[str, Sequence[str]], **options: Any
    ) -> Union[List[PageAnswer], List[List[PageAnswer]]]:
        """The likeliest answers to each question about a page, best first."""
        given, asked = _pages(page)[0], as_list(questions, "questions")
        with self._turn:
            found = _lamina.answer_page(self._session, given, asked, filled(_lamina.PageOptions(), options))
        return found[0] if isinstance(questions, str) else found


def _word(word: Word, number: int) -> PageWord:
    if isinstance(word, PageWord):
        return word
    try:
        text, box = word
        sides = [operator.index(side) for side in box]
    except (TypeError, ValueError):
        sides = []
    if len(sides) != 4:
        raise TypeError(f"words[{number}]: expected a text and a box of four whole numbers, found {word!r}")
    if not all(0 <= side <= 1000 for side in sides):
        raise InputError(f"words[{number}]: expected a box from 0 to 1000, thousandths of the page, found {box!r}")
    return PageWord(as_text(text, f"words[{number}][0]"), sides)


def _pages(pages: Union[Page, Sequence[Page]]) -> List[_lamina.Page]:
    out = []
    for i, page in enumerate([pages] if isinstance(pages, Page) else pages):
        if not isinstance(page, Page):
            raise TypeError(f"pages[{i}]: expected a lamina.Page, found {type(page).__name__}")
        out.append(_lamina.Page(page.words) if page.image is None else _lamina.Page(page.words, page.image))
    return out
