#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# format.sh - the white space of every C and C++ file is as .clang-format says
#
# clang-format's results differ between releases; the tree follows $release.
set -euo pipefail
cd "$(dirname "$0")/../.."

release=14
for name in clang-format-$release clang-format none; do
	if command -v "$name" >/dev/null; then break; fi
done
if [[ $name == none ]]; then
	echo "clang-format is not installed"
	exit 77
fi
version=$("$name" --version)
if [[ ! $version =~ version\ $release\. ]]; then
	echo "the tree is formatted with clang-format $release; here is $version"
	exit 77
fi

mapfile -t files < <(find . \( -path './build*' -o -path './.?*' \) -prune \
	-o \( -name '*.[ch]' -o -name '*.[ch]pp' \) -printf '%P\n' | sort)
if ! printf '%s\0' "${files[@]}" |
	xargs -0 -n 100 -P "$(nproc)" "$name" --dry-run -Werror; then
	echo "not as .clang-format says; put right by $name -i FILE"
	exit 1
fi
echo "${#files[@]} files"
