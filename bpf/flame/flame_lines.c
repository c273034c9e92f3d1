/* SPDX-License-Identifier: MIT */
/* flame_lines.c - see flame_lines.h */
#include "bpf/flame/flame_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/flame/flame_dwarf.h"
#include "bpf/target/target_memory.h"

#define MEMORY      (UINT64_C(64) << 20)
#define CPU_SECONDS 2u

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

/* A sanitizer has memory of its own, and its own calls. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

struct lines {
	pid_t child; /* 0: it has ended */
	int socket;
};

/* ---- the child ----------------------------------------------------------------- */

enum { SOCKET, FILE_OF_CODE, OTHERS }; /* its descriptors */

static bool keep_descriptors(int socket, int fd)
{
	int high_socket = fcntl(socket, F_DUPFD, OTHERS);
	int high_fd = fcntl(fd, F_DUPFD, OTHERS);

	return dup2(high_socket, SOCKET) == SOCKET &&
	       dup2(high_fd, FILE_OF_CODE) == FILE_OF_CODE &&
	       syscall(SYS_close_range, OTHERS, ~0u, 0) == 0;
}

/* Bytes that this process has mapped. */
static uint64_t mapped(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;
	bool read = file && fscanf(file, "%lu", &pages) == 1;

	if (file)
		fclose(file);
	return read ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static bool limit(void)
{
	const uint64_t bytes = mapped() + MEMORY;
	const struct rlimit none = { 0, 0 }, memory = { bytes, bytes };
	const struct rlimit seconds = { CPU_SECONDS, CPU_SECONDS };

	return setrlimit(RLIMIT_CORE, &none) == 0 &&
	       setrlimit(RLIMIT_CPU, &seconds) == 0 &&
	       (SANITIZED || setrlimit(RLIMIT_AS, &memory) == 0);
}

/* What malloc(), pread() and the socket need. Others fail. */
static bool refuse_calls(void)
{
#define ALLOW(call)                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(call), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_pread64),
		ALLOW(SYS_write),
		ALLOW(SYS_lseek),
		ALLOW(SYS_brk),
		ALLOW(SYS_mmap),
		ALLOW(SYS_mremap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_madvise),
		ALLOW(SYS_futex),
		ALLOW(SYS_getrandom),
#ifdef SYS_newfstatat
		ALLOW(SYS_newfstatat),
#endif
		ALLOW(SYS_fstat),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
#undef ALLOW
	const struct sock_fprog program = { sizeof(code) / sizeof(*code),
					    code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       (SANITIZED ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void answer(struct dwarf *dwarf, uint64_t address, struct line *out)
{
	const char *source;
	size_t length;

	memset(out, 0, sizeof(*out));
	out->number = dwarf ? dwarf_find(dwarf, address, &source) : 0;
	if (out->number <= 0)
		return;
	length = strlen(source);
	if (length >= LINES_SOURCE)
		source += length - (LINES_SOURCE - 1);
	snprintf(out->source, LINES_SOURCE, "%s", source);
}

static _Noreturn void serve(int socket, int fd)
{
	struct dwarf *dwarf;
	struct line line;
	uint64_t address;

	if (!limit() || !keep_descriptors(socket, fd) || !refuse_calls())
		_exit(1);
	dwarf = dwarf_open(FILE_OF_CODE);
	while (read(SOCKET, &address, sizeof(address)) == sizeof(address)) {
		answer(dwarf, address, &line);
		if (write(SOCKET, &line, sizeof(line)) != sizeof(line))
			break;
	}
	_exit(0);
}

/* ---- the parent ---------------------------------------------------------------- */

static void end_child(struct lines *lines)
{
	if (lines->child == 0)
		return;
	close(lines->socket);
	kill(lines->child, SIGKILL);
	while (waitpid(lines->child, NULL, 0) < 0 && errno == EINTR)
		;
	lines->child = 0;
}

struct lines *lines_open(int fd)
{
	struct lines *lines = calloc(1, sizeof(*lines));
	int ends[2];

	if (!lines)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
		free(lines);
		return NULL;
	}
	fflush(NULL);
	lines->socket = ends[0];
	lines->child = fork();
	if (lines->child == 0)
		serve(ends[1], fd);
	close(ends[1]);
	if (lines->child < 0) {
		close(ends[0]);
		free(lines);
		return NULL;
	}
	return lines;
}

void lines_close(struct lines *lines)
{
	if (!lines)
		return;
	end_child(lines);
	free(lines);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)now.tv_nsec;
}

/* Return: is there an answer, or the end of the child? */
static bool wait_for_answer(const struct lines *lines, uint64_t *patience_ns)
{
	struct pollfd fd = { .fd = lines->socket, .events = POLLIN };
	uint64_t begin = now_ns(), took;
	int ready;

	do
		ready = poll(&fd, 1, (int)(*patience_ns / 1000000));
	while (ready < 0 && errno == EINTR);
	took = now_ns() - begin;
	*patience_ns -= took < *patience_ns ? took : *patience_ns;
	return ready > 0;
}

void lines_find(struct lines *lines, uint64_t address, uint64_t *patience_ns,
		struct line *out)
{
	memset(out, 0, sizeof(*out));
	if (lines->child == 0)
		return;
	if (send(lines->socket, &address, sizeof(address), MSG_NOSIGNAL) !=
		    sizeof(address) ||
	    !wait_for_answer(lines, patience_ns) ||
	    read(lines->socket, out, sizeof(*out)) != sizeof(*out)) {
		end_child(lines);
		out->number = 0;
	}
	target_printable(out->source, sizeof(out->source));
	if (out->number <= 0)
		memset(out, 0, sizeof(*out));
}
