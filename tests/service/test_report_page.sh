#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_report_page.sh [SKUA-BENCH] - report.html, of a report that was measured and
# of one that was made up, as a browser shows it
#
# Built elsewhere than in build/: name it, or set SKUA_BUILD_DIR.
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

here=$(dirname "$0")
bench=${1:-$build/bench/skua-bench}
page=$here/../../bench/report/page
needs "$bench"
if ! command -v gnuplot >/dev/null; then
	echo "gnuplot is not installed (Debian package gnuplot-nox)"
	exit 77
fi
made() { python3 -B "$here/made_report.py"; }
make_page() { python3 -B "$page" "$@"; }

# --- what is refused ------------------------------------------------------------

# refused TEXT SOURCE - a file that is no report: one line, which has the text
refused()
{
	printf '%s' "$2" >"$scratch/bad.json"
	tested=(make_page)
	run "$scratch/bad.json" "$scratch/bad.html"
	expect "$1" exited 1
	expect "$1" err_lines 1
	expect "$1" err_has "$1"
	expect "$1" test ! -e "$scratch/bad.html"
}

result='"workload":"w","params":{},"workers":1,"ns_per_op":1,"min":1,"max":1,"ops":1'
refused 'no JSON' ''
made >"$scratch/made.json"
refused 'no JSON' "$(head -c 5000 "$scratch/made.json")"
refused 'no JSON' "$(printf '[%.0s' {1..100000})"
refused 'NaN is no number' '{"results":[NaN]}'
refused 'it has no "results"' '[]'
refused 'no results are in it' '{"results":[]}'
refused 'another version' '{"format":2,"results":[]}'
refused '"results" is no list of dict' '{"results":[7]}'
refused '"workload" is no text' '{"results":[{}]}'
refused '"rounds" is None' "{\"results\":[{$result}]}"
refused '"workers" is 1e+99' "{\"results\":[{${result/1/1e99}}]}"
for part in '"steals":[{"workload":"w","workers":2,"events":0,"lost":0,"steals":[[9,0,1,1,1]]}]' \
	'"comparisons":[{"workload":"w","workers":2}]' '"peers":7'; do
	refused 'bad.json: ' "{\"results\":[{$result,\"rounds\":1}],$part}"
done
tested=(make_page)
run "$scratch/none.json" "$scratch/bad.html"
expect 'no file' exited 1
expect 'no file' err_has 'No such file'
run only-one
expect 'one file' exited 2

# --- two pages ------------------------------------------------------------------

run "$scratch/made.json" "$scratch/made.html"
expect 'a made report' exited 0
# Beside a peer that takes half an hour for a call.
python3 - "$scratch/made.json" >"$scratch/tiny.json" <<'END_OF_CHANGE'
import json, sys
report = json.load(open(sys.argv[1]))
report["comparisons"][0]["ratio"] = {"median": 6e-8, "min": 5e-10, "max": 7e-8}
json.dump(report, sys.stdout)
END_OF_CHANGE
run "$scratch/tiny.json" "$scratch/tiny.html"
expect 'a tiny ratio' exited 0

tested=("$bench")
run report --quick --no-peers --workload chained_spawn --out "$scratch/report"
expect 'a report' exited 0
expect 'a report' err_has "written: $scratch/report/report.html"
expect 'what was recorded' python3 - "$scratch/report/report.json" <<'END_OF_CHECK'
import json, os, sys
report = json.load(open(sys.argv[1]))
several = len(os.sched_getaffinity(0)) > 1
assert len(report["steals"]) <= several, report["steals"]
for s in report["steals"]:
    assert s["events"] > 0 and s["lost"] >= 0, s
    assert all(thief != victim for thief, victim, *_ in s["steals"]), s
for r in report["results"]:
    assert len(r["rounds_ns"]) == r["rounds"] == 3
    assert r["min"] == min(r["rounds_ns"]) and r["max"] == max(r["rounds_ns"])
    assert r["usage"]["cpu_ns"] > 0
END_OF_CHECK

# A page needs nothing else, and has nothing of a report in it but as text.
for file in made report/report; do
	expect "$file" python3 - "$scratch/$file.html" <<'END_OF_CHECK'
import re, sys
from html.parser import HTMLParser

class Parser(HTMLParser):
    ids, figures, texts = [], 0, []
    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "link", "img", "iframe", "image") or (
            tag == "link" and ("href", "data:,") in attributes), tag
        for name, value in attributes:
            assert not name.startswith("on"), name
            assert name not in ("src", "href") or value.startswith("#") or value == "data:,", value
            if name == "id":
                self.ids.append(value)
        self.figures += tag == "figure"
    def handle_data(self, data):
        self.texts.append(data)

page = open(sys.argv[1], encoding="utf-8").read()
parser = Parser()
parser.feed(page)
assert "http" not in page and "url(" not in page and "@import" not in page
assert len(parser.ids) == len(set(parser.ids)), "an id twice"
made = sys.argv[1].endswith("made.html")
assert parser.figures == (2 + 1 + 1 + 5 + 2 if made else 2 + any("taken" in t for t in parser.texts)), parser.figures
assert not made or 'No <Processor> & "none"' in "".join(parser.texts)
END_OF_CHECK
done

# --- as a browser shows them ----------------------------------------------------

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [[ ! $browser ]]; then
	((failed == 0)) || exit 1
	echo "chromium is not installed: nobody has looked at the pages"
	exit 77
fi

# The page itself has no script: this one says what the browser made of it.
read -r -d '' probe <<'END_OF_PROBE'
<script>
const errors = [];
addEventListener("error", e => errors.push(e.message || "a resource"), true);
addEventListener("load", () => {
	const shown = [...document.querySelectorAll("figure")].map(figure =>
		[...figure.querySelectorAll("svg")].filter(svg => {
			const box = svg.getBoundingClientRect();
			const marks = [...svg.querySelectorAll("path, polygon, use")]
				.filter(mark => { const b = mark.getBBox(); return b.width + b.height > 0; });
			return box.width > 100 && box.height > 50 && marks.length > 1 &&
				svg.querySelector("title").textContent;
		}).length);
	const said = {errors, shown, width: innerWidth,
		wide: document.documentElement.scrollWidth,
		dark: getComputedStyle(document.body).backgroundColor,
		requests: performance.getEntriesByType("resource").length};
	document.documentElement.dataset.probe = JSON.stringify(said);
});
</script>
END_OF_PROBE

# look FILE WIDTH OPTION... - $scratch/out and err say what was seen
look()
{
	python3 -c 'import sys; page = open(sys.argv[1]).read()
print(page.replace("<head>", "<head>" + sys.argv[2], 1))' \
		"$scratch/$1.html" "$probe" >"$scratch/probed.html"
	tested=(timeout 120 "$browser" --headless --no-sandbox --disable-gpu
		--user-data-dir="$scratch/profile" --enable-logging=stderr
		--window-size="$2,900" "${@:3}" --dump-dom)
	run "file://$scratch/probed.html"
	expect "$1" exited 0
	expect "$1" no_console
}

no_console() { ! grep -q 'CONSOLE' "$scratch/err"; }

# seen FIGURES - every one of them shows one picture, and nothing is wrong
seen()
{
	python3 - "$scratch/out" "$1" "$scratch/colour" <<'END_OF_CHECK'
import html, json, re, sys
dom = open(sys.argv[1]).read()
said = json.loads(html.unescape(re.search(r'data-probe="([^"]*)"', dom).group(1)))
assert said["errors"] == [] and said["requests"] == 0, said
assert said["shown"] == [1] * len(said["shown"]), said["shown"]
assert len(said["shown"]) >= int(sys.argv[2]), said["shown"]
assert said["wide"] <= said["width"], "it is wider than the screen"
open(sys.argv[3], "w").write(said["dark"])
END_OF_CHECK
}

look made 1200
expect 'made, wide' seen 11
light=$(<"$scratch/colour")
look made 500 --blink-settings=preferredColorScheme=0
expect 'made, narrow and dark' seen 11
expect 'light and dark' test "$light" != "$(<"$scratch/colour")"
look report/report 1200
expect 'measured' seen 1

finish "a page of a report shows every picture, wide and narrow, light and dark"
