"""What callers pass as texts, pairs of them, and conversations."""

from __future__ import annotations

import json
from typing import Any, List, Mapping, Sequence, Tuple, Union

from ._errors import InputError

Messages = Union[str, Sequence[Mapping[str, object]]]


def as_text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a str, found {_shown(value)}")
    return _as_utf8(value, name)


def _as_utf8(text: str, name: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{name}: character {error.start + 1} is half of a pair of surrogates, so it is no text") from None
    return text


def as_list(texts: Union[str, Sequence[str]], name: str = "texts") -> List[str]:
    """A list of texts; of one text, a list of it alone."""
    if isinstance(texts, str):
        return [texts]
    try:
        return [as_text(text, f"{name}[{i}]") for i, text in enumerate(texts)]
    except TypeError as error:
        if hasattr(texts, "__iter__"):
            raise
        raise TypeError(f"{name}: expected a str or a list of them, found {_shown(texts)}") from error


def as_pairs(pairs: Sequence[Tuple[str, str]]) -> List[Tuple[str, str]]:
    out = []
    for i, pair in enumerate(pairs):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise TypeError(f"pairs[{i}]: expected two texts, found {_shown(pair)}")
        out.append((as_text(pair[0], f"pairs[{i}][0]"), as_text(pair[1], f"pairs[{i}][1]")))
    return out


def as_ids(ids: Sequence[int]) -> List[int]:
    """Token ids, which may be NumPy's integers."""
    if not hasattr(ids, "__iter__"):
        raise TypeError(f"ids: expected a list of token ids, found {_shown(ids)}")
    for i, token in enumerate(ids):
        if not hasattr(token, "__index__") or not 0 <= token < 1 << 31:
            raise TypeError(f"ids[{i}]: expected a token id, found {_shown(token)}")
    return [int(token) for token in ids]


def as_messages(messages: Messages) -> List[Tuple[str, str]]:
    """Roles and contents. A text is what the user says."""
    if isinstance(messages, str):
        return [("user", _as_utf8(messages, "messages"))]
    if isinstance(messages, Mapping) or not hasattr(messages, "__iter__"):
        raise InputError(f"messages: expected a str or a list of messages, found {_shown(messages)}")
    if not messages:
        raise InputError("messages: expected at least one message")
    return [_message(message, f"messages[{i}]") for i, message in enumerate(messages)]


def images_in(messages: Messages) -> List[Any]:
    """The images of parts {"type": "image", "image": ...}, in their order."""
    return [part.get("image") for parts in _all_parts(messages) for part in parts if _is_image(part)]


def parts_as_json(messages: Messages) -> str:
    """Messages with images as chat templates take them: as JSON, without the images themselves."""
    out = []
    for i, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("content"), (list, tuple)):
            role, content = _message(message, f"messages[{i}]")
            out.append({"role": role, "content": content})
            continue
        place = f'messages[{i}]["content"]'
        role, _ = _message({**message, "content": ""}, f"messages[{i}]")
        out.append({"role": role, "content": [
            {"type": "image"} if _is_image(part) else {"type": "text", "text": _part(part, f"{place}[{p}]")}
            for p, part in enumerate(message["content"])]})
    return json.dumps(out)


def _all_parts(messages: Messages) -> List[Any]:
    if isinstance(messages, (str, Mapping)) or not hasattr(messages, "__iter__"):
        return []
    contents = [message.get("content") for message in messages if isinstance(message, Mapping)]
    return [content for content in contents if isinstance(content, (list, tuple))]


def _is_image(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "image" and part.get("image") is not None


def _message(message: object, place: str) -> Tuple[str, str]:
    if not isinstance(message, Mapping):
        raise InputError(f'{place}: expected a dict with "role" and "content", found {_shown(message)}')
    for key in ("role", "content"):
        if key not in message:
            keys = ", ".join(f'"{name}"' for name in message) or "none"
            raise InputError(f'{place}["{key}"]: there is none; expected "role" and "content", found the keys {keys}')
    role = message["role"]
    if not isinstance(role, str):
        raise InputError(f'{place}["role"]: expected a str such as "user", found {_shown(role)}')
    return role, _content(message["content"], f'{place}["content"]')


def _content(content: object, place: str) -> str:
    """A text, or as in OpenAI's API a list of parts that are texts."""
    if isinstance(content, str):
        return _as_utf8(content, place)
    if not isinstance(content, (list, tuple)):
        raise InputError(f"{place}: expected a str, found {_shown(content)}")
    return "".join(_part(part, f"{place}[{i}]") for i, part in enumerate(content))


def _part(part: object, place: str) -> str:
    if isinstance(part, str):
        return _as_utf8(part, place)
    kind: Any = part.get("type") if isinstance(part, Mapping) else None
    if not isinstance(part, Mapping) or kind != "text":
        raise InputError(f'{place}: expected a part such as {{"type": "text", "text": ...}}, found {_shown(part)}')
    if not isinstance(part.get("text"), str):
        raise InputError(f'{place}["text"]: expected a str, found {_shown(part.get("text"))}')
    return _as_utf8(str(part["text"]), place)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}... ({type(value).__name__})"
