/* SPDX-License-Identifier: MIT */
/**
 * probe_attach.h - attach to a probe of the test's own program, as perf does
 *
 * The places of the nop and of the semaphore are read from the notes in the
 * program's file, so that what a tracer finds there is tested as well.
 */
#ifndef SKUA_TESTS_UNIT_PROBE_ATTACH_H
#define SKUA_TESTS_UNIT_PROBE_ATTACH_H

#include <asm/perf_regs.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROBE_FILE "/proc/self/exe"

/* Offsets in the program's file. */
struct probe_site {
	uint64_t nop;
	uint64_t semaphore;
};

struct probe_elf {
	const char *bytes;
	size_t size;
};

static inline bool probe_elf_open(struct probe_elf *elf)
{
	struct stat info;
	int fd = open(PROBE_FILE, O_RDONLY | O_CLOEXEC);
	void *bytes = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &info) == 0)
		bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE,
			     fd, 0);
	if (fd >= 0)
		close(fd);
	if (bytes == MAP_FAILED)
		return false;
	elf->bytes = bytes;
	elf->size = (size_t)info.st_size;
	return true;
}

/* The offset in the file of what is loaded at @address. */
static inline uint64_t probe_elf_offset(const struct probe_elf *elf,
					uint64_t address)
{
	const Elf64_Ehdr *head = (const void *)elf->bytes;
	const Elf64_Phdr *parts = (const void *)(elf->bytes + head->e_phoff);

	for (unsigned i = 0; i < head->e_phnum; i++) {
		const Elf64_Phdr *part = &parts[i];

		if (part->p_type == PT_LOAD && address >= part->p_vaddr &&
		    address - part->p_vaddr < part->p_filesz)
			return address - part->p_vaddr + part->p_offset;
	}
	return 0;
}

/* The section with the notes, or NULL. */
static inline const Elf64_Shdr *probe_elf_notes(const struct probe_elf *elf)
{
	const Elf64_Ehdr *head = (const void *)elf->bytes;
	const Elf64_Shdr *all = (const void *)(elf->bytes + head->e_shoff);
	const char *names = elf->bytes + all[head->e_shstrndx].sh_offset;

	for (unsigned i = 0; i < head->e_shnum; i++)
		if (strcmp(names + all[i].sh_name, ".note.stapsdt") == 0)
			return &all[i];
	return NULL;
}

/* probe_find - where probe @name of provider skua is */
static inline bool probe_find(const char *name, struct probe_site *site)
{
	struct probe_elf elf;
	const Elf64_Shdr *notes;
	bool found = false;

	if (!probe_elf_open(&elf))
		return false;
	notes = probe_elf_notes(&elf);
	for (size_t at = 0; notes && !found && at < notes->sh_size;) {
		const char *note = elf.bytes + notes->sh_offset + at;
		const Elf64_Nhdr *sizes = (const void *)note;
		const char *content =
			note + sizeof(*sizes) + ((sizes->n_namesz + 3) & ~3u);
		const char *provider = content + 3 * sizeof(uint64_t);
		uint64_t addresses[3];

		at = (size_t)(content - note) + at +
		     ((sizes->n_descsz + 3) & ~3u);
		found = strcmp(provider, "skua") == 0 &&
			strcmp(provider + sizeof("skua"), name) == 0;
		memcpy(addresses, content, sizeof(addresses));
		site->nop = probe_elf_offset(&elf, addresses[0]);
		site->semaphore = probe_elf_offset(&elf, addresses[2]);
	}
	munmap((void *)elf.bytes, elf.size);
	return found;
}

/* The number that the kernel has for "uprobe", or -1. */
static inline int probe_event_type(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type = -1;

	if (file) {
		if (fscanf(file, "%d", &type) != 1)
			type = -1;
		fclose(file);
	}
	return type;
}

#if defined(__x86_64__)
#define PROBE_REGISTERS                                      \
	(1ull << PERF_REG_X86_DI | 1ull << PERF_REG_X86_SI | \
	 1ull << PERF_REG_X86_DX | 1ull << PERF_REG_X86_CX)
#else
#define PROBE_REGISTERS 15ull
#endif

/**
 * probe_attach - count the hits of a probe on the calling thread
 *
 * The registers of the arguments are sampled at each hit.
 * Return: a descriptor to read a 64-bit count from, or a negative errno.
 */
static inline int probe_attach(const char *name)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	struct probe_site site;
	int type = probe_event_type();
	int fd;

	if (type < 0)
		return -ENODEV;
	if (!probe_find(name, &site) || site.nop == 0 || site.semaphore == 0)
		return -ENOENT;
	attr.type = (uint32_t)type;
	attr.config = site.semaphore << 32;
	attr.uprobe_path = (uintptr_t)PROBE_FILE;
	attr.probe_offset = site.nop;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_REGS_USER;
	attr.sample_regs_user = PROBE_REGISTERS;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			  PERF_FLAG_FD_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

/* probe_hits - the count so far */
static inline uint64_t probe_hits(int fd)
{
	uint64_t count = UINT64_MAX;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? count
								: UINT64_MAX;
}

#endif
