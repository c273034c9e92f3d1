# SPDX-License-Identifier: MIT
"""reference.py - the entries of a public header, as reStructuredText

kernel-doc reads the comments. read_header() prepares a header for it, and turns the
directives that it writes for Sphinx into sections, which pandoc understands.
"""

import re
import subprocess
import textwrap
from dataclasses import dataclass

FILE_COMMENT = re.compile(r"/\*\*?(?:\n \*)? (\w+\.h) - (.*?)(?:\n \*\n(.*?))? ?\*/", re.DOTALL)
DIRECTIVE = re.compile(r"\.\. c:(function|macro|struct|union|enum|type):: (.*)")
HEADING = re.compile(
    r"^\*\*(Parameters|Members|Constants|Description|Definition)\*\*(\n|\Z)", re.MULTILINE
)
TERM = re.compile(r"^``(.*)``$", re.MULTILINE)
SHORT = re.compile(r"^/\* ((?:struct )?skua_\w+ - (?:(?!\*/).)*?) ?\*/$", re.DOTALL | re.MULTILINE)
TYPEDEF = re.compile(r"/\*\*\n \* (\w+ - (?:(?!\*/).)*\*/\ntypedef )", re.DOTALL)
MARKS = re.compile(r"(/\*.*?\*/)|\bSKUA_API | SKUA_NOEXCEPT| SKUA_NOTHROW", re.DOTALL)
LABEL = re.compile(r"(Threads|Order):")
LABELS = re.compile(r"(?<!\*)\b(Threads|Blocks|Allocates|Order):(?!\*)")


@dataclass
class Entry:
    name: str
    kind: str
    purpose: str
    prototype: str
    text: str


@dataclass
class Header:
    name: str  # task for skua/task.h, cpp_task for skua/cpp/task.hpp
    purpose: str
    about: str
    entries: list
    file: str

    def names(self, *kinds):
        return [e.name for e in self.entries
                if (e.kind in kinds if kinds else e.kind != "constructor")]


def literal(comment):
    """Mark the parts of a comment that a tab indents as literal: add '::'."""
    lines = comment.split("\n")
    out = []
    for number, line in enumerate(lines):
        begins = line.startswith(" *\t") and not (number and lines[number - 1].startswith(" *\t"))
        if begins and out and out[-1] == " *":
            above = next((o for o in reversed(out) if o.startswith(" *\t") or o != " *"), "")
            if above.startswith(" *\t"):
                pass  # goes on after an empty line
            elif above.endswith(":"):
                out[-2] += ":"
            else:
                out += [" * ::", " *"]
        if LABEL.match(line[3:]) and out and out[-1] != " *":
            out.append(" *")
        out.append(re.sub(r"@(\w)", r"\1", line) if line.startswith(" *\t") else line)
    return "\n".join(out)


def long_comment(match):
    """Return the comment of a function that begins with /* and its name, as kernel-doc
    reads it."""
    return f"/**\n * {match[1]}\n */"


def prepare(text):
    """Return a header as kernel-doc understands it, with its file comment as DOC."""

    def file_comment(match):
        name, purpose, rest = match.groups()
        purpose = " ".join(purpose.replace("\n * ", " ").split())
        return f"/**\n * DOC: {name} - {purpose}\n *\n{rest or ' *'}\n */"

    text = FILE_COMMENT.sub(file_comment, text, count=1)
    text = SHORT.sub(long_comment, text)
    text = TYPEDEF.sub(r"/**\n * typedef \1", text)
    text = re.sub(r"/\*\*\n.*?\*/", lambda m: literal(m[0]), text, flags=re.DOTALL)
    return MARKS.sub(lambda m: m[1] or "", text)


def wrap(prototype):
    """Return a prototype of lines that fit a terminal."""
    head, _, arguments = prototype.partition(" (")
    head = head.replace("* ", "*")
    whole = f"{head}({arguments};".replace(", ", ",\n").replace(" ", "\a").replace("\n", " ")
    lines = textwrap.wrap(whole, 72, subsequent_indent=" " * 8, break_long_words=False)
    return "\n".join(lines).replace("\a", " ")


def term(match):
    """Return the name of a parameter or a member, for '``struct skua_task *task``'."""
    pointer = re.search(r"\(\*(\w+)\)", match[1])
    name = pointer or re.search(r"(\w+|\.\.\.)(?:\[\w*\])*$", match[1])
    return f"**{name[1]}**" if name else match[0]


def entry(kind, signature, body):
    """Return an entry: a directive of kernel-doc, and the text below it."""
    purpose, _, rest = body.strip().partition("\n\n")
    name = re.search(r"(\w+)(?: ?\(.*)?$", signature)[1]
    prototype = wrap(signature) if kind == "function" else ""
    if purpose.startswith("``"):  # a macro with arguments
        kind, prototype = "macro", purpose.strip("`").replace(" (", "(")
        purpose, _, rest = rest.strip().partition("\n\n")
    if purpose.startswith("**Typedef**:"):
        kind, purpose = "type", purpose.split(":", 1)[1].strip()
        syntax = re.search(r"\*\*Syntax\*\*\n\n +``(.*)``\n", rest)
        prototype = wrap("typedef " + syntax[1]).replace(f"{name}(", f"(*{name})(")
        rest = rest.replace(syntax[0], "")
    definition = re.search(r"\*\*Definition\*\*\n\n::\n\n(.*?\n)\n(?=\S|\Z)", rest, re.DOTALL)
    if definition:
        prototype = re.sub(r"\n\s*\n", "\n", textwrap.dedent(definition[1]).strip("\n"))
        prototype = prototype.replace("  ", "        ")
        if "{\n}" in prototype or "{};" in prototype:  # all fields are private
            prototype = f"{kind} {name};"
        rest = rest.replace(definition[0], "")
    purpose, dot, more = " ".join(purpose.split()).partition(". ")
    rest = re.sub(HEADING, "", f"{more}\n\n{rest}" if dot else rest)
    rest = re.sub(r"^\*\*(Return|Note|Context)\*\*\n\n", r"**\1:** ", rest, flags=re.MULTILINE)
    rest = rest.replace("``void``\n  no arguments\n", "")
    rest = re.sub(r"^``.*``\n  \*undescribed\*(\n|\Z)", "", rest, flags=re.MULTILINE)
    rest = LABELS.sub(r"**\1:**", TERM.sub(term, rest))
    rest = re.sub(r"\n{3,}", "\n\n", rest).strip("\n")
    return Entry(name, kind, purpose.rstrip("."), prototype, rest)


def read_header(kernel_doc, path):
    """Return the entries of a header."""
    text = subprocess.run(
        [kernel_doc, "-rst", "-sphinx-version", "3.0", "/dev/stdin"],
        input=prepare(path.read_text()), capture_output=True, text=True, check=True,
    ).stdout
    # A word that ends with '_' would be a link. Literal text is indented.
    text = re.sub(r"^(?! {4}).*\w_(?!\w).*$", lambda m: re.sub(r"_(?!\w)", r"\\_", m[0]), text,
                  flags=re.MULTILINE)
    parts = DIRECTIVE.split(text)
    about = re.search(r"\*\*\w+\.h - (.*?)\*\*\n(.*)", parts[0], re.DOTALL)
    entries = [entry(*parts[i : i + 3]) for i in range(1, len(parts), 3)]
    purpose, about = (about[1], about[2].strip("\n ")) if about else ("", "")
    return Header(path.stem, purpose, about, entries, f"skua/{path.name}")
