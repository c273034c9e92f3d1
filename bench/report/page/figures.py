# SPDX-License-Identifier: MIT
"""figures.py - draw pictures with gnuplot, as SVG that takes its colours from the page

Parts that gnuplot draws in a colour of COLOURS get the page's colour with that name,
light or dark. Text from a report never becomes part of a gnuplot command. It is passed
as data only, without characters that could end the data.
"""

import math
import re
import shutil
import subprocess
from itertools import count

FONT = 13
SERIES = 6  # number of colours for series
TALL = 15  # a picture with more rows than this has a second axis at the top

# Placeholders, which _page_colour() replaces with the page's colours.
INKS = ["text", "muted", "grid", "card"]
COLOURS = {name: f"#aa{i:02x}00" for i, name in enumerate(INKS, 1)}
COLOURS |= {f"c{i}": f"#aa00{i:02x}" for i in range(SERIES)}
HEAT = 100  # number of strengths of colour, encoded as #ab0000 to #ab0064

_number = count(1)


class Failed(Exception):
    """gnuplot could not draw a picture; the text gives the reason."""


def available():
    return shutil.which("gnuplot") is not None


def colour(index):
    return f"c{index % SERIES}"


# --- gnuplot ------------------------------------------------------------------


def _quote(label, most):
    kept = "".join(c for c in label if c.isprintable() and c not in '"\\`$')
    if len(kept) > most:
        kept = kept[: most - 1] + "…"
    return f'"{kept}"'


def _data(name, rows):
    lines = (" ".join(c if isinstance(c, str) else f"{c:.9g}" for c in row) for row in rows)
    return f"${name} << END_OF_DATA\n" + "\n".join(lines) + "\nEND_OF_DATA\n"


def _run(width, height, script):
    head = f"""
set encoding utf8
set terminal svg size {width},{height} dynamic font "sans-serif,{FONT}" noenhanced
set border 0 lc rgb "{COLOURS['muted']}"
set tics nomirror scale 0 textcolor rgb "{COLOURS['muted']}"
set xlabel textcolor rgb "{COLOURS['muted']}"
set ylabel textcolor rgb "{COLOURS['muted']}"
set grid xtics ytics lc rgb "{COLOURS['grid']}" lw 1 dt 1
set key off
set style fill solid noborder
"""
    done = subprocess.run(
        ["gnuplot"],
        input=head + script,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode != 0 or "</svg>" not in done.stdout:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise Failed(f"gnuplot: {said[-1].strip()}")
    return done.stdout


def _svg(width, height, title, script, kind=""):
    """Return the picture as SVG for a page, with unique ids and the page's colours."""
    name = f"figure{next(_number)}"
    drawn = _run(width, height, script)
    body = drawn[drawn.index("<g id=") : drawn.rindex("</svg>")]
    body = re.sub(r"<title>.*?</title>|<filter .*?</filter>", "", body, flags=re.DOTALL)
    body = re.sub(r"\b(id=['\"]|href=['\"]#)", rf"\g<1>{name}-", body)
    body = body.replace("xlink:href", "href").replace(" font-family=\"sans-serif\"", "")
    body = re.sub(r"rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\)", _page_colour, body)
    body = re.sub(r"fill = 'heat ([\d.]+)'", r"fill='var(--c0)' fill-opacity='\1'", body)
    body = body.replace("<tspan >", "<tspan>").replace("'black'", "'currentColor'")
    body = re.sub(r"\n\s*", "\n", re.sub(r"(<g [^>]*>)\s*</g>", "", body))
    return (
        f'<svg class="plot {kind}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-labelledby="{name}-title"><title id="{name}-title">{title}</title>\n'
        f"{body.strip()}\n</svg>"
    )


def _page_colour(match):
    red, green, blue = (int(part) for part in match.groups())
    if red == 0xAA and green > 0:
        return f"var(--{INKS[(green - 1) % len(INKS)]})"
    if red == 0xAA:
        return f"var(--c{blue})"
    if red == 0xAB:
        return f"heat {blue / HEAT:.2f}"
    return "currentColor"


# --- pictures -----------------------------------------------------------------


def _log_range(values, *more):
    least, most = min([*values, *more]), max([*values, *more])
    return least / 1.25, most * 1.25


# Each is at most 1.25 times the preceding one, so that at least two are in any range
# that _log_range() returns.
FINE_TICS = (1, 1.2, 1.5, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9)


def _log_tics(least, most, room, show):
    """Return tics at 1, 2 and 5 of each decade, or at fewer points if room is short."""
    for parts in ((1, 2, 5), (1, 3), (1,)):
        tics = [float(f"{p}e{d}") for d in range(-12, 31) for p in parts]
        tics = [t for t in tics if least <= t <= most]
        if 2 <= len(tics) <= room:
            break
    if len(tics) < 2:  # the range is less than a decade
        tics = [float(f"{p}e{d}") for d in range(-12, 31) for p in FINE_TICS]
        tics = [t for t in tics if least <= t <= most]
    tics = tics[:: len(tics) // room + 1] if len(tics) > room else tics
    return ", ".join(f'"{show(t)}" {t:.9g}' for t in tics)


def dots(title, rows, axis, reference=None, show="{:g}".format):
    """Draw rows on a logarithmic axis, with a dot and a whisker for each series.

    rows: (label, {series: (value, least, greatest)}), from top to bottom
    reference: value at which a vertical line is drawn
    show: function that returns the text of a tic

    Return two pictures, of which the page shows one: a wide one with labels on the
    left, and a narrow one, for phones, with labels above their rows.
    """
    return _dots(title, rows, axis, reference, show, False) + _dots(
        title, rows, axis, reference, show, True
    )


def _dots(title, rows, axis, reference, show, narrow):
    width, step = (340, 34) if narrow else (720, 22)
    top = 28 if len(rows) > TALL else 8
    height = step * len(rows) + 54 + top
    points, labels = [], []
    for place, (label, series) in enumerate(rows):
        y = len(rows) - place
        labels.append((y + 0.42 if narrow else y, _quote(label, 46)))
        points += [(v, y, low, high, index) for index, (v, low, high) in series.items()]
    extremes = [p[i] for p in points for i in (2, 3)]
    least, most = _log_range(extremes, *([reference] if reference else []))
    tics = _log_tics(least, most, 5 if narrow else 8, show)
    left = 10 if narrow else 20 + 7 * max(len(text) for _, text in labels)
    margin = left / width if left < width / 2 else 0.5
    script = _data("labels", [(least, y, text) for y, text in labels])
    plots = [
        "$labels using 1:2:3 with labels noenhanced "
        + ("left offset 0,0.1 " if narrow else "right offset -1,0 ")
        + f"tc rgb '{COLOURS['text']}'"
    ]
    for index in sorted({p[4] for p in points}):
        script += _data(f"s{index}", [p[:4] for p in points if p[4] == index])
        ink = f"lc rgb '{COLOURS[colour(index)]}'"
        plots += [
            f"$s{index} using 1:2:3:4 with xerrorbars pt 0 lw 1.5 {ink}",
            f"$s{index} using 1:2 with points pt 7 ps 0.62 {ink}",
        ]
    line = (
        f"set arrow from {reference}, graph 0 to {reference}, graph 1 nohead "
        f"lw 1.5 lc rgb '{COLOURS['muted']}'\n"
        if reference
        else ""
    )
    upper = (
        "set logscale x2\n"
        f"set x2range [{least:.9g}:{most:.9g}]\n"
        f"set x2tics ({tics})\n"
        if len(rows) > TALL
        else ""
    )
    script += f"""
set lmargin at screen {margin}
set rmargin at screen {1 - 14 / width}
set tmargin at screen {1 - top / height}
set bmargin at screen {54 / height}
set logscale x
set xrange [{least:.9g}:{most:.9g}]
set yrange [0.4:{len(rows) + (0.9 if narrow else 0.6)}]
set xtics ({tics})
unset ytics
set xlabel "{axis}" offset 0,0.7
{upper}set errorbars 0
{line}plot {", ".join(plots)}
"""
    return _svg(width, height, title, script, "narrow" if narrow else "wide")


def distributions(title, series, show):
    """Draw quantiles: the time to the right, and upwards the share that took no longer.

    The upward axis is logarithmic: 90 %, 99 %, 99.9 % and so on are equally far apart.
    series: (colour index, dashed, [(percent, ns)])
    """
    highest = max(p for _, _, points in series for p, _ in points if p < 100)
    nines = 2
    while nines < 5 and 100 - 10.0 ** (2 - nines) < highest:
        nines += 1
    script, plots = "", []
    for place, (index, dashed, points) in enumerate(series):
        # A point above the highest drawn quantile is placed at the upper edge.
        rows = [
            (max(ns, 1), nines if p >= 100 else min(nines, -math.log10(1 - p / 100)))
            for p, ns in points
        ]
        script += _data(f"s{place}", rows)
        plots.append(
            f"$s{place} using 1:2 with lines lw {1.5 if dashed else 2.2} "
            f"{'dt (6,5)' if dashed else 'dt 1'} lc rgb '{COLOURS[colour(index)]}'"
        )
    times = [max(ns, 1) for _, _, points in series for _, ns in points]
    least, most = _log_range(times)
    tics = _log_tics(least, most, 5, show)
    names = [f"{p} %%" for p in (50, 90, 99, 99.9, 99.99, 99.999)][: nines + 1]
    shares = ", ".join(f'"{n}" {y}' for n, y in zip(names, [0.30103, 1, 2, 3, 4, 5]))
    script += f"""
set lmargin 8
set rmargin 2
set tmargin 0.7
set logscale x
set xrange [{least:.9g}:{most:.9g}]
set yrange [0:{nines}]
set xtics ({tics})
set ytics ({shares})
plot {", ".join(plots)}
"""
    return _svg(420, 280, title, script)


def heat(title, matrix, rows, columns):
    """Draw a matrix. The colour of a cell is as strong as the square root of its number.
    The numbers are also written into the cells if there is room."""
    most = max(max(row) for row in matrix) or 1

    def strength(value):
        return round(HEAT * math.sqrt(value / most))

    cells = [
        (x, len(matrix) - 1 - y, strength(value))
        for y, row in enumerate(matrix)
        for x, value in enumerate(row)
    ]
    script = _data("cells", [(x, y, int(f"ab{0:02x}{k:02x}", 16)) for x, y, k in cells])
    plots = ["$cells using 1:2:(0.49):(0.49):3 with boxxyerror lc rgb variable"]
    for name, dark in (("light", False), ("dark", True)):
        numbers = [
            (x, len(matrix) - 1 - y, f'"{value:,}"')
            for y, row in enumerate(matrix)
            for x, value in enumerate(row)
            if value and (strength(value) > HEAT / 2) is dark
        ]
        if len(columns) <= 9 and numbers:
            script += _data(name, numbers)
            ink = COLOURS["card" if dark else "text"]
            plots.append(f"${name} using 1:2:3 with labels noenhanced tc rgb '{ink}'")
    every = len(columns) // 12 + 1
    xtics = ", ".join(f"{_quote(c, 8)} {i}" for i, c in enumerate(columns) if i % every == 0)
    ytics = ", ".join(
        f"{_quote(r, 8)} {len(rows) - 1 - i}" for i, r in enumerate(rows) if i % every == 0
    )
    script += f"""
unset grid
set lmargin 8
set rmargin 4
set tmargin 0.5
set xrange [-0.55:{len(columns) - 0.45}]
set yrange [-0.55:{len(rows) - 0.45}]
set xtics ({xtics})
set ytics ({ytics})
set xlabel "victim"
set ylabel "thief"
plot {", ".join(plots)}
"""
    return _svg(420, 80 + min(300, max(45, 300 // len(columns)) * len(rows)), title, script)
