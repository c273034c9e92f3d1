#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_release.sh - packaging/release sets the version everywhere, and leaves no change behind
# if a step fails
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/../service/checks.sh"

if ! git rev-parse -q --verify HEAD >/dev/null 2>&1; then
	echo 'packaging/release makes a commit, and this is no clone'
	exit 77
fi
export GIT_AUTHOR_NAME=skua GIT_AUTHOR_EMAIL=skua@localhost
export GIT_COMMITTER_NAME=skua GIT_COMMITTER_EMAIL=skua@localhost

# A clone with this script, a version that can be released, and programs that fail. No
# hook of the user takes part.
clone=$scratch/skua
git clone -q --depth 1 "file://$PWD" "$clone" || exit 1
cp packaging/release "$clone/packaging/release"
sed -i '0,/^## \[/s//## [7.8.9] - 2030-01-01\n\n&/' "$clone/CHANGELOG.md"
git -C "$clone" config core.hooksPath /dev/null
git -C "$clone" commit -qam 'tests: prepare a release' || exit 1
mkdir "$scratch/bin"
for name in cmake abidw; do
	printf '#!/bin/sh\nexit 3\n' >"$scratch/bin/$name"
	chmod +x "$scratch/bin/$name"
done

before=$(git -C "$clone" rev-parse HEAD)
tested=(env PATH="$scratch/bin:$PATH" "$clone/packaging/release")
run 7.8.9
expect 'a build that fails' exited 3
expect 'no commit' test "$(git -C "$clone" rev-parse HEAD)" = "$before"
expect 'no tag' test -z "$(git -C "$clone" tag)"
expect 'no change' test -z "$(git -C "$clone" status --porcelain)"

# Programs that succeed, in place of a build.
printf '#!/bin/sh\n[ "$3" != -B ] || touch "$4/libskua.so"\n' >"$scratch/bin/cmake"
cat >"$scratch/bin/abidw" <<'END'
#!/bin/sh
while [ "$1" != --out-file ]; do shift; done
echo "<abi-corpus>" >"$2"
END
cp "$scratch/bin/abidw" "$scratch/bin/abidiff"
chmod +x "$scratch/bin/abidiff"
if command -v xz >/dev/null && [[ $(uname -m) == x86_64 ]]; then
	run 7.8.9
	expect 'a release' exited 0
	expect 'a tag' test "$(git -C "$clone" tag)" = v7.8.9
	expect 'all changes are committed' test -z "$(git -C "$clone" status --porcelain)"
	for text in 'skua 7\.8\.9' '`libskua7\.8`' 'find_package(skua 7\.8 '; do
		expect "$text in README.md" grep -q "$text" "$clone/README.md"
	done
	if git -C "$clone" grep -nE '(libskua|libskua\.so\.|find_package\(skua )0\.|skua 0\.1\.' -- \
		'*.md' '*.[1357]' 'debian/*' '*/outside/*' ':!CHANGELOG.md' \
		':!debian/changelog' >"$scratch/out"; then
		expect 'no other version' false
	fi
fi

run 7.8
expect 'a wrong version' exited 1
expect 'a wrong version' err_has "VERSION is '7.8'"
finish 'a release sets the version everywhere, or leaves no change behind'
