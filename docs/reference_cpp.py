# SPDX-License-Identifier: MIT
"""reference_cpp.py - the entries of a C++ header, as reStructuredText

kernel-doc reads no C++. The comments have the same form as in C: one or more names, a dash,
the purpose, and paragraphs. read_cpp_header() takes the declarations and their comments
from the public parts of a header: not from the namespace detail, private members, and
declarations below a comment that says "private to the library".
"""

import re
import textwrap
from dataclasses import dataclass, field, replace

from reference import Entry, Header

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|(?://[^\n]*\n[ \t]*)+)|(?P<directive>^\#(?:[^\n]*\\\n)*[^\n]*)
    |(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'|\w+)|(?P<mark>::|.)""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
BEGIN = re.compile(r"(?:class |struct |enum )?([~\w]+(?:, [~\w]+)*) - (.*)", re.DOTALL)
CLASS = re.compile(r"(?:template <.*?> )?\b(class|struct) (?:\[\[\w+\]\] )?(\w+)(?: : .*)?$")
NAME = re.compile(r"(operator\s*\S+?|~?\w+) ?\(")
LABELS = re.compile(r"\b(Threads|Blocks|Allocates|Order|Throws also|Throws|Return):")


@dataclass
class Scope:
    kind: str  # namespace, class, or body: of a function, an enum or an initialiser
    name: str = ""
    shown: bool = True
    hidden: bool = False  # by the last comment
    entry: Entry = None  # of a class
    private: bool = False  # so far, in a class
    last: Entry = None  # takes further functions of the same names
    names: list = field(default_factory=list)
    members: list = field(default_factory=list)


def plain(comment):
    """Return the lines of a comment without its marks."""
    if comment.startswith("//"):
        return re.sub(r"^[ \t]*// ?", "", comment, flags=re.MULTILINE).strip()
    text = re.sub(r"^[ \t]*\* ?", "", comment[2:-2].lstrip("*"), flags=re.MULTILINE).strip()
    return re.sub(r"\n(?=(?:Threads|Order|Throws|Return|@\w+(?:, @\w+)*):)", "\n\n", text)


def escape(text):
    """Return text in which nothing is a mark of reStructuredText, except @name and labels."""
    text = re.sub(r"([*`|\\])|_(?!\w)", lambda m: "\\" + m[0], text)
    text = re.sub(r"@(\w+)", r"*\1*", text)
    return LABELS.sub(r"**\1:**", text)


def wrap(text):
    """Return a declaration of lines that fit a terminal."""
    text = text.removeprefix("inline ").replace(" ", "\a") + ";"
    text = text.replace(",\a", ", ").replace(">\a", "> ")
    lines = textwrap.wrap(text, 72, subsequent_indent=" " * 8, break_long_words=False)
    return "\n".join(lines).replace("\a", " ")


def literal(part):
    return "\n".join(f"   {line}" for line in part.expandtabs(4).split("\n"))


def body(text):
    """Return the paragraphs of a comment; arguments become a list of definitions, and lines that
    a tab indents are literal."""
    out = []
    for part in filter(None, text.split("\n\n")):
        argument = re.match(r"(@\w+(?:, @\w+)*): (.*)", part, re.DOTALL)
        if argument:
            names, text = argument[1].replace("@", ""), escape(" ".join(argument[2].split()))
            out.append(f"**{names}**\n  {text}")
        elif part.startswith("\t"):
            if not out or not out[-1].startswith("   "):
                out.append("::")
            out.append(literal(part))
        else:
            above, _, code = part.partition("\n\t")
            out.append(escape(above))
            out += ["::", literal("\t" + code)] if code else []
    return "\n\n".join(out)


def declaration(text):
    """Return a declaration on one line, without the initialisers of a constructor."""
    text = re.sub(r"\s+", " ", text).strip()
    depth = 0
    for at, mark in enumerate(text):
        depth += (mark in "(<") - (mark in ")>")
        if mark == ":" and depth == 0 and text[at - 1 : at + 2] == " : " and "(" in text[:at]:
            return text[:at].strip()
    return text


class Reader:
    """Reads the tokens of a header; the stack of scopes says where it is."""

    def __init__(self):
        self.stack, self.entries, self.undescribed = [Scope("namespace")], [], []
        self.comment, self.text, self.depth = "", "", 0

    def take_comment(self, comment):
        scope = self.stack[-1]
        if scope.kind != "body" and not self.text.strip():
            self.comment = plain(comment)
            scope.hidden = "rivate to the library" in self.comment

    def qualified(self, name):
        return "::".join([s.name for s in self.stack if s.name] + [name])

    def is_public(self):
        return all(s.shown and not s.hidden and s.kind != "body" for s in self.stack)

    def describe(self, text, name, kind):
        """Make an entry of a declaration and the comment above it, or add to the last one."""
        scope, begin = self.stack[-1], BEGIN.match(self.comment)
        prototype, qualified = wrap(text), self.qualified(name)
        if scope.kind == "class":
            kind = "constructor" if name.lstrip("~") == scope.name else "member"
        if begin and name in begin[1].split(", "):
            purpose, _, rest = begin[2].partition("\n\n")
            purpose, dot, more = " ".join(purpose.split()).partition(". ")
            rest = body("\n\n".join(part for part in (more, rest) if part))
            purpose = escape(purpose.rstrip("."))
            scope.names = begin[1].split(", ")
            scope.last = Entry(qualified, kind, purpose, prototype, rest)
            self.entries.append(scope.last)
            return scope.last
        if not self.comment and scope.last and name in scope.names:
            if qualified == scope.last.name:
                scope.last.prototype += "\n" + prototype
            else:
                scope.last = replace(scope.last, name=qualified, prototype=prototype)
                self.entries.append(scope.last)
        elif scope.kind == "namespace":
            self.undescribed.append(qualified)
        return None

    def declare(self, text):
        """A function, a type or a field, which is public."""
        scope, name = self.stack[-1], NAME.search(text)
        if text.startswith("friend ") or "= delete" in text:
            return
        if name:
            self.describe(text, name[1], "function")
        if scope.kind == "class":
            scope.members.append(wrap(text))

    def end_declaration(self, mark):
        """A declaration ends with ';', or with the '{' of a body."""
        text, scope = declaration(self.text), self.stack[-1]
        if text.startswith(","):  # the rest of a constructor's initialisers
            text = ""
        new = Scope("body")
        space = re.match(r"namespace (\w+)", text)
        is_class = CLASS.match(text)
        if space:
            new = Scope("namespace", space[1], shown=space[1] != "detail")
        elif is_class and mark == "{" and scope.kind != "body":
            new = Scope("class", is_class[2], shown=self.is_public() and not scope.private)
            if new.shown:
                new.entry = self.describe(text, is_class[2], "class")
            new.private = is_class[1] == "class"
        elif text and self.is_public() and not scope.private:
            self.declare(text)
        if mark == "{":
            self.stack.append(new)
        self.comment = self.text = ""

    def end_scope(self):
        scope = self.stack.pop()
        if scope.entry:
            head = re.sub(r" : private .*|;$", "", scope.entry.prototype, flags=re.DOTALL)
            lines = [f"    {line}" for m in scope.members for line in m.split("\n")]
            scope.entry.prototype = "\n".join([f"{head} {{", *lines, "};"])
        self.comment = self.text = ""

    def read(self, text):
        for token in TOKEN.finditer(text):
            if token["comment"]:
                self.take_comment(token["comment"])
            elif token["directive"]:
                continue
            elif self.depth == 0 and token[0] in ("{", ";"):
                self.end_declaration(token[0])
            elif self.depth == 0 and token[0] == "}":
                self.end_scope()
            elif token[0] == ":" and self.text.strip() in ("public", "private", "protected"):
                self.stack[-1].private = self.text.strip() != "public"
                self.text = ""
            else:
                self.depth += (token[0] in ("(", "[")) - (token[0] in (")", "]"))
                self.text += token[0]


def read_cpp_header(path):
    """Return the entries of a C++ header."""
    text = path.read_text()
    about = re.search(rf"// {path.name} - (.*?)\n(?!//)", text, re.DOTALL)
    purpose, _, more = re.sub(r"^// ?", "", about[1], flags=re.MULTILINE).partition("\n\n")
    reader = Reader()
    reader.read(text)
    if reader.undescribed:
        raise SystemExit(f"{path}: no comment for {', '.join(reader.undescribed)}")
    purpose = escape(" ".join(purpose.split()))
    name = f"cpp_{path.stem}"
    return Header(name, purpose, body(more), reader.entries, f"skua/cpp/{path.name}")
