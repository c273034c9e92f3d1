/* SPDX-License-Identifier: MIT */
/**
 * no_uring.c PROGRAM [ARGUMENT...] - run a program that may not use io_uring
 *
 * A filter of system calls forbids it, as in many containers. SKUA_TEST_NO_URING is set for
 * the program. Exit codes: those of the program; 1: the filter forbids nothing; 77: the
 * kernel refuses the filter.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int forbid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, SYS_io_uring_setup, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SYS_io_uring_register, 1,
			 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = 5, .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("usage: no_uring PROGRAM [ARGUMENT...]\n", stderr);
		return 1;
	}
	if (forbid()) {
		printf("no filter of system calls: %s\n", strerror(errno));
		return 77;
	}
	if (syscall(SYS_io_uring_setup, 1, NULL) >= 0 || errno != EPERM) {
		fputs("io_uring is not forbidden\n", stderr);
		return 1;
	}
	setenv("SKUA_TEST_NO_URING", "1", 1);
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
