"""Tables that show themselves, as text in a terminal and as HTML in a notebook."""

from __future__ import annotations

import html
from typing import Any, Sequence


def as_text(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(head), *cells]) for i in range(len(head))]
    right = [all(_is_number(row[i]) for row in rows) for i in range(len(head))]
    lines = []
    for row in [[name.upper() for name in head], *cells]:
        padded = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right))
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def as_html(head: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    def cell(tag: str, value: Any) -> str:
        align = ' style="text-align: right"' if _is_number(value) else ' style="text-align: left"'
        return f"<{tag}{align}>{html.escape(str(value))}</{tag}>"

    lines = [f"<caption>{html.escape(caption)}</caption>"] if caption else []
    for tag, row in [("th", head), *(("td", row) for row in rows)]:
        lines.append("<tr>" + "".join(cell(tag, value) for value in row) + "</tr>")
    return "<table>\n" + "\n".join(lines) + "\n</table>"


class Number(float):
    """A number that is shown with few digits."""

    def __str__(self) -> str:
        return f"{float(self):.3g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
