# SPDX-License-Identifier: MIT
"""report.py - read a report.json, which may come from anybody: each value that is used
is checked, and a file with a bad one is refused"""

import json
import math
from collections import defaultdict

FORMAT = 1
MAX_WORKERS = 4096


class Invalid(Exception):
    """The file is not a valid report; the text gives the reason."""


def _refuse_constant(name):
    raise Invalid(f"{name} is no number")


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"no JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("results"), list):
        raise Invalid('it is no report.json: it has no "results"')
    if data.get("format", FORMAT) != FORMAT:
        raise Invalid(f"its format is not {FORMAT}: it is of another version of skua-bench")
    return Report(data)


# --- checks of values ---------------------------------------------------------


def is_number(value):
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and abs(value) < 1e30  # before isfinite(), which fails for very long integers
        and math.isfinite(value)
    )


def number(where, name, least=0.0, most=1e30):
    value = where.get(name)
    if not is_number(value) or not least <= value <= most:
        raise Invalid(f'"{name}" is {value!r:.40}, and no number from {least:g} to {most:g}')
    return value


def text(where, name):
    value = where.get(name)
    if not isinstance(value, str):
        raise Invalid(f'"{name}" is no text')
    return "".join(c if c.isprintable() else "?" for c in value[:300])


def members(where, name, kind):
    """Return a list whose elements must all be of a kind. [] if the report lacks it."""
    value = where.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(v, kind) for v in value):
        raise Invalid(f'"{name}" is no list of {kind.__name__}')
    return value


def inner(where, name):
    value = where.get(name)
    return value if isinstance(value, dict) else {}


# --- parts of a report --------------------------------------------------------


class Case:
    """A workload with its options and number of workers."""

    def __init__(self, data):
        self.workload = text(data, "workload")
        self.params = inner(data, "params")
        self.workers = int(number(data, "workers", 0, MAX_WORKERS))
        self.name = self.workload  # _name() adds the options in which it differs from others

    def key(self):
        return self.workload, json.dumps(self.params, sort_keys=True)

    def on_workers(self):
        if self.workers == 0:
            return "without workers"
        return f"{self.workers} worker{'s' * (self.workers != 1)}"


class Result(Case):
    def __init__(self, data):
        super().__init__(data)
        self.ns = number(data, "ns_per_op")
        self.min = number(data, "min")
        self.max = number(data, "max")
        self.all_ops = number(data, "ops", 1) * number(data, "rounds", 1)
        self.rounds = int(number(data, "rounds", 1))
        self.ok = data.get("ok") is True
        self.noisy = data.get("noisy") is True
        self.usage = inner(data, "usage")
        self.stats = inner(data, "stats")
        self.counters = inner(data, "counters")
        self.reason = data.get("counters_reason")
        self.peer = data.get("peer") if isinstance(data.get("peer"), str) else None
        self.distributions = {
            name: self._quantiles(value)
            for name, value in data.items()
            if name.endswith("latency_ns") and isinstance(value, dict)
        }

    @staticmethod
    def _quantiles(data):
        """Return pairs of percent and ns. A peer's result has named percentiles only."""
        points = members(data, "quantiles", list)
        if not points:
            named = {"p50": 50, "p90": 90, "p99": 99, "p999": 99.9, "p9999": 99.99}
            points = [[named[n], data[n]] for n in named if n in data]
        for point in points:
            if len(point) != 2 or not all(is_number(v) and v >= 0 for v in point):
                raise Invalid("a quantile is no pair of numbers")
        return points

    def per_op(self, where, name):
        """Return a count over all rounds, divided by operations. None: unknown."""
        value = where.get(name)
        return value / self.all_ops if is_number(value) and value >= 0 else None


class Comparison(Case):
    """One metric of a case, for skua and a peer."""

    def __init__(self, data):
        super().__init__(data)
        self.peer = text(data, "peer")
        self.missing = next(
            (text(data, n) for n in ("failed", "left_out") if n in data), None
        )
        if self.missing is not None:
            return
        self.metric = text(data, "metric")
        self.slower = data.get("slower") is True
        self.noisy = int(number(data, "noisy"))
        self.times = int(number(data, "alternations"))
        self.ratio = self._spread(data, "ratio")
        unit = "slowdown" if "skua_slowdown" in data else "ns"
        self.skua = self._spread(data, f"skua_{unit}")
        self.other = self._spread(data, f"peer_{unit}")

    @staticmethod
    def _spread(data, name):
        spread = inner(data, name)
        return tuple(number(spread, n, 1e-30) for n in ("median", "min", "max"))

    def is_rival(self):
        return self.peer not in ("queue", "bare")


class Steals(Case):
    """Steals of a round. Rows are thieves, columns victims; the last column is for
    external threads."""

    def __init__(self, data):
        super().__init__(data)
        self.reason = text(data, "reason") if "reason" in data else None
        self.events = self.lost = 0
        self.matrix = []
        if self.reason is not None:
            return
        self.events = int(number(data, "events"))
        self.lost = int(number(data, "lost"))
        self.cut = data.get("cut") is True
        self.matrix = [[0] * (self.workers + 1) for _ in range(self.workers)]
        for row in members(data, "steals", list):
            self._add(row)

    def _add(self, row):
        if len(row) != 5 or not all(is_number(v) and v >= 0 for v in row[2:]):
            raise Invalid("a steal is not thief, victim and three counts")
        thief, victim, _, tasks, jobs = row
        victim = self.workers if victim is None else victim
        if not all(isinstance(w, int) and w >= 0 for w in (thief, victim)) or (
            thief >= self.workers or victim > self.workers
        ):
            raise Invalid("a steal is of no worker")
        self.matrix[thief][victim] += int(tasks + jobs)


class Report:
    def __init__(self, data):
        self.machine = {
            text({"k": k}, "k"): text({"v": str(v)}, "v")
            for k, v in inner(data, "machine").items()
        }
        self.results = [Result(r) for r in members(data, "results", dict)]
        self.peers = [Result(r) for r in members(data, "peers", dict)]
        self.steals = [Steals(s) for s in members(data, "steals", dict)]
        compared = [Comparison(c) for c in members(data, "comparisons", dict)]
        self.comparisons = [c for c in compared if c.missing is None]
        self.missing = [c for c in compared if c.missing is not None]
        self.with_peers = "comparisons" in data
        self.calibration = inner(data, "calibration")
        if not self.results:
            raise Invalid("no results are in it")
        self._name(self.results + self.steals + compared + self.peers)

    @staticmethod
    def _name(cases):
        """Add the options that distinguish the cases of a workload to their names."""
        values = defaultdict(lambda: defaultdict(set))
        for case in cases:
            for key, value in case.params.items():
                values[case.workload][key].add(json.dumps(value))
        for case in cases:
            for key, value in case.params.items():
                if value is True:
                    case.name += f" {key}"
                elif len(values[case.workload][key]) > 1:
                    case.name += f" {key}={value}"
            case.name = text({"name": case.name}, "name")
