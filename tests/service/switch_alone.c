/* SPDX-License-Identifier: MIT */
/* switch_alone.c - the switch without a runtime, for emulated processors: two stacks take
 * turns, with values in all kinds of registers, and rounding modes of their own */
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/fiber/switch.h"

#define TURNS 1000

static _Alignas(16) char stack[65536];
static void *outside, *inside;

static void expect(int right, const char *what)
{
	if (right)
		return;
	printf("wrong: %s\n", what);
	exit(1);
}

/* The compiler keeps these in registers that a call preserves. The first switch of each
 * side, and the second one from outside, know the control bits; their value is 0. */
static double mix(int turn, void **from, void *to, int value, int *got)
{
	double a = turn + 0.5, b = turn * 3.0, c = turn / 7.0, d = turn - 1.25;
	double e = turn * 1.5, f = turn + 9.0, g = turn / 3.0, h = turn * 11.0;
	long i = turn * 5l, j = turn ^ 77, k = turn << 3, l = turn + 123;

	*got = turn == 0 || value == 0
		       ? fiber_switch_enter(from, to, arithmetic_here())
		       : fiber_switch(from, to, value);
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h +
	       (double)(i + 2 * j + 3 * k + 4 * l);
}

static double mixed(int turn)
{
	double a = turn + 0.5, b = turn * 3.0, c = turn / 7.0, d = turn - 1.25;
	double e = turn * 1.5, f = turn + 9.0, g = turn / 3.0, h = turn * 11.0;
	long i = turn * 5l, j = turn ^ 77, k = turn << 3, l = turn + 123;

	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h +
	       (double)(i + 2 * j + 3 * k + 4 * l);
}

static int last(void *arg)
{
	expect(arg == &inside, "the argument of the last switch");
	return 4711;
}

static void entry(void *arg)
{
	int got;

	expect(arg == stack, "the argument of the entry");
	expect(fegetround() == FE_TONEAREST, "the first rounding mode");
	fesetround(FE_UPWARD);
	for (int turn = 0; turn < TURNS; turn++) {
		double sum = mix(turn, &inside, outside, -turn, &got);

		expect(got == turn, "a value from outside");
		expect(fegetround() == FE_UPWARD, "the mode inside");
		expect(sum == mixed(turn), "the registers inside");
	}
	fiber_switch_last(outside, last, &inside);
}

int main(void)
{
	int got;

	expect(fiber_switch_allowed(), "shadow stacks");
	inside = fiber_switch_prepare(stack + sizeof(stack), entry, stack);
	for (int turn = 0; turn < TURNS; turn++) {
		double sum = mix(turn, &outside, inside, turn - 1, &got);

		expect(got == -turn, "a value from inside");
		expect(fegetround() == FE_TONEAREST, "the mode outside");
		expect(sum == mixed(turn), "the registers outside");
	}
	got = fiber_switch(&outside, inside, TURNS - 1);
	expect(got == 4711, "the value of the last switch");
	puts("the switch works");
	return 0;
}
