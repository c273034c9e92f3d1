/* SPDX-License-Identifier: MIT */
/* unit_main.c - main() of the unit tests that have none of their own */
#include "tests/unit/unit.h"

int main(void)
{
	return run_all_tests();
}
