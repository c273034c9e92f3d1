# SPDX-License-Identifier: MIT
"""latencies.py - the section on distributions of latencies"""

from html import escape
from itertools import groupby

import figures
from parts import MAX_PICTURES, Section, figure, table, tic, time

LATENCIES = {
    "latency_ns": ("skua", False),
    "awake_latency_ns": ("skua, still awake", False),
    "cold_latency_ns": ("skua, after a sleep", False),
    "futex_latency_ns": ("bare futex", True),
    "queue_latency_ns": ("queue without overhead", True),
    "serial_latency_ns": ("without forks", True),
}


def latencies(report):
    section = Section(
        "latencies",
        "Latencies",
        "Latencies as a share of all: follow a line to the height of "
        "99 % to read the time that one in a hundred exceeds. "
        "<b>Further left is better</b>; a line that leans to the right at the top has a "
        "long tail. Dashed: references without the runtime.",
    )
    shown = sorted(
        (r for r in report.results if r.distributions),
        key=lambda r: (r.key(), r.workers),
    )
    if not shown:
        section.missing = "None of the workloads in this report measures latencies."
        return section
    for _, group in groupby(shown, key=lambda r: r.key()):
        group = list(group)
        if len(section.figures) < MAX_PICTURES:
            section.figures.append(_latency_figure(report, group))
    worst = max(shown, key=lambda r: _quantile(r, 99) / (_quantile(r, 50) or 1))
    section.here = (
        f"The longest tail is that of {escape(worst.name)} with {worst.on_workers()}: half took "
        f"up to {time(_quantile(worst, 50))}, one in a hundred more than "
        f"{time(_quantile(worst, 99))}."
    )
    section.tables.append(_latency_table(shown))
    return section


def _quantile(result, percent, which="latency_ns"):
    points = result.distributions.get(which) or next(iter(result.distributions.values()))
    return next((ns for p, ns in points if p >= percent), points[-1][1] if points else 0)


def _latency_lines(report, group):
    """Yield lines as (text, dashed, points). If the workload ran on several numbers of
    workers, only the smallest and the largest are used."""
    ends = [group[0]] + group[1:][-1:]
    for result in ends:
        for which, points in result.distributions.items():
            name, dashed = LATENCIES.get(which, (which.removesuffix("_latency_ns"), True))
            if dashed and result is not ends[0]:
                continue
            where = "" if dashed or len(ends) == 1 else f", {result.on_workers()}"
            yield name + where, dashed, points
    for peer in sorted({p.peer or "" for p in report.peers}):
        runs = [
            p for p in report.peers
            if p.peer == peer and p.key() == ends[-1].key() and p.workers == ends[-1].workers
            and p.distributions.get("latency_ns")
        ]
        if peer and runs:
            middle = sorted(runs, key=lambda p: p.ns)[len(runs) // 2]
            yield f"{peer}, {middle.on_workers()}", True, middle.distributions["latency_ns"]


def _latency_figure(report, group):
    lines = [line for line in _latency_lines(report, group) if line[2]][: 2 * figures.SERIES]
    series = [(i, dashed, points) for i, (_, dashed, points) in enumerate(lines)]
    title = group[0].name
    picture = figures.distributions(f"Distribution of latencies: {escape(title)}", series, tic)
    return figure(title, picture, [(i, name, dashed) for i, (name, dashed, _) in enumerate(lines)])


def _latency_table(results):
    percents = (50, 90, 99, 99.9, 99.99)
    return table(
        "Percentiles",
        ["workload", "workers", "of", *(f"{p:g} %" for p in percents), "longest"],
        [
            (
                r.name, r.workers,
                LATENCIES.get(which, (which, True))[0],
                *(time(_quantile(r, p, which)) for p in percents),
                time(points[-1][1]),
            )
            for r in results
            for which, points in r.distributions.items()
            if points
        ],
        text=(0, 2),
    )
