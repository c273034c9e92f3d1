# SPDX-License-Identifier: MIT
"""costs.py - the section on the cost of an operation"""

from html import escape

import figures
from parts import Section, digits, figure, table, tic, time

COUNTERS = [
    ("cycles", "Cycles"),
    ("instructions", "Instructions"),
    ("cache_misses", "Cache misses"),
    ("branch_misses", "Branch misses"),
]


def costs(report):
    section = Section(
        "costs",
        "Cost of an operation",
        "The resources that an operation, such as a task, uses in all threads together. "
        "<b>Further left is cheaper.</b> The kernel counts CPU time; the processor counts "
        "cycles and misses, in user mode.",
    )
    ends = _one_and_most(report)
    inks = {"one worker": 0, "all workers": 1}
    for value, title, axis, show in [
        (lambda r: r.per_op(r.usage, "cpu_ns"), "CPU time of an operation", "CPU time", tic),
        *(
            (
                lambda r, name=name: r.per_op(r.counters, name),
                f"{title} of an operation",
                f"{title.lower()} by operation",
                "{:g}".format,
            )
            for name, title in COUNTERS
        ),
    ]:
        _costs_of(section, ends, inks, value, title, axis, show)
    reason = next((r.reason for r in report.results if isinstance(r.reason, str)), None)
    if not any(r.counters for r in report.results):
        section.here = "Cycles and misses are not known here: "
        section.here += f"{escape(reason or 'they were not counted')}."
    elif reason:
        section.here = f"Not all could be counted: {escape(reason)}."
    if not section.figures:
        section.missing = "This report has no costs of any workload. " + section.here
    section.tables.append(_counters_table(report))
    section.tables.append(_usage_table(report))
    return section


def _one_and_most(report):
    """For each case, the results on one worker and on the largest number of workers."""
    rows = {}
    for r in report.results:
        if r.workers == 0:
            continue
        row = rows.setdefault(r.key(), {})
        if r.workers == 1:
            row["one worker"] = r
        elif "all workers" not in row or row["all workers"].workers < r.workers:
            row["all workers"] = r
    return list(rows.values())


def _costs_of(section, ends, inks, value, title, axis, show):
    rows = []
    for row in ends:
        known = {which: value(r) for which, r in row.items()}
        known = {inks[which]: (v, v, v) for which, v in known.items() if v}
        if known:
            rows.append((next(iter(row.values())).name, known))
    if not rows:
        return
    rows.sort(key=lambda row: -max(v for v, _, _ in row[1].values()))
    picture = figures.dots(title, rows, axis, show=show)
    section.figures.append(
        figure(title, picture, [(i, name, False) for name, i in inks.items()])
    )


def _counters_table(report):
    rows = []
    for r in report.results:
        events = r.counters.get("events")
        for event in events if isinstance(events, list) else []:
            name, value = event.get("name"), r.per_op(event, "value")
            ratio = event.get("run_ratio")
            if value is not None and isinstance(name, str) and isinstance(ratio, (int, float)):
                rows.append((r.name, r.workers, name, digits(value), f"{100 * ratio:.0f} %"))
    if not rows:
        return ""
    return table(
        "Hardware counters, and how much of the time each was counted",
        ["workload", "workers", "event", "by operation", "counted"],
        rows,
        text=(0, 2),
    )


def _usage_table(report):
    names = ["voluntary_switches", "involuntary_switches", "page_faults"]
    rows = [
        (
            r.name, r.workers, time(r.per_op(r.usage, "cpu_ns") or 0),
            *(digits(1000 * (r.per_op(r.usage, n) or 0)) for n in names),
        )
        for r in report.results
        if r.usage
    ]
    if not rows:
        return ""
    return table(
        "CPU time, switches of threads and page faults, as the kernel counted them",
        ["workload", "workers", "CPU time", "waits/kop", "preempted/kop", "faults/kop"],
        rows,
    )
