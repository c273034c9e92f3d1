#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""build.py - make the reference pages of the public headers, and one page for a browser

usage: build.py [--kernel-doc PROGRAM] FOLDER

Writes FOLDER/man3, a man page for each public header and an alias for each name in it, and
FOLDER/skua.html, which has the guides, all man pages and the reference, and needs no other
file. The text comes from the comments of the headers (in C: kernel-doc), from docs/guides
(pandoc) and from the man pages of the tree (mandoc).
"""

import argparse
import html
import re
import subprocess
import sys
from pathlib import Path

from reference import read_header
from reference_cpp import read_cpp_header

ROOT = Path(__file__).resolve().parents[1]
GUIDES = (
    "first_program tasks fork_join fibers network event_loop topology tracing deploying "
    "other_languages coming_from_libuv coming_from_tokio coming_from_pthreads "
    "coming_from_openmp coming_from_onetbb"
).split()
KINDS = ("macro", "enum", "struct", "union", "type", "class", "constructor", "member", "function")


def run(*command, text):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode or done.stderr:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def headers(kernel_doc):
    """Return the public headers that a program includes by themselves."""
    found = []
    for path in sorted((ROOT / "include/skua").glob("*.h")):
        if path.stem != "skua" and "Do not include it by itself" not in path.read_text():
            found.append(read_header(kernel_doc, path))
    in_cpp = [read_cpp_header(path) for path in sorted((ROOT / "include/skua/cpp").glob("*.hpp"))]
    return found + [header for header in in_cpp if header.entries]


def written_pages():
    """Return the man pages of the tree: section, name and path, concepts first."""
    paths = [*ROOT.glob("core/*/*.[357]"), *ROOT.glob("bpf/man/*.[17]")]
    order = "7531"
    pages = [(p.suffix[1:], p.stem, p) for p in paths]
    return sorted(pages, key=lambda p: (order.index(p[0]), p[1]))


def page_name(header, written):
    """Return skua_task for skua/task.h, skua_cpp_task for skua/cpp/task.hpp, or skua_sync.h
    where skua_sync(3) is by hand."""
    name = f"skua_{header.name}"
    return f"{name}.h" if ("3", name) in written else name


def block(text):
    return "::\n\n" + "\n".join(f"   {line}" for line in text.splitlines())


def entry_text(entry):
    purpose = entry.purpose[0].upper() + entry.purpose[1:] + "."
    parts = [purpose, entry.prototype and block(entry.prototype), entry.text]
    return "\n\n".join(part for part in parts if part)


def heading(text, mark):
    return f"{text}\n{mark * len(text)}"


def man_text(header, name, others, written):
    """Return a man page as reStructuredText; @others are the pages that share a name with it."""
    names = dict.fromkeys([name, *header.names()])
    parts = [heading("NAME", "=")]
    parts.append(f"{', '.join(names)} - {header.purpose}")
    parts.append(heading("SYNOPSIS", "="))
    parts.append(f"**#include <{header.file}>**")
    prototypes = [e.prototype for e in header.entries if e.kind == "function"]
    if prototypes:
        parts.append(block("\n".join(prototypes)))
    if header.about:
        parts += [heading("DESCRIPTION", "="), header.about]
    types = "CLASSES" if header.file.endswith(".hpp") else "TYPES AND MACROS"
    for title, kinds in ((types, KINDS[:-1]), ("FUNCTIONS", KINDS[-1:])):
        entries = [e for e in header.entries if e.kind in kinds]
        if entries:
            parts.append(heading(title, "="))
        for e in entries:
            parts += [heading(e.name, "-"), entry_text(e)]
    others = ["skua(7)", *(f"{other}(3)" for other in others)]
    if types == "CLASSES":
        others.append("skua_cpp(3)")
    for section, stem in (("3", f"skua_{header.name}"), ("7", f"skua_{header.name}")):
        if (section, stem) in written:
            others.append(f"{stem}({section})")
    parts += [heading("SEE ALSO", "="), ", ".join(others)]
    return "\n\n".join(parts) + "\n"


def write_man(found, written, version, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.3"):
        old.unlink()
    names = {header.name: page_name(header, written) for header in found}
    taken = set(names.values()) | {stem for section, stem in written if section == "3"}
    for header in found:
        name = names[header.name]
        options = ["-V", f"title={name.upper()}", "-V", "section=3", "-V", f"footer=skua {version}"]
        options += ["-V", "header=skua", "-V", "adjusting=l", "-M", "hyphenate=false"]
        others = [names[other.name] for other in found
                  if other is not header and {*other.names()} & {*header.names()}]
        page = run("pandoc", "-f", "rst", "-t", "man", "-s", *options,
                   text=man_text(header, name, others, written))
        (folder / f"{name}.3").write_text(page.replace(r"\f[C]", ""))  # groff only
        for alias in header.names():
            if alias not in taken:
                taken.add(alias)
                (folder / f"{alias}.3").write_text(f".so man3/{name}.3\n")


# --- the page for a browser -----------------------------------------------------


def fragment(text, source, shift):
    return run("pandoc", "-f", source, "-t", "html5", "--no-highlight", "--wrap=none",
               f"--shift-heading-level-by={shift}", text=text)


def section(anchor, title, body):
    return f'<section id="{anchor}">\n<h2>{html.escape(title)}</h2>\n{body}</section>\n'


def own_anchors(body, anchor):
    """Put the anchor of a section before the anchors within it."""
    return re.sub(r'(\bid="|\bhref="#)(?!\w[\w-]*\.[1-8]")', rf"\g<1>{anchor}-", body)


def guide_section(name):
    text = (ROOT / f"docs/guides/{name}.md").read_text()
    title, _, rest = text.partition("\n")
    body = own_anchors(fragment(rest, "gfm", 1), name)
    # Links to other guides, and to files of the tree, which the page does not have.
    body = re.sub(r'href="(\w+)\.md"', r'href="#\1"', body)
    body = re.sub(r'<a href="\.\.[^"]*">(.*?)</a>', r"\1", body)
    return name, title.removeprefix("# "), section(name, title.removeprefix("# "), body)


def written_section(number, stem, path):
    anchor = f"{stem}.{number}"
    body = run("mandoc", "-Thtml", "-Ofragment,man=#%N.%S", text=path.read_text())
    body = re.sub(r'<table class="(head|foot)">.*?</table>', "", body, flags=re.DOTALL)
    body = re.sub(r"<(/?)h2\b", r"<\1h4", re.sub(r"<(/?)h1\b", r"<\1h3", body))
    title = f"{stem}({number})"
    return anchor, title, section(anchor, title, own_anchors(body, anchor))


def header_section(header, taken):
    """Return the section of a header, and add its ids to @taken, where they are new: a function
    may have the name of a type, and in C++ that of another function."""
    anchor = Path(header.file).name
    body = f"<p>{html.escape(header.purpose)}</p><pre>#include &lt;{header.file}&gt;</pre>\n"
    functions = header.names("function", "macro")
    ids = {}
    for e in header.entries:
        of = e.kind not in ("function", "macro") and e.name in functions
        name = f"{e.kind}-{e.name}" if of else e.name
        while name in taken:
            name += "-"
        taken.add(name)
        ids.setdefault(e.name, []).append(name)
    parts = [header.about]
    for e in header.entries:
        parts += [heading(e.name, "-"), entry_text(e)]
    text = fragment("\n\n".join(parts), "rst", 2)
    body += re.sub(
        r'<h3 id="[^"]*">([\w:~]+)</h3>',
        lambda m: f'<h3 id="{ids[m[1]].pop(0)}">{m[1]}</h3>', text,
    )
    return anchor, header.file, section(anchor, header.file, body)


def link_names(body, known):
    """Link each name of the reference, and drop links to pages that are not here."""
    anchors = set(re.findall(r'\bid="([^"]+)"', body))
    body = re.sub(
        r'<a class="Xr" href="#([^"]*)">(.*?)</a>',
        lambda m: m[0] if m[1] in anchors else m[2], body, flags=re.DOTALL,
    )
    out, inside = [], None
    for part in re.split(r"(<[^>]*>)", body):
        tag = re.match(r"<(/?)(a|h[1-6])\b", part)
        if tag:
            inside = None if tag[1] else tag[2]
        elif not part.startswith("<") and not inside:
            part = re.sub(
                r"\b(?:skua_|SKUA_|skua::)\w+(?:::\w+)*",
                lambda m: f'<a href="#{m[0]}">{m[0]}</a>' if m[0] in known else m[0], part,
            )
        out.append(part)
    return "".join(out)


def contents(title, entries):
    items = "".join(f'<li><a href="#{a}">{html.escape(t)}</a></li>' for a, t, _ in entries)
    return f"<h2>{title}</h2><ul>{items}</ul>\n"


def check_guides():
    """Each guide is a file, and each file is a guide."""
    files = {path.stem for path in ROOT.glob("docs/guides/*.md")}
    if files != set(GUIDES):
        sys.exit(f"build.py: GUIDES and the files of docs/guides differ: "
                 f"{', '.join(sorted(files ^ set(GUIDES)))}")


def write_page(found, pages, version, path):
    check_guides()
    guides = [guide_section(name) for name in GUIDES]
    taken = set()
    by_section = {n: [written_section(*p) for p in pages if p[0] == n] for n in "7351"}
    groups = [("Guides", guides), ("Concepts", by_section["7"]), ("Objects", by_section["3"]),
              ("Reference", [header_section(h, taken) for h in found]),
              ("Configuration", by_section["5"]), ("Commands", by_section["1"])]
    known = sorted({name for header in found for name in header.names()})
    index = "".join(f"<li>{name}</li>" for name in known)
    body = "".join(text for _, entries in groups for _, _, text in entries)
    body += section("index", "Index", f'<ul class="index">{index}</ul>')
    navigation = "".join(contents(title, entries) for title, entries in groups)
    navigation += '<h2><a href="#index">Index</a></h2>'
    page = (ROOT / "docs/page.html").read_text()
    for key, value in (("version", version), ("contents", navigation),
                       ("body", link_names(body, set(known)))):
        page = page.replace(f"<!-- {key} -->", value)
    path.write_text(page)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--kernel-doc", default="kernel-doc")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    base = (ROOT / "include/skua/base.h").read_text()
    version = ".".join(re.findall(r"#define SKUA_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", base))
    found = headers(arguments.kernel_doc)
    pages = written_pages()
    written = {(number, stem) for number, stem, _ in pages}
    write_man(found, written, version, arguments.folder / "man3")
    write_page(found, pages, version, arguments.folder / "skua.html")


main()
