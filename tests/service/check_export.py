#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""check_export.py - do the two forms of an export hold together, and say the same?

    check_export.py CHROME.json PERFETTO.txt [WORD...]

PERFETTO.txt is what protoc --decode has made of it. Of each form: slices of a track
are one inside the other or do not touch, arrows go from an event to a later one,
and all that is named is there. Each WORD has to be the name of a slice or instant.
Prints how many there are of what.
"""

import json
import re
import sys
from ast import literal_eval
from collections import Counter, defaultdict
from fractions import Fraction

problems = []


def expect(condition, *what):
    if not condition:
        problems.append(" ".join(str(w) for w in what))


# ---- Chrome ------------------------------------------------------------------

KEYS = {
    "X": {"ph", "pid", "tid", "name", "cat", "ts", "dur", "args"},
    "i": {"ph", "pid", "tid", "name", "cat", "ts", "s", "args"},
    "s": {"ph", "pid", "tid", "name", "cat", "ts", "id", "bp"},
    "f": {"ph", "pid", "tid", "name", "cat", "ts", "id", "bp"},
    "C": {"ph", "pid", "name", "ts", "args"},
    "M": {"ph", "pid", "tid", "name", "args"},
}


def nanoseconds(text):
    """Of microseconds, with all their digits."""
    ns = Fraction(text) * 1000
    expect(ns.denominator == 1, "chrome:", text, "is not a number of ns")
    return int(ns)


def read_chrome(path):
    """Slices, instants and arrows: (track, ns, ...). A track is its process and its name."""
    with open(path, encoding="utf-8") as file:
        trace = json.load(file, parse_float=str)
    tracks, slices, instants, flows = {}, [], [], defaultdict(dict)
    processes = {}
    for event in trace["traceEvents"]:
        phase = event.get("ph")
        expect(set(event) == KEYS.get(phase), "chrome: the keys of", event)
        thread = event["pid"], event.get("tid")
        if phase == "M" and event["name"] == "process_name":
            expect(event["pid"] not in processes, "chrome: a process twice:", event)
            processes[event["pid"]] = event["args"]["name"]
        if phase == "M" and event["name"] == "thread_name":
            expect(thread not in tracks, "chrome: a thread twice:", event)
            tracks[thread] = processes[event["pid"]], event["args"]["name"]
        if phase in ("M", "C"):
            continue
        track, ns = tracks.get(thread), nanoseconds(event["ts"])
        expect(track, "chrome: no name for the thread of", event)
        if phase == "X":
            slices.append((track, ns, ns + nanoseconds(event["dur"]), event["name"]))
        elif phase == "i":
            instants.append((track, ns, event["name"]))
        else:
            expect(phase not in flows[event["id"]], "chrome: an arrow twice", event)
            flows[event["id"]][phase] = (track, ns)
    return slices, instants, flows


# ---- Perfetto ----------------------------------------------------------------

LINE = re.compile(r'\s*(?:(\w+) \{|(\w+): (.*)|(\}))$')


def parse_text(path):
    """Messages as dictionaries of lists."""
    root = {}
    stack = [root]
    with open(path, encoding="utf-8") as file:
        for line in file:
            opens, key, value, closes = LINE.match(line).groups()
            if closes:
                stack.pop()
                continue
            expect(not (opens or key).isdigit(), "perfetto: unknown field", line)
            if opens:
                stack.append({})
            stack[-2 if opens else -1].setdefault(opens or key, []).append(
                stack[-1] if opens else value
            )
    return root


def track_name(descriptor, processes, tracks):
    """The process and the name of a track. Notes a process by its number."""
    if "process" in descriptor:
        process = descriptor["process"][0]
        expect(process["pid"][0] not in processes, "perfetto: a process twice")
        name = literal_eval(process["process_name"][0])
        processes[process["pid"][0]] = name
        return name, ""
    if "thread" in descriptor:
        thread = descriptor["thread"][0]
        return processes[thread["pid"][0]], literal_eval(thread["thread_name"][0])
    parent = tracks[descriptor["parent_uuid"][0]]
    return parent[0], literal_eval(descriptor["name"][0])


def read_perfetto(path):
    tracks, slices, instants, flows = {}, [], [], defaultdict(dict)
    events, processes = [], {}
    for i, packet in enumerate(parse_text(path).get("packet", [])):
        expect(packet["trusted_packet_sequence_id"] == ["1"], "perfetto: sequence")
        expect(packet["sequence_flags"] == ["1" if i == 0 else "2"], "perfetto: flags")
        for descriptor in packet.get("track_descriptor", []):
            expect(descriptor["uuid"][0] not in tracks, "perfetto: a track twice")
            name = track_name(descriptor, processes, tracks)
            tracks[descriptor["uuid"][0]] = name
        for event in packet.get("track_event", []):
            events.append((int(packet["timestamp"][0]), event))
    events.sort(key=lambda e: e[0])  # stable, as Perfetto does
    open_slices = defaultdict(list)
    for ns, event in events:
        uuid, kind = event["track_uuid"][0], event["type"][0]
        expect(uuid in tracks, "perfetto: no track", uuid)
        track = tracks.get(uuid)
        name = literal_eval(event["name"][0]) if "name" in event else None
        if kind == "TYPE_SLICE_BEGIN":
            open_slices[uuid].append((ns, name))
        elif kind == "TYPE_SLICE_END":
            expect(open_slices[uuid], "perfetto: an end without a beginning at", ns)
            if open_slices[uuid]:
                begin, name = open_slices[uuid].pop()
                slices.append((track, begin, ns, name))
        elif kind == "TYPE_INSTANT":
            instants.append((track, ns, name))
        for key, phase in (("flow_ids", "s"), ("terminating_flow_ids", "f")):
            for number in event.get(key, []):
                expect(phase not in flows[int(number)], "perfetto: an arrow twice")
                flows[int(number)][phase] = (track, ns)
    for uuid, left in open_slices.items():
        expect(not left, "perfetto: no end of", left, "in", tracks.get(uuid))
    return slices, instants, flows


# ---- both --------------------------------------------------------------------


def check(form, slices, flows):
    by_track = defaultdict(list)
    for track, begin, end, name in slices:
        expect(begin <= end, form, name, "ends before it begins:", begin, end)
        by_track[track].append((begin, -end, name))
    for track, found in by_track.items():
        around = []
        for begin, end, name in sorted(found):
            while around and around[-1] <= begin:
                around.pop()
            expect(not around or -end <= around[-1], form, track, name, "crosses", begin)
            around.append(-end)
    for number, ends in flows.items():
        expect("s" in ends, form, "arrow", number, "has no beginning")
        if "s" in ends and "f" in ends:
            expect(ends["s"][1] <= ends["f"][1], form, "arrow", number, "goes back")


def main():
    chrome, perfetto = read_chrome(sys.argv[1]), read_perfetto(sys.argv[2])
    for form, (slices, _, flows) in (("chrome:", chrome), ("perfetto:", perfetto)):
        check(form, slices, flows)
    for what, ours, theirs in zip(("slices", "instants"), chrome, perfetto):
        differ = Counter(ours) - Counter(theirs), Counter(theirs) - Counter(ours)
        expect(not any(differ), what, "differ:", [list(d)[:3] for d in differ])
    expect(chrome[2] == perfetto[2], "arrows differ")
    names = {s[3] for s in chrome[0]} | {i[2] for i in chrome[1]}
    for word in sys.argv[3:]:
        expect(word in names, "no", word, "among", sorted(names))
    for problem in problems[:20]:
        print(problem)
    whole = sum(len(ends) == 2 for ends in chrome[2].values())
    print(f"{len(chrome[0])} slices, {len(chrome[1])} instants, {whole} arrows")
    sys.exit(1 if problems else 0)


main()
