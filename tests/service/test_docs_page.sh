#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_docs_page.sh - skua.html in a browser: it requests nothing, reports no error, fits
# the window, and shows the target of a link
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"
# shellcheck source=tests/service/docs.sh
source "$(dirname "$0")/docs.sh"

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [[ ! $browser ]]; then
	echo 'chromium is not installed'
	exit 77
fi
docs_make

# The page itself has no script: this one says what the browser made of it.
read -r -d '' probe <<'END_OF_PROBE'
<script>
const errors = [];
addEventListener("error", e => errors.push(e.message || "a resource"), true);
addEventListener("load", () => {
	const links = [...document.querySelectorAll("a[href]")];
	const lost = links.map(a => a.getAttribute("href"))
		.filter(h => h[0] != "#" || !document.getElementById(decodeURIComponent(h.slice(1))));
	location.hash = "#skua_task_spawn";
	requestAnimationFrame(() => {
		const at = document.getElementById("skua_task_spawn").getBoundingClientRect();
		document.documentElement.dataset.probe = JSON.stringify({errors, lost,
			links: links.length, top: at.top, height: innerHeight, width: innerWidth,
			wide: document.documentElement.scrollWidth,
			requests: performance.getEntriesByType("resource").length});
	});
});
</script>
END_OF_PROBE
python3 -c 'import sys; page = open(sys.argv[1]).read()
print(page.replace("<head>", "<head>" + sys.argv[2], 1))' \
	"$scratch/docs/skua.html" "$probe" >"$scratch/probed.html"

no_console() { ! grep -q 'CONSOLE' "$scratch/err"; }

seen()
{
	python3 - "$scratch/out" <<'END_OF_CHECK'
import html, json, re, sys
dom = open(sys.argv[1]).read()
said = json.loads(html.unescape(re.search(r'data-probe="([^"]*)"', dom).group(1)))
assert said["errors"] == [] and said["lost"] == [] and said["requests"] == 0, said
assert said["links"] > 1000, said
assert 0 <= said["top"] < said["height"], said
assert said["wide"] <= said["width"], said
END_OF_CHECK
}

for width in 1300 500; do
	tested=(timeout 120 "$browser" --headless --no-sandbox --disable-gpu
		--user-data-dir="$scratch/profile" --enable-logging=stderr
		--window-size="$width,900" --virtual-time-budget=10000 --dump-dom)
	run "file://$scratch/probed.html"
	expect "$width wide" exited 0
	expect "$width wide" no_console
	expect "$width wide" seen
	: >"$scratch/out" # the page is long
done
finish 'a browser shows the page, requests nothing, and finds each target'
