#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_docs.sh - each exported function, and each class and function of C++, has a page. No page
# and no guide names a function or a page that does not exist. Each link of skua.html leads
# somewhere
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"
# shellcheck source=tests/service/docs.sh
source "$(dirname "$0")/docs.sh"

docs_make

tested=(mandoc -Tlint -Werror)
for page in "$scratch"/docs/man3/skua_{task,runtime,sync.h,cpp_channel,cpp_combine}.3; do
	run "$page"
	expect "${page##*/}" exited 0
done
if command -v man >/dev/null; then
	tested=(env MANPATH="$scratch/docs" MANPAGER=cat MANWIDTH=80 man)
	run skua_task_spawn
	expect 'man skua_task_spawn' out_has 'int skua_task_spawn(struct skua_runtime *rt'
	run skua::channel::send
	expect 'man skua::channel::send' out_has 'bool send(T value, deadline until = {});'
fi

expect 'names and links' python3 -B - "$scratch/docs" <<'END_OF_CHECK'
import re, sys
from html.parser import HTMLParser
from pathlib import Path

docs = Path(sys.argv[1])
wrong = []

made = {path.stem: path for path in docs.glob("man3/*.3")}
exported = re.findall(r"^\s*(skua_\w+);", Path("core/skua.map").read_text(), re.MULTILINE)
assert len(exported) > 200, exported
by_hand = {path.stem for path in Path().glob("core/*/*.3")}
for name in exported:
    if name != "skua_debug_root" and name not in {*made, *by_hand}:
        wrong.append(f"{name}: no page in man3")
for name, path in made.items():
    text = path.read_text()
    alias = re.fullmatch(r"\.so man3/(\S+)\.3\n", text)
    if alias and alias[1] not in made:
        wrong.append(f"{name}(3): there is no {alias[1]}(3)")
    elif alias and not re.search(rf"^\.SS {name}$", made[alias[1]].read_text(), re.MULTILINE):
        wrong.append(f"{name}(3): {alias[1]}(3) has no entry for it")
    elif "undescribed" in text:
        wrong.append(f"{name}(3): 'undescribed'")

cpp = Path("core/api/skua_cpp.3").read_text()
for name in re.findall(r"^\.(?:Vt|It Vt|Fn|It Fn) (skua::.*)", cpp, re.MULTILINE):
    for one in re.findall(r"skua::\w+(?:::\w+)*", name):
        if one not in {*made, "skua::co"}:
            wrong.append(f"skua_cpp(3): there is no page {one}(3)")
assert sum("::" in name for name in made) > 90

headers = "".join(path.read_text() for path in Path("include/skua").glob("*.h"))
declared = set(re.findall(r"\b(skua_\w+)\b", re.sub(r"/\*.*?\*/", "", headers, flags=re.DOTALL)))
written = [*Path().glob("core/*/*.[357]"), *Path().glob("bpf/man/*.[17]")]
pages = {path.name for path in written} | {path.name for path in made.values()}
guides = [Path("README.md"), *Path("docs/guides").glob("*.md")]
for path in [*written, *made.values(), *guides]:
    text = path.read_text().replace("\\f[B]", "").replace("\\f[R]", "")
    named = re.findall(r"\b(skua_\w+)\((?![1-8]\))", text)
    named += re.findall(r"^\.Fn (skua_\w+)", text, re.MULTILINE)
    wrong += [f"{path}: {n}() is not declared" for n in set(named) - declared]
    named = re.findall(r"\b(skua_[\w.]+)\(([1-8])\)", text)
    named += re.findall(r"^\.Xr (skua\S*) ([1-8])", text, re.MULTILINE)
    wrong += [f"{path}: there is no page {n}({s})" for n, s in named if f"{n}.{s}" not in pages]

class Parser(HTMLParser):
    ids, links = [], []
    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "img", "iframe", "object"), tag
        for name, value in attributes:
            assert not name.startswith("on") and name != "src", name
            if name == "id":
                self.ids.append(value)
            elif name == "href" and value != "data:,":
                self.links.append(value)

text = (docs / "skua.html").read_text()
parser = Parser()
parser.feed(text)
assert not re.search(r"\burl\(|@import", text)
wrong += [f"skua.html: id {i} twice" for i in {i for i in parser.ids if parser.ids.count(i) > 1}]
wrong += [f"skua.html: {link} leads nowhere" for link in set(parser.links)
          if link[0] != "#" or link[1:] not in parser.ids]
wrong += [f"skua.html: {name} is not in it" for name in exported
          if name != "skua_debug_root" and name not in parser.ids]
wrong += [f"skua.html: {path} is not in it" for path in guides[1:] if path.stem not in parser.ids]
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
END_OF_CHECK

finish 'each function has a page, and each name in a page leads somewhere'
