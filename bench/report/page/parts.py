# SPDX-License-Identifier: MIT
"""parts.py - the parts of sections: figures, tables, and numbers for people"""

from dataclasses import dataclass, field
from html import escape

import figures

MAX_PICTURES = 16


@dataclass
class Section:
    name: str
    title: str
    lead: str = ""  # explains the topic, and how to read the picture
    here: str = ""  # the result in this report
    figures: list = field(default_factory=list)
    tables: list = field(default_factory=list)
    missing: str = ""  # why the section has no data


# --- parts --------------------------------------------------------------------


def time(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{digits(ns / size)} {unit}"
    return f"{digits(ns)} ns"


def tic(ns):
    """Return a time like time(), without trailing zeros."""
    number, unit = time(ns).split()
    return f"{float(number.replace(',', '')):g} {unit}"


def digits(value):
    """Return a number with three digits, or with all digits before the point."""
    if value == 0:
        return "0"
    places = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.3g}" if value < 0.1 else f"{value:,.{places}f}"


def times(ratio):
    return f"{digits(ratio)}×"


def plural(n, what):
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def legend(entries):
    """Return the legend of a picture; entries are (colour index, text, dashed)."""
    items = "".join(
        f'<li><i class="{"dash" if dashed else "dot"}" '
        f'style="--ink:var(--{figures.colour(index)})"></i>{escape(text)}</li>'
        for index, text, dashed in entries
    )
    return f'<ul class="legend">{items}</ul>'


def figure(title, picture, entries=()):
    keys = legend(entries) if entries else ""
    return f"<figure><figcaption>{escape(title)}</figcaption>{keys}{picture}</figure>"


def table(title, head, rows, text=(0,)):
    """Return a table that can be folded. Columns with an index in text are aligned left."""

    def row(cells, tag):
        return "".join(
            f"<{tag}{' class=text' if i in text else ''}>{escape(str(c))}</{tag}>"
            for i, c in enumerate(cells)
        )

    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in rows)
    return (
        f"<details><summary>{escape(title)}</summary><div class=scroll><table>"
        f"<thead><tr>{row(head, 'th')}</tr></thead><tbody>{body}</tbody></table></div></details>"
    )


def colours(names):
    return {name: index for index, name in enumerate(sorted(names))}
