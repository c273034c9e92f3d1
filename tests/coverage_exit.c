/* SPDX-License-Identifier: MIT */
/* coverage_exit.c - _exit() of a program that counts what it runs: the counts
 * are written, which only exit() does by itself */
#include <gcov.h>

_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);

_Noreturn void __wrap__exit(int status)
{
	__gcov_dump();
	__real__exit(status);
}
