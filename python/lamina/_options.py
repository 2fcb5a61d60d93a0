"""Keyword arguments that several functions take."""

from __future__ import annotations

import difflib
from typing import Any, Callable, Literal, Mapping, Optional, Sequence, TypedDict

from . import _lamina
from ._errors import UsageError
from ._lamina import Grammar


class GenerateOptions(TypedDict, total=False):
    """How text is generated: as the model's files say where nothing is given, but sampled only with a `temperature`.

    batch
        How many texts are decoded together; 64.
    beams
        Number of beams; with a temperature, of samples. As the model says, else 1.
    beams_compete
        With a temperature: False: samples are independent. True: they compete as beams do. True without `beams`.
    hypotheses
        How many hypotheses of each text `Model.hypotheses` returns; one per beam.
    length_penalty
        Hypotheses are ranked by log probability / tokens ** length_penalty; as the model says, else 1.
    temperature
        Above 0: sample; 0.
    top_k, top_p, min_p
        Sample among the k most likely tokens; among the fewest that together have this probability; among those with
        at least this fraction of the likeliest one's probability.
    top_h, typical_p, epsilon_cutoff, eta_cutoff
        More ways to leave out tokens, as transformers names them.
    top_n_sigma
        Sample among tokens whose scores are within so many standard deviations of the best.
    xtc_probability, xtc_threshold
        So often, of the tokens with at least the threshold's probability (0.1), leave out all but the least likely.
    mirostat, mirostat_tau, mirostat_eta
        2: leave out tokens that surprise too much, so that tokens surprise by mirostat_tau bits (5) on average, and
        each corrects the next by mirostat_eta (0.1) of its error; 0: off. Not for beams that compete.
    repetition_penalty
        Above 1: make tokens that have occurred less likely; as the model says, else 1.
    frequency_penalty, presence_penalty
        Subtracted from the score of a token that occurs in the answer: as often as it occurs, and once.
    dry_multiplier, dry_base, dry_allowed_length, dry_breakers
        A token that would lengthen a sequence that occurred before, to more than dry_allowed_length tokens (2), loses
        multiplier * base ** (length - dry_allowed_length). No sequence goes beyond a token with one of the breakers.
    biases
        Added to the scores of tokens, by id; -inf excludes one.
    min_length
        Tokens before which a text does not end, except at a stop text.
    likeliest
        Hypotheses tell how likely each token was, and so many of the likeliest ones in its place: `Hypothesis.scores`.
    prompt_scores
        True, with `likeliest`: the same of the prompt's tokens but for the first: `Hypothesis.prompt_scores`.
    ignore_end
        True: texts end at stop texts and at max_length alone.
    seed
        Of the samples; 0. The same seed gives the same texts.
    first
        Number of the first text, so that texts passed in parts get the same samples as all at once.
    max_length
        Tokens of a text; by default as many as the model suggests.
    choices
        Settings that the model takes: {"language": "en", "task": "translate"} of one that hears, {"language": "fra_Latn",
        "source_language": "deu_Latn"} of one that translates.
    stop
        The output ends before the first of these strings; as the model says, else none.
    grammar
        What the text must be, such as Grammar.json_schema({"type": "object"}); it ends where nothing can follow.
    special_tokens
        Add the model's special tokens to a prompt; True.
    skip_special_tokens
        False: the text has special tokens, such as those around a call of a tool; True.
    cached
        False: no key-value cache, so every step computes the whole sequence. Slow; for comparisons.
    reuse
        Do not compute again what a prompt has in common with the text before, as in a conversation.
    guess_ahead
        Where a text repeats itself, guess so many tokens and check them in one step, as long as that is faster; 0.
    progress
        Called as progress(done, all) after every batch.
    stream
        Called as stream(text, piece) with each new piece of a text: its number and whole characters. Only for one beam.
    timestamps
        Of transcripts, what `Transcript.segments` are: "segments" or "words" of models such as Whisper, or "words" or
        "characters" of those that score characters; none.
    skip_silence
        Of audio, leave out silence before and behind what a window hears; False.
    """

    batch: int
    beams: int
    beams_compete: bool
    hypotheses: int
    length_penalty: float
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    top_h: float
    typical_p: float
    epsilon_cutoff: float
    eta_cutoff: float
    top_n_sigma: float
    xtc_probability: float
    xtc_threshold: float
    mirostat: int
    mirostat_tau: float
    mirostat_eta: float
    repetition_penalty: float
    frequency_penalty: float
    presence_penalty: float
    dry_multiplier: float
    dry_base: float
    dry_allowed_length: int
    dry_breakers: Sequence[str]
    biases: Mapping[int, float]
    min_length: int
    ignore_end: bool
    likeliest: int
    prompt_scores: bool
    seed: int
    first: int
    max_length: int
    choices: Mapping[str, str]
    stop: Sequence[str]
    grammar: Grammar
    special_tokens: bool
    skip_special_tokens: bool
    cached: bool
    reuse: bool
    guess_ahead: int
    progress: Callable[[int, int], None]
    stream: Callable[[int, str], None]
    timestamps: Literal["segments", "words", "characters"]
    skip_silence: bool


class PageOptions(TypedDict, total=False):
    """How pages are read.

    batch
        How many pages, or parts of long ones, are processed together; 8.
    truncate
        `classify_pages`: cut pages with too many words instead of refusing them; False.
    best
        `answer_page`: how many answers to a question; 1.
    longest
        `answer_page`: tokens of an answer; 15.
    progress
        Called as progress(done, all) after every batch.
    """

    batch: int
    truncate: bool
    best: int
    longest: int
    progress: Callable[[int, int], None]


class ImageOptions(TypedDict, total=False):
    """How images are read.

    batch
        How many images are processed together; 16.
    sentence
        The text that a label is compared in, with {} where it belongs; "This is a photo of {}.".
    progress
        Called as progress(done, all) after every batch.
    """

    batch: int
    sentence: str
    progress: Callable[[int, int], None]


class FillOptions(TypedDict, total=False):
    """How `fill_masks` looks for words.

    best
        How many words for each mask; 5.
    batch
        How many texts are processed together; 32.
    progress
        Called as progress(done, all) after every batch.
    """

    best: int
    batch: int
    progress: Callable[[int, int], None]


class AnswerOptions(TypedDict, total=False):
    """How `answer` looks for answers.

    best
        How many answers to a question; 1.
    longest
        The most tokens of an answer; 15.
    may_be_none
        True: an empty answer is one, too, where the model finds that the text has none.
    batch
        How many parts of texts are processed together; 32.
    progress
        Called as progress(done, all) after every batch.
    """

    best: int
    longest: int
    may_be_none: bool
    batch: int
    progress: Callable[[int, int], None]


class MatchOptions(TypedDict, total=False):
    """How `match_texts` compares texts with labels.

    sentence
        What a label is put into, with {} in its place; "This example is {}.".
    multi_label
        True: any number of labels may describe a text, each by itself; False: one does.
    batch
        How many pairs of a text and a label are processed together; 32.
    truncate
        Cut a text that is too long for the model; False: it is an error.
    progress
        Called as progress(done, all) after every batch.
    """

    sentence: str
    multi_label: bool
    batch: int
    truncate: bool
    progress: Callable[[int, int], None]


class ReadOptions(TypedDict, total=False):
    """How texts are turned into classes.

    batch
        How many texts are processed together; 32.
    truncate
        Cut a text that is too long for the model; False: it is an error.
    prompt_name
        The name of the prompt that tells a reranker what is asked for: one of `Model.prompts`. "": none. By default, the
        one that the model's makers chose, if any.
    prompt
        The text itself, such as "Find the answer.", in place of one by its name.
    progress
        Called as progress(done, all) after every batch.
    """

    batch: int
    truncate: bool
    prompt_name: str
    prompt: str
    progress: Callable[[int, int], None]


class EmbedOptions(TypedDict, total=False):
    """How texts are turned into vectors. None is as if an option was not given.

    batch, batch_size
        How many texts are processed together; 32. Two names of one option.
    truncate
        Cut a text that is too long for the model; False: it is an error.
    windows
        Read a text that is too long in windows; its vector is the mean of theirs, weighted by their tokens.
    prompt_name
        The name of the prompt that is put before each text, such as "query": one of `Model.prompts`. "": none. By
        default, the one that the model's makers chose, if any.
    prompt
        The text itself that is put before each text, such as "query: ", in place of one by its name.
    normalize
        True: vectors of length 1. False: as the model's own layers give them. By default the same, but the length is 1
        again after `dimensions` if it was before.
    dimensions
        The first numbers of each vector alone, for models that were trained for it.
    show_progress
        A bar of the package tqdm.
    progress
        Called as progress(done, all) after every batch.
    """

    batch: Optional[int]
    batch_size: Optional[int]
    truncate: Optional[bool]
    windows: Optional[bool]
    prompt_name: Optional[str]
    prompt: Optional[str]
    normalize: Optional[bool]
    dimensions: Optional[int]
    show_progress: Optional[bool]
    progress: Optional[Callable[[int, int], None]]


# What other programs call these options.
_ELSEWHERE = {
    "max_tokens": "max_length",
    "max_new_tokens": "max_length",
    "max_completion_tokens": "max_length",
    "n_predict": "max_length",
    "num_beams": "beams",
    "beam_size": "beams",
    "batch_size": "batch",
    "normalize_embeddings": "normalize",
    "show_progress_bar": "show_progress",
    "truncate_dim": "dimensions",
    "num_return_sequences": "hypotheses",
    "repeat_penalty": "repetition_penalty",
    "logit_bias": "biases",
    "logprobs": "likeliest",
    "top_logprobs": "likeliest",
    "prompt_logprobs": "prompt_scores",
    "echo": "prompt_scores",
    "min_tokens": "min_length",
    "min_new_tokens": "min_length",
    "ignore_eos": "ignore_end",
    "add_special_tokens": "special_tokens",
    "truncation": "truncate",
    "json_schema": "grammar",
    "response_format": "grammar",
    "logits_processor": "grammar",
}


def _meant(name: str, known: Sequence[str]) -> str:
    """A hint at the option that was probably meant: a synonym, a longer name, or one that differs by a typing error."""
    longer = [option for option in known if option.startswith(name)] if len(name) > 2 else []
    close = difflib.get_close_matches(name, known, 1, 0.75)
    if _ELSEWHERE.get(name) in known:
        close = [_ELSEWHERE[name]]
    elif len(longer) == 1:
        close = longer
    return f"did you mean '{close[0]}'?" if close else "there are " + ", ".join(known)


def expect_known(given: Mapping[str, Any], known: Sequence[str]) -> None:
    """A TypeError for other options, as for a misspelled keyword argument."""
    for name in given:
        if name not in known:
            raise TypeError(f"no option '{name}'; {_meant(name, known)}")


def generate_options(given: Mapping[str, Any]) -> Any:
    """As filled(). A UsageError for an option of samples where nothing is sampled."""
    expect_effect(given)
    return filled(_lamina.GenerateOptions(), given)


def expect_effect(given: Mapping[str, Any]) -> None:
    """For texts that are not sampled unless a temperature is given; one of 0 says that this is known."""
    unchanged = _lamina.GenerateOptions()
    for name in _lamina.options_of_samples:
        if "temperature" not in given and name in given and given[name] != getattr(unchanged, name):
            raise UsageError(f"{name}={given[name]!r} has no effect without a temperature; set it, too")


def filled(options: Any, given: Mapping[str, Any]) -> Any:
    """Sets the attributes of options; anything else is a TypeError.

    What this returns may hold a function, which Python's garbage collector does not see. So callers keep it in no
    variable, which a traceback would keep alive.
    """
    expect_known(given, [name for name in dir(type(options)) if not name.startswith("_")])
    for name, value in given.items():
        try:
            setattr(options, name, value)
        except TypeError:
            raise TypeError(f"{name}={value!r} has the wrong type") from None
    return options
