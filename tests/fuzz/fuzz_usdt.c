/* SPDX-License-Identifier: MIT */
/**
 * fuzz_usdt.c - any ELF file, as one with probes
 *
 * The first byte says whether the rest is such a file as it is; or else a program
 * that writes one: notes of which a model knows whether they are probes, and where
 * those are; and then bytes that are changed anywhere. Of what is found holds,
 * whatever it is: it is in the file, and its name does nothing to a terminal.
 */
#include "bpf/trace/usdt.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define MAX_NOTES   (MAX_USDT_PROBES + 8u)
#define MAX_CHANGES 16u

/* Where what is in the file: code and data are loaded elsewhere. */
#define CODE       0x1000u
#define DATA       0x1100u
#define NOTES      0x1200u
#define CODE_VADDR 0x401000u
#define DATA_VADDR 0x601100u
#define PART       0x80u
#define MARK       0x700000u

static const char names[] = "\0.note.stapsdt\0.stapsdt.base\0";

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#define FIRST   "8@x0"
#define SECOND  "8@x1"
#else
#define MACHINE EM_X86_64
#define FIRST   "8@%rdi"
#define SECOND  "8@%rsi"
#endif

/* Texts of notes, and whether each is a probe. */
static const struct {
	const char *text;
	bool is_good;
	unsigned count;
} providers[] = { { "skua", true, 0 },
		  { "skuas", false, 0 },
		  { "", false, 0 } },
  titles[] = { { "steal", true, 0 },
	       { "lifo_flush", true, 0 },
	       { "\033[31m", false, 0 },
	       { "", false, 0 },
	       { "a_name_that_is_longer_than_there_is_room", false, 0 } },
  places[] = { { "", true, 0 },
	       { FIRST, true, 1 },
	       { FIRST " " SECOND, true, 2 },
	       { FIRST " " FIRST, false, 0 },
	       { FIRST "x", false, 0 },
	       { "8@16(%rsp)", false, 0 } };

struct made {
	char bytes[65536];
	size_t size;
	struct usdt_probes expected;
};

/* ---- a file ---------------------------------------------------------------- */

static void put(struct made *made, const void *bytes, size_t size)
{
	memcpy(made->bytes + made->size, bytes, size);
	made->size += size;
}

static void put_text(struct made *made, const char *text)
{
	put(made, text, strlen(text) + 1);
}

static void expect(struct made *made, const char *name, unsigned arguments,
		   uint64_t code, uint64_t data)
{
	struct usdt_probe *probe = &made->expected.probes[made->expected.count];

	/* Nothing is loaded beyond the end of a part. */
	if (code >= PART || data >= PART ||
	    made->expected.count == MAX_USDT_PROBES)
		return;
	memset(probe, 0, sizeof(*probe));
	strcpy(probe->name, name);
	probe->arguments = arguments;
	probe->offset = CODE + code;
	probe->semaphore = DATA + data;
	made->expected.count++;
}

static void put_note(struct made *made, struct fuzz_input *in, uint64_t moved)
{
	unsigned provider = fuzz_below(in, COUNT_OF(providers));
	unsigned title = fuzz_below(in, COUNT_OF(titles));
	unsigned place = fuzz_below(in, COUNT_OF(places));
	uint64_t code = fuzz_byte(in), data = fuzz_byte(in);
	bool swapped = fuzz_below(in, 4) == 3;
	bool is_other = fuzz_below(in, 8) == 7;
	const uint64_t words[3] = {
		(swapped ? DATA_VADDR : CODE_VADDR) + code - moved,
		MARK - moved,
		(swapped ? CODE_VADDR : DATA_VADDR) + data - moved,
	};
	Elf64_Nhdr note = { .n_namesz = sizeof("stapsdt"),
			    .n_type = is_other ? 1 : 3 };
	size_t head = made->size, content;

	put(made, &note, sizeof(note));
	put_text(made, "stapsdt");
	content = made->size;
	put(made, words, sizeof(words));
	put_text(made, providers[provider].text);
	put_text(made, titles[title].text);
	put_text(made, places[place].text);
	note.n_descsz = (Elf64_Word)(made->size - content);
	memcpy(made->bytes + head, &note, sizeof(note));
	made->size = (made->size + 3) / 4 * 4;
	if (providers[provider].is_good && titles[title].is_good &&
	    places[place].is_good && !swapped && !is_other)
		expect(made, titles[title].text, places[place].count, code,
		       data);
}

static void put_headers(struct made *made, size_t strings, size_t sections)
{
	const Elf64_Phdr segments[] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_offset = CODE,
		  .p_vaddr = CODE_VADDR,
		  .p_filesz = PART },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_W,
		  .p_offset = DATA,
		  .p_vaddr = DATA_VADDR,
		  .p_filesz = PART },
	};
	const Elf64_Shdr table[] = {
		{ .sh_offset = strings, .sh_size = sizeof(names) },
		{ .sh_name = 1,
		  .sh_offset = NOTES,
		  .sh_size = strings - NOTES },
		{ .sh_name = 15, .sh_addr = MARK },
	};
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB },
		.e_type = ET_DYN,
		.e_machine = MACHINE,
		.e_phoff = sizeof(header),
		.e_shoff = sections,
		.e_phentsize = sizeof(*segments),
		.e_phnum = COUNT_OF(segments),
		.e_shentsize = sizeof(*table),
		.e_shnum = COUNT_OF(table),
	};

	memcpy(made->bytes, &header, sizeof(header));
	memcpy(made->bytes + sizeof(header), segments, sizeof(segments));
	put(made, table, sizeof(table));
}

static void make(struct made *made, struct fuzz_input *in)
{
	unsigned count = fuzz_below(in, MAX_NOTES);
	uint64_t moved = fuzz_below(in, 2) * 0x10000u;
	size_t strings;

	memset(made, 0, sizeof(*made));
	made->size = NOTES;
	for (unsigned i = 0; i < count; i++)
		put_note(made, in, moved);
	strings = made->size;
	put(made, names, sizeof(names));
	made->size = (made->size + 7) / 8 * 8;
	put_headers(made, strings, made->size);
}

static unsigned change(struct made *made, struct fuzz_input *in)
{
	unsigned changes = fuzz_below(in, MAX_CHANGES);

	for (unsigned i = 0; i < changes; i++) {
		size_t at = (size_t)fuzz_number(in, 2);
		unsigned kind = fuzz_below(in, 3);
		uint64_t value = fuzz_number(in, kind == 0 ? 1 : 8);
		size_t bytes = kind == 0 ? 1 : 8;

		if (kind == 2)
			made->size = at < made->size ? at : made->size;
		else if (at + bytes <= made->size)
			memcpy(made->bytes + at, &value, bytes);
	}
	return changes;
}

/* ---- what holds ------------------------------------------------------------ */

static void check(const struct usdt_probes *notes, size_t size)
{
	fuzz_check(notes->count <= MAX_USDT_PROBES, "%u probes", notes->count);
	for (unsigned i = 0; i < notes->count; i++) {
		const struct usdt_probe *probe = &notes->probes[i];

		fuzz_check(memchr(probe->name, 0, USDT_NAME), "a name");
		for (const char *c = probe->name; *c; c++)
			fuzz_check(*c >= ' ' && *c <= '~', "%d in a name", *c);
		fuzz_check(probe->offset < size && probe->semaphore < size,
			   "a place beyond the file");
		fuzz_check(probe->arguments <= 4, "%u arguments",
			   probe->arguments);
	}
}

static void check_same(const struct usdt_probes *notes,
		       const struct usdt_probes *expected)
{
	fuzz_check(notes->count == expected->count, "%u probes, not %u",
		   notes->count, expected->count);
	for (unsigned i = 0; i < notes->count; i++) {
		const struct usdt_probe *a = &notes->probes[i];
		const struct usdt_probe *b = &expected->probes[i];

		fuzz_check(strcmp(a->name, b->name) == 0 &&
				   a->arguments == b->arguments &&
				   a->offset == b->offset &&
				   a->semaphore == b->semaphore,
			   "probe %u is %s at %#jx, not %s at %#jx", i, a->name,
			   (uintmax_t)a->offset, b->name, (uintmax_t)b->offset);
	}
}

static int read_bytes(const void *bytes, size_t size, struct usdt_probes *notes)
{
	int fd = memfd_create("notes", MFD_CLOEXEC);
	struct target_budget budget;
	int err;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	memset(notes, 0, sizeof(*notes));
	target_budget_begin(&budget);
	err = usdt_read(fd, &budget, notes);
	close(fd);
	fuzz_check(err <= 0, "%d", err);
	check(notes, size);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made made;
	struct fuzz_input in = { data, data + size };
	struct usdt_probes notes;

	if (fuzz_below(&in, 4) == 3) {
		read_bytes(in.next, (size_t)(in.end - in.next), &notes);
		return 0;
	}
	make(&made, &in);
	if (change(&made, &in) > 0) {
		read_bytes(made.bytes, made.size, &notes);
		return 0;
	}
	fuzz_check(read_bytes(made.bytes, made.size, &notes) == 0, "refused");
	check_same(&notes, &made.expected);
	return 0;
}
