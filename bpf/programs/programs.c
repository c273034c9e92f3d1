/* SPDX-License-Identifier: MIT */
/* programs.c - see programs.h */
#include "bpf/programs/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "find.skel.h"

/* The last warning of libbpf. */
static char said[200];

static int keep(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN) {
		vsnprintf(said, sizeof(said), format, args);
		said[strcspn(said, "\n")] = '\0';
	}
	return 0;
}

void programs_begin(void)
{
	libbpf_set_print(keep);
	said[0] = '\0';
}

const char *programs_reason(int err)
{
	static char text[400];

	if (err == -EPERM || err == -EACCES)
		snprintf(text, sizeof(text),
			 "no permission to load BPF programs: run the tool as "
			 "root, or with CAP_BPF and CAP_PERFMON");
	else if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		snprintf(text, sizeof(text),
			 "/sys/kernel/btf/vmlinux: %s: BPF programs need a "
			 "kernel with CONFIG_DEBUG_INFO_BTF, and /sys",
			 strerror(errno));
	else
		snprintf(text, sizeof(text), "%s%s%s", strerror(-err),
			 said[0] ? "; libbpf says: " : "", said);
	return text;
}

unsigned programs_namespace(void)
{
	struct stat ns;

	return stat("/proc/self/ns/pid", &ns) == 0 ? (unsigned)ns.st_ino : 0;
}

int programs_iterate(struct bpf_program *program)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	char nothing[16];
	int fd, err;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	err = fd < 0 ? -errno : 0;
	while (err == 0) {
		ssize_t got = read(fd, nothing, sizeof(nothing));

		if (got == 0)
			break;
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			err = -errno;
	}
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err;
}

int programs_find(pid_t pid, uint32_t *tgid)
{
	struct find_bpf *find = find_bpf__open();
	int err;

	if (!find)
		return -errno;
	find->rodata->namespace = programs_namespace();
	find->rodata->number = (uint32_t)pid;
	err = find_bpf__load(find);
	if (err == 0)
		err = programs_iterate(find->progs.find);
	if (err == 0 && find->bss->found == 0)
		err = -ESRCH;
	if (err == 0)
		*tgid = find->bss->found;
	find_bpf__destroy(find);
	return err;
}
