# SPDX-License-Identifier: MIT
"""sections.py - the sections of the page

Each function takes a report and returns a Section, whose parts are HTML: an
explanation, how to read the picture, the result in this report, and the figures as a
table. Without data, the section gives the reason.
"""

from html import escape

import figures
from costs import costs
from latencies import latencies
from parts import MAX_PICTURES, Section, colours, digits, figure, plural, table, time, times

# --- other schedulers ---------------------------------------------------------

KINDS = [
    ("ns_per_op", "Time of an operation", time),
    ("p", "Latencies", time),
    ("slowdown", "Slowdowns: a call's time by its service time", times),
]


def rivals(report):
    return [c for c in report.comparisons if c.is_rival()]


def row_name(c):
    metric = "" if c.metric == "ns_per_op" else " " + c.metric
    return f"{c.name}{metric}, {c.on_workers()}"


def worst_first(comparisons):
    """Group comparisons by case and metric. The group with the greatest ratio is first."""
    rows = {}
    for c in comparisons:
        rows.setdefault(row_name(c), []).append(c)
    return sorted(rows.items(), key=lambda row: -max(c.ratio[0] for c in row[1]))


def peers(report):
    section = Section(
        "peers",
        "Compared with other schedulers",
        "Each dot is skua's time divided by the other scheduler's for the same work: "
        "<b>right of the line skua is slower</b>, left of it faster. The whisker spans "
        "the least and the greatest ratio of runs that alternated; a row where it crosses "
        "the line is undecided.",
    )
    compared = rivals(report)
    if not compared:
        section.missing = (
            "No other scheduler was measured: none was built, or <code>--no-peers</code> was given."
        )
        return section
    inks = colours({c.peer for c in report.comparisons})
    lost = [c for c in compared if c.slower]
    section.here = f"skua is slower in {len(lost)} of {plural(len(compared), 'comparison')}. "
    if lost:
        worst = max(lost, key=lambda c: c.ratio[0])
        section.here += (
            f"Furthest behind: {escape(row_name(worst))}, "
            f"{times(worst.ratio[0])} the time of {escape(worst.peer)}."
        )
    for kind, title, show in KINDS:
        rows = [c for c in report.comparisons if c.metric.startswith(kind)]
        if rows:
            _peers_of(section, title, rows, inks, show)
    return section


def _peers_of(section, title, comparisons, inks, show):
    rows = worst_first(comparisons)
    picture = figures.dots(
        f"{title}: ratios of skua and other schedulers",
        [(name, {inks[c.peer]: c.ratio for c in row}) for name, row in rows],
        "time of skua / time of the other",
        reference=1,
    )
    keys = [(inks[p], p, False) for p in sorted({c.peer for c in comparisons})]
    section.figures.append(figure(title, picture, keys))
    section.tables.append(
        table(
            f"{title}: {plural(len(comparisons), 'row')}",
            ["workload", "peer", "skua", "peer's", "ratio", "least", "greatest", "", "noisy"],
            [_comparison_row(name, c, show) for name, row in rows for c in row],
            text=(0, 1, 7, 8),
        )
    )


def _comparison_row(name, c, show):
    return (
        name,
        c.peer,
        show(c.skua[0]),
        show(c.other[0]),
        *(digits(r) for r in c.ratio),
        "slower" if c.slower else "",
        f"{c.noisy} of {c.times}" if c.noisy else "",
    )


# --- scaling ------------------------------------------------------------------


def scaling(report):
    section = Section(
        "scaling",
        "Scaling",
        "How many times as fast a workload is on several workers as on one: <b>further right is "
        "better</b>. The best possible value is the number of workers; left of the line, more "
        "workers make it slower. A workload that only wakes or hands over one task at a time "
        "cannot gain.",
    )
    rows = _by_workers(report)
    if not rows:
        section.missing = (
            "Nothing that more workers can make faster was measured on one worker and on more: "
            "this machine has one CPU for them, or the workload takes none, or measures latencies."
        )
        return section
    counts = sorted({r.workers for row in rows for r, _ in row})
    inks = {workers: i for i, workers in enumerate(counts)}
    picture = figures.dots(
        "Speed on more workers by that on one",
        [(row[0][0].name, {inks[r.workers]: _gain(r, one) for r, one in row}) for row in rows],
        "times as fast as on one worker",
        reference=1,
    )
    section.figures.append(
        figure("Speed-up", picture, [(inks[w], plural(w, "worker"), False) for w in counts])
    )
    (best, _), (worst, _) = rows[0][-1], rows[-1][-1]
    gains = [_gain(*row[-1])[0] for row in (rows[0], rows[-1])]
    least = f", {escape(worst.name)} {times(gains[1])}" if len(rows) > 1 else ""
    section.here = (
        f"On {best.workers} workers {escape(best.name)} is {times(gains[0])} as fast as on one"
        f"{least}. Whiskers span what the rounds allow."
    )
    section.tables.append(
        table(
            "Times by number of workers",
            ["workload", "workers", "time of an operation", "times as fast as on one"],
            [
                (r.name, r.workers, time(r.ns), digits(one.ns / r.ns))
                for row in rows
                for r, one in [(row[0][1], row[0][1]), *row]
            ],
        )
    )
    return section


def _by_workers(report):
    """For each case, pairs of a result on several workers and the result on one worker.
    The case that gains most is first."""
    ones = {r.key(): r for r in report.results if r.workers == 1 and r.min > 0}
    rows = {}
    for r in sorted(report.results, key=lambda r: r.workers):
        one = ones.get(r.key())
        if one and r.workers > 1 and r.min > 0 and not r.distributions:
            rows.setdefault(r.key(), []).append((r, one))
    return sorted(rows.values(), key=lambda row: -_gain(*row[-1])[0])


def _gain(r, one):
    """Return the speed-up, and the least and the greatest one between any two rounds."""
    return one.ns / r.ns, one.min / r.max, one.max / r.min


# --- steals -------------------------------------------------------------------

MAX_CELLS = 64


def steals(report):
    section = Section(
        "steals",
        "Steals between workers",
        "Tasks and forked jobs that a worker (a row) stole from another (a column) in one "
        "recorded round, which is not among the measured ones. <b>The stronger the colour, the "
        "more.</b> Even colour means that work spreads evenly; a strong column is a worker from "
        "which many were stolen.",
    )
    known = [s for s in report.steals if s.matrix]
    reasons = [f"{s.name}: {s.reason}" for s in report.steals if s.reason]
    if not known:
        why = "; ".join(reasons) or "the report is of one worker, or of an older version"
        section.missing = f"No round was recorded: {escape(why)}."
        return section
    for s in known[:MAX_PICTURES]:
        section.figures.append(_heat(s))
    lost = [s for s in known if s.lost or s.cut]
    totals = ((sum(map(sum, s.matrix)), s) for s in known)
    most = max(totals, key=lambda t: t[0])
    section.here = f"Most was stolen in {escape(most[1].name)}: {most[0]:,}. "
    section.here += (
        "There were more steals than are shown, because events were overwritten before they were "
        "read: "
        f"{escape(', '.join(map(_loss, lost)))}."
        if lost
        else "No event was lost."
    )
    return section


def _loss(s):
    return f"{s.name} ({s.lost:,} of {s.events + s.lost:,} events{', and its end' * s.cut})"


def _heat(s):
    outside = any(row[-1] for row in s.matrix)
    matrix = [row if outside else row[:-1] for row in s.matrix]
    names = [str(w) for w in range(s.workers)]
    columns = names + ["outside"] * outside
    total = sum(map(sum, matrix))
    title = f"{s.name}, {s.on_workers()}: {total:,} taken"
    if s.workers > MAX_CELLS:
        matrix, names, columns = _coarser(matrix, s.workers, outside)
    return figure(title, figures.heat(f"Steals: {escape(title)}", matrix, names, columns))


def _coarser(matrix, workers, outside):
    """Merge adjacent workers, so that the cells are large enough to see."""
    size = -(-workers // MAX_CELLS)
    parts = -(-workers // size)
    merged = [[0] * (parts + outside) for _ in range(parts)]
    for thief, row in enumerate(matrix):
        for victim, value in enumerate(row):
            merged[thief // size][parts if victim == workers else victim // size] += value
    names = [f"{i * size}-" for i in range(parts)]
    return merged, names, names + ["outside"] * outside


# --- all ----------------------------------------------------------------------


def everything(report):
    section = Section(
        "all",
        "All measurements",
        "The median of the rounds, with the shortest and the longest; stolen, parked and LIFO "
        "hits are per 1,000 operations.",
    )
    wrong = [r for r in report.results if not r.ok]
    noisy = [r for r in report.results if r.noisy]
    section.here = (
        f"{len(wrong)} results are wrong."
        if wrong
        else "Every result was the published or separately computed one."
    )
    if noisy:
        section.here += (
            f" During {plural(len(noisy), 'measurement')} of {len(report.results)} the machine was "
            "busy with other work: treat them with care."
        )
    section.tables.append(
        table(
            f"{plural(len(report.results), 'measurement')}",
            ["workload", "workers", "median", "min", "max", "stolen", "parked", "LIFO", "ok", ""],
            [_row(r) for r in report.results],
            text=(0, 8, 9),
        )
    )
    if report.missing:
        section.tables.append(
            table(
                f"What could not be compared: {len(report.missing)}",
                ["workload", "workers", "peer", "why"],
                [(c.name, c.workers, c.peer, c.missing) for c in report.missing],
                text=(0, 2, 3),
            )
        )
    return section


def _row(r):
    def rate(*names):
        return digits(1000 * sum(r.per_op(r.stats, n) or 0 for n in names)) if r.workers else ""

    return (
        r.name,
        r.workers,
        time(r.ns),
        time(r.min),
        time(r.max),
        rate("stolen", "jobs_stolen"),
        rate("parked"),
        rate("lifo_hits"),
        "yes" if r.ok else "NO",
        "noisy" if r.noisy else "",
    )


ALL = [peers, latencies, scaling, costs, steals, everything]
