# SPDX-License-Identifier: MIT
"""page.py - the page around its sections"""

from html import escape
from pathlib import Path

import sections
from parts import digits, plural, times

MAX_LOSSES = 8

TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>skua benchmark report</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<header>
<h1>skua benchmark report</h1>
<p class="machine">{machine}</p>
</header>
<main>
<div class="cards">
{cards}
</div>
{losses}
<nav aria-label="Sections">{nav}</nav>
{sections}
</main>
<footer>
<p>How it was measured: bench/README.md. All figures: report.json, beside this file; two of them are
compared by <code>skua-bench compare</code>.</p>
</footer>
</body>
</html>
"""


def make(report):
    parts = [make_section(report) for make_section in sections.ALL]
    return TEMPLATE.format(
        style=(Path(__file__).parent / "style.css").read_text(encoding="utf-8"),
        machine=_machine(report.machine),
        cards="\n".join(_card(*card) for card in _cards(report)),
        losses=_losses(report),
        nav=" ".join(f'<a href="#{s.name}">{escape(s.title)}</a>' for s in parts),
        sections="\n".join(_section(s) for s in parts),
    )


def _machine(machine):
    said = dict(machine)
    first = ["skua", "cpu", "cpus", "kernel", "compiler", "time"]
    prefixes = {"skua": "skua ", "cpus": "CPUs: "}
    known = [prefixes.get(name, "") + said.pop(name) for name in first if name in said]
    return escape(" · ".join(known + [f"{k}: {v}" for k, v in said.items()]))


# --- summary ------------------------------------------------------------------


def _card(good, figure, text):
    return f'<div class="card {good}"><b>{escape(figure)}</b><span>{escape(text)}</span></div>'


def _cards(report):
    results = report.results
    wrong = sum(not r.ok for r in results)
    noisy = sum(r.noisy for r in results)
    yield (
        "bad" if wrong else "good",
        f"{wrong} wrong" if wrong else "All results right",
        f"{plural(len(results), 'measurement')} of "
        f"{plural(len({r.workload for r in results}), 'workload')}, each result checked",
    )
    rivals = sections.rivals(report)
    lost = sum(c.slower for c in rivals)
    if rivals:
        yield (
            "plain",
            f"{lost} of {len(rivals)}",
            "comparisons in which skua is slower than another scheduler",
        )
    else:
        yield "plain", "No peers", "no other scheduler was measured"
    counted = sum(bool(r.counters) for r in results)
    reason = next((r.reason for r in results if isinstance(r.reason, str)), "")
    yield (
        "plain",
        f"{counted} counted" if counted else "No counters",
        "with hardware counters" if counted else reason or "hardware counters were not asked for",
    )
    yield (
        "warn" if 4 * noisy > len(results) else "good",
        f"{noisy} noisy" if noisy else "Quiet",
        f"of {len(results)} measured while the machine was busy with other work"
        if noisy
        else "the machine had no other work meanwhile",
    )


def _losses(report):
    lost = sorted((c for c in sections.rivals(report) if c.slower), key=lambda c: -c.ratio[0])
    if not lost:
        return ""
    rows = "".join(
        f"<tr><td class=text>{escape(sections.row_name(c))}</td>"
        f"<td class=text>{escape(c.peer)}</td><td>{times(c.ratio[0])}</td>"
        f"<td>{_spread(c)}</td></tr>"
        for c in lost[:MAX_LOSSES]
    )
    more = len(lost) - MAX_LOSSES
    rest = f'<p class="more"><a href="#peers">and {more} more</a></p>' if more > 0 else ""
    return (
        "<section class=losses><h2>Where skua is slower</h2><div class=scroll><table>"
        "<thead><tr><th class=text>workload</th><th class=text>than</th><th>time</th>"
        "<th>over the runs</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>{rest}</section>"
    )


def _spread(c):
    return "once" if c.times == 1 else f"{digits(c.ratio[1])} to {digits(c.ratio[2])}"


# --- sections -----------------------------------------------------------------


def _section(section):
    parts = [f'<section id="{section.name}"><h2>{escape(section.title)}</h2>']
    if section.missing:
        parts.append(f"<p class=missing>{section.missing}</p>")
    else:
        parts.append(f"<p class=lead>{section.lead}</p>")
        parts.append(f"<p class=here>{section.here}</p>" if section.here else "")
    if section.figures:
        wide = any("plot wide" in f for f in section.figures)
        parts.append(f'<div class="figures {"one" if wide else "many"}">')
        parts += [*section.figures, "</div>"]
    return "\n".join([*parts, *section.tables, "</section>"])
