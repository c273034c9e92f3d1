# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# docs.sh - for the tests of the documentation: make it, as the target docs does
#
# Sourced after checks.sh.

# docs_make - make the documentation in $scratch/docs, or skip the test
docs_make()
{
	local kernel_doc tool
	for tool in pandoc mandoc; do
		if ! command -v "$tool" >/dev/null; then
			echo "$tool is not installed"
			exit 77
		fi
	done
	kernel_doc=$(command -v kernel-doc ||
		compgen -G '/usr/lib/linux-kbuild-*/scripts/kernel-doc' ||
		compgen -G '/usr/src/kernels/*/scripts/kernel-doc' || true)
	kernel_doc=${kernel_doc##*$'\n'}
	if [[ ! $kernel_doc ]]; then
		echo 'kernel-doc is not installed (Debian package linux-kbuild-*)'
		exit 77
	fi
	tested=(python3 -B docs/build.py --kernel-doc "$kernel_doc")
	run "$scratch/docs"
	expect 'docs/build.py' exited 0
	expect 'docs/build.py' out_empty
	expect 'docs/build.py' err_lines 0
}
