#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""openmetrics.py - reads OpenMetrics text, and takes nothing that is not

read(text) returns the samples: a map from name and labels, a frozenset of pairs,
to the value as a text. ValueError says what is wrong with which line.
"""

import re

SUFFIXES = {
    "counter": ("_total",),
    "gauge": ("",),
    "histogram": ("_bucket", "_sum", "_count"),
    "info": ("_info",),
}
_META = re.compile(r"# (TYPE|UNIT|HELP) ([a-zA-Z_:][\w:]*) (.+)")
_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[n"\\])*)"(,|$)')
_NUMBER = re.compile(r"\d+(\.\d+)?(e[-+]\d+)?")


def labels_of(text):
    found, at = [], 0
    while at < len(text):
        match = _LABEL.match(text, at)
        if not match:
            raise ValueError(f"labels {text!r}")
        found.append((match[1], match[2]))
        at = match.end()
    if text.endswith(",") or len({name for name, _ in found}) != len(found):
        raise ValueError(f"labels {text!r}")
    return frozenset(found)


class Family:
    def __init__(self, name):
        self.name, self.meta, self.samples = name, {}, {}

    def add_meta(self, key, value):
        if self.samples or key in self.meta:
            raise ValueError(f"{key} of {self.name} a second time, or late")
        if key == "TYPE" and value not in SUFFIXES:
            raise ValueError(f"type {value}")
        if key == "UNIT" and not self.name.endswith("_" + value):
            raise ValueError(f"unit {value} of {self.name}")
        self.meta[key] = value

    def add_sample(self, name, labels, value):
        suffixes = SUFFIXES[self.meta["TYPE"]]
        if name not in [self.name + suffix for suffix in suffixes]:
            raise ValueError(f"{name} is not of {self.name}")
        if (name, labels) in self.samples:
            raise ValueError(f"{name} {sorted(labels)} a second time")
        if not _NUMBER.fullmatch(value):
            raise ValueError(f"value {value}")
        if self.meta["TYPE"] == "info" and value != "1":
            raise ValueError(f"an info of {value}")
        self.samples[name, labels] = value

    def check(self):
        if not {"TYPE", "HELP"} <= set(self.meta):
            raise ValueError(f"{self.name} has no type or help")
        if self.meta["TYPE"] == "histogram":
            self.check_histograms()

    def check_histograms(self):
        groups = {}
        for (name, labels), value in self.samples.items():
            if name.endswith("_bucket"):
                bound = dict(labels)["le"]
                rest = frozenset(pair for pair in labels if pair[0] != "le")
                groups.setdefault(rest, []).append((float(bound), float(value)))
        for rest, buckets in groups.items():
            if buckets != sorted(buckets) or buckets[-1][0] != float("inf"):
                raise ValueError(f"buckets of {self.name}")
            if any(a[1] > b[1] for a, b in zip(buckets, buckets[1:])):
                raise ValueError(f"buckets of {self.name} go down")
            if float(self.samples[self.name + "_count", rest]) != buckets[-1][1]:
                raise ValueError(f"the count of {self.name}")
            self.samples[self.name + "_sum", rest]


def read(text):
    if not text.endswith("# EOF\n"):
        raise ValueError("no end")
    families, family = {}, None
    for number, line in enumerate(text.splitlines()[:-1], 1):
        try:
            meta, sample = _META.fullmatch(line), _SAMPLE.fullmatch(line)
            if meta:
                if family is None or family.name != meta[2]:
                    family = Family(meta[2])
                    if families.setdefault(meta[2], family) is not family:
                        raise ValueError(f"{meta[2]} begins again")
                family.add_meta(meta[1], meta[3])
            elif sample and family:
                family.add_sample(sample[1], labels_of(sample[2] or ""), sample[3])
            else:
                raise ValueError("neither a sample nor of a family")
        except (KeyError, ValueError) as error:
            raise ValueError(f"line {number}: {line}: {error}") from error
    samples = {}
    for family in families.values():
        family.check()
        samples.update(family.samples)
    return samples
