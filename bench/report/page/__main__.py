# SPDX-License-Identifier: MIT
"""page - make report.html from a report.json: python3 -B bench/report/page JSON HTML

The page is one file without scripts, and needs no other file. gnuplot draws the
pictures. Exit codes: 0 success, 1 failure, 2 usage, 77 gnuplot is not installed.
"""

import sys

import figures
import page
import report

USAGE = "usage: python3 -B bench/report/page REPORT.json REPORT.html"


def main(arguments):
    if arguments in (["--help"], ["-h"]):
        print(f"{__doc__}\n{USAGE}")
        return 0
    if len(arguments) != 2:
        print(f"page: two files are needed; {USAGE}", file=sys.stderr)
        return 2
    source, target = arguments
    if not figures.available():
        print("gnuplot is not installed (Debian package gnuplot-nox)", file=sys.stderr)
        return 77
    try:
        text = page.make(report.read(source))
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)
    except (report.Invalid, figures.Failed) as error:
        print(f"page: {source}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"page: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
