/* SPDX-License-Identifier: MIT */
/* flame_reader.c - see flame_reader.h */
#include "bpf/flame/flame_reader.h"

#include <errno.h>
#include <limits.h>
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
#include <unistd.h>

#include "bpf/cli/clock.h"
#include "bpf/flame/flame_dwarf.h"
#include "bpf/cli/grow.h"
#include "bpf/target/target_budget.h"
#include "bpf/target/target_memory.h"

#define MAX_STARTS 3u
#define CHECK_MS   20

/* Longest wait for an answer, for each second of CPU time that the child may
 * use. On a machine too busy to give the child that time, the reader gives
 * up. */
#define WALL_NS UINT64_C(10000000000)

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

/* A sanitizer needs more memory and other system calls. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

enum kind { LINE, RULE, KINDS };

struct question {
	enum kind kind;
	int file;
	uint64_t address;
};

/* Comes from a child that a hostile file may control. */
struct answer {
	struct line line;
	struct flame_rule rule;
	int known; /* 1: there is a rule */
};

struct file {
	int fd;
	bool sent; /* to the child */
	bool asked
		[KINDS]; /* a child ended over such a question: do not repeat it */
};

struct reader {
	struct reader_limits limits;
	struct file *files;
	size_t count, room;
	pid_t child; /* 0: there is none */
	int socket;
	unsigned starts;
	double cpu_left;
	bool ending;
	uint64_t last_ns; /* ns left once ending is set */
};

/* ---- the socket -------------------------------------------------------------- */

/* @fd: sent along; -1: none. */
static bool send_question(int socket, const struct question *question, int fd)
{
	char room[CMSG_SPACE(sizeof(fd))] = "";
	struct iovec data = { (void *)(uintptr_t)question, sizeof(*question) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *header = (void *)room;

		message.msg_control = room;
		message.msg_controllen = sizeof(room);
		*header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(fd)),
					    .cmsg_level = SOL_SOCKET,
					    .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof(*question);
}

/* @fd: receives the descriptor sent along, or -1. */
static bool receive_question(int socket, struct question *question, int *fd)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(*fd))];
	struct iovec data = { question, sizeof(*question) };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = room,
				  .msg_controllen = sizeof(room) };
	struct cmsghdr *header;

	*fd = -1;
	if (recvmsg(socket, &message, 0) != sizeof(*question))
		return false;
	header = CMSG_FIRSTHDR(&message);
	if (header)
		memcpy(fd, CMSG_DATA(header), sizeof(*fd));
	return true;
}

/* ---- the child --------------------------------------------------------------- */

enum { SOCKET, OTHERS }; /* descriptors of the child; files follow */

static bool keep_socket(int socket)
{
	return dup2(socket, SOCKET) == SOCKET &&
	       syscall(SYS_close_range, OTHERS, ~0u, 0) == 0;
}

/* Number of bytes mapped by this process. */
static uint64_t mapped(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;
	bool read = file && fscanf(file, "%lu", &pages) == 1;

	if (file)
		fclose(file);
	return read ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static bool limit(uint64_t most_bytes, rlim_t most_seconds)
{
	const uint64_t bytes = mapped() + most_bytes;
	const struct rlimit none = { 0, 0 }, memory = { bytes, bytes };
	const struct rlimit seconds = { most_seconds, most_seconds };

	return setrlimit(RLIMIT_CORE, &none) == 0 &&
	       setrlimit(RLIMIT_CPU, &seconds) == 0 &&
	       (SANITIZED || setrlimit(RLIMIT_AS, &memory) == 0);
}

/* Allow the calls that malloc(), pread() and the socket need; all others fail. */
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
		ALLOW(SYS_recvmsg),
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

static void find_line(struct dwarf *dwarf, uint64_t address, struct line *out)
{
	const char *source;
	size_t length;

	out->number = dwarf_line(dwarf, address, &source);
	if (out->number <= 0)
		return;
	length = strlen(source);
	if (length >= READER_SOURCE)
		source += length - (READER_SOURCE - 1);
	snprintf(out->source, READER_SOURCE, "%s", source);
}

/* The files that the child has received, by number. */
struct opened {
	struct dwarf **files; /* NULL: not received, or not readable */
	int count;
};

static bool open_file(struct opened *opened, int number, int fd)
{
	while (opened->count <= number) {
		struct dwarf **more =
			reallocarray(opened->files, (size_t)opened->count + 64,
				     sizeof(struct dwarf *));

		if (!more)
			return false;
		memset(more + opened->count, 0, 64 * sizeof(*more));
		opened->files = more;
		opened->count += 64;
	}
	opened->files[number] = dwarf_open(fd);
	return true;
}

static void find(const struct opened *opened, const struct question *question,
		 struct answer *out)
{
	struct dwarf *dwarf = question->file < opened->count
				      ? opened->files[question->file]
				      : NULL;

	memset(out, 0, sizeof(*out));
	if (dwarf && question->kind == LINE)
		find_line(dwarf, question->address, &out->line);
	else if (dwarf)
		out->known = dwarf_rule(dwarf, question->address, &out->rule);
}

static _Noreturn void serve(int socket, uint64_t bytes, rlim_t seconds)
{
	struct opened opened = { 0 };
	struct question question;
	struct answer answer;
	int fd;

	if (!limit(bytes, seconds) || !keep_socket(socket) || !refuse_calls())
		_exit(1);
	while (receive_question(SOCKET, &question, &fd)) {
		if (fd >= 0 && !open_file(&opened, question.file, fd))
			break;
		find(&opened, &question, &answer);
		if (write(SOCKET, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	_exit(0);
}

/* ---- the parent -------------------------------------------------------------- */

static void end_child(struct reader *reader)
{
	struct rusage used = { 0 };

	if (reader->child == 0)
		return;
	close(reader->socket);
	kill(reader->child, SIGKILL);
	while (wait4(reader->child, NULL, 0, &used) < 0 && errno == EINTR)
		;
	reader->child = 0;
	reader->cpu_left -= (double)used.ru_utime.tv_sec +
			    (double)used.ru_utime.tv_usec / 1e6 +
			    (double)used.ru_stime.tv_sec +
			    (double)used.ru_stime.tv_usec / 1e6;
	for (size_t i = 0; i < reader->count; i++)
		reader->files[i].sent = false;
}

/* Return: true if there is a child. */
static bool start_child(struct reader *reader)
{
	int ends[2];

	if (reader->child != 0)
		return true;
	if (reader->starts == MAX_STARTS || reader->cpu_left < 1 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return false;
	reader->starts++;
	fflush(NULL);
	reader->socket = ends[0];
	reader->child = fork();
	if (reader->child == 0)
		serve(ends[1], reader->limits.bytes, (rlim_t)reader->cpu_left);
	close(ends[1]);
	if (reader->child > 0)
		return true;
	close(ends[0]);
	reader->child = 0;
	return false;
}

/* Return: true if the child has answered or ended. Its limit of CPU time
 * ensures that it does, unless a read from the file never returns. */
static bool wait_for_answer(struct reader *reader)
{
	struct pollfd fd = { .fd = reader->socket, .events = POLLIN };
	uint64_t left_ns = reader->limits.cpu_seconds * WALL_NS;
	int ready;

	for (;;) {
		bool ending = reader->ending || target_is_signalled();
		uint64_t begin = now_ns(), took;

		ready = poll(&fd, 1, CHECK_MS);
		if (ready > 0)
			return true;
		if (ready < 0 && errno != EINTR)
			return false;
		took = now_ns() - begin;
		if (ending)
			reader->last_ns -=
				took < reader->last_ns ? took : reader->last_ns;
		left_ns -= took < left_ns ? took : left_ns;
		if (reader->last_ns == 0 || left_ns == 0)
			return false;
	}
}

/* Return: false if there is no answer. */
static bool ask(struct reader *reader, const struct question *question,
		struct answer *out)
{
	struct file *file;

	if (question->file < 0)
		return false;
	file = &reader->files[question->file];
	if (file->asked[question->kind] || reader->last_ns == 0 ||
	    !start_child(reader))
		return false;
	if (send_question(reader->socket, question,
			  file->sent ? -1 : file->fd) &&
	    wait_for_answer(reader) &&
	    read(reader->socket, out, sizeof(*out)) == sizeof(*out)) {
		file->sent = true;
		return true;
	}
	file->asked[question->kind] = true;
	end_child(reader);
	return false;
}

void reader_line(struct reader *reader, int file, uint64_t address,
		 struct line *out)
{
	const struct question question = { LINE, file, address };
	struct answer answer;

	memset(out, 0, sizeof(*out));
	if (!ask(reader, &question, &answer) || answer.line.number <= 0)
		return;
	*out = answer.line;
	target_printable(out->source, sizeof(out->source));
}

/* A valid value of the enum, whatever the child wrote. */
static enum flame_where where(enum flame_where claimed)
{
	return claimed == FLAME_SAME || claimed == FLAME_SAVED ? claimed
							       : FLAME_NOWHERE;
}

bool reader_rule(struct reader *reader, int file, uint64_t address,
		 struct flame_rule *out)
{
	const struct question question = { RULE, file, address };
	struct answer answer;

	if (!ask(reader, &question, &answer) || !answer.known)
		return false;
	*out = answer.rule;
	out->back = where(out->back);
	out->fp = where(out->fp);
	return true;
}

int reader_add(struct reader *reader, int fd)
{
	if (reader->count == INT_MAX ||
	    !grow(&reader->files, sizeof(*reader->files), reader->count,
		  &reader->room))
		return -1;
	reader->files[reader->count] = (struct file){ .fd = fd };
	return (int)reader->count++;
}

void reader_hurry(struct reader *reader)
{
	reader->ending = true;
}

struct reader *reader_new(struct reader_limits limits)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->limits = limits;
	reader->cpu_left = limits.cpu_seconds;
	reader->last_ns = READER_LAST_NS;
	return reader;
}

void reader_free(struct reader *reader)
{
	if (!reader)
		return;
	end_child(reader);
	free(reader->files);
	free(reader);
}
