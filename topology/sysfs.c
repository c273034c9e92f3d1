/* SPDX-License-Identifier: MIT */
/* sysfs.c - see sysfs.h */
#include "topology/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topology/error.h"

/* Enough for all files of 64,000 CPUs, in bytes. */
#define SNAPSHOT_LIMIT (1u << 30)

/* ---- files ----------------------------------------------------------------- */

/* read_all - read up to @size bytes; return their number or a negative errno */
static ssize_t read_all(int file, char *to, size_t size)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n = read(file, to + got, size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

static void trim(char *text, size_t length)
{
	while (length > 0 &&
	       (text[length - 1] == '\n' || text[length - 1] == ' '))
		length--;
	text[length] = '\0';
}

/* open_in - open a file or a folder. Return: a descriptor or -1 */
static int open_in(const struct sysfs *sysfs, const char *path, int flags)
{
	char absolute[PATH_MAX];

	if (sysfs->folder != AT_FDCWD)
		return openat(sysfs->folder, path, flags | O_CLOEXEC);
	if (snprintf(absolute, sizeof(absolute), "/%s", path) >=
	    (int)sizeof(absolute)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(absolute, flags | O_CLOEXEC);
}

static int read_file(const struct sysfs *sysfs, const char *path, char *text)
{
	int file = open_in(sysfs, path, O_RDONLY);
	ssize_t got;

	if (file < 0)
		return -errno;
	got = read_all(file, text, SYSFS_TEXT_SIZE - 1);
	close(file);
	if (got < 0)
		return (int)got;
	trim(text, (size_t)got);
	return 0;
}

/* ---- snapshots ------------------------------------------------------------- */

static int by_path(const void *a, const void *b)
{
	const struct sysfs_line *left = a, *right = b;

	return strcmp(left->path, right->path);
}

/* unescape - replace the escapes \n and \\ in place; return false for another escape */
static bool unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		char c = *text;

		if (c == '\\') {
			c = *++text;
			if (c != 'n' && c != '\\')
				return false;
			c = c == 'n' ? '\n' : c;
		}
		*to++ = c;
	}
	*to = '\0';
	return true;
}

static size_t count_lines(const char *text)
{
	size_t count = 1;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

static int bad_line(struct skua_error *err, const char *name, size_t line,
		    const char *what)
{
	return error_set(err, -EINVAL, "%s, line %zu: %s", name, line, what);
}

/* cut_snapshot - divide the text into lines, paths and values */
static int cut_snapshot(struct sysfs *sysfs, const char *name,
			struct skua_error *err)
{
	char *rest = sysfs->text, *line;

	sysfs->lines = calloc(count_lines(rest), sizeof(*sysfs->lines));
	if (!sysfs->lines)
		return error_set(err, -ENOMEM, "%s: no memory", name);
	for (size_t n = 1; (line = strsep(&rest, "\n")) != NULL; n++) {
		char *value = line;

		if (*line == '\0' || *line == '#')
			continue;
		strsep(&value, "\t");
		if (!value)
			return bad_line(err, name, n,
					"no tab; a line is a path, a tab and "
					"a value");
		if (*line == '\0' || *line == '/')
			return bad_line(err, name, n,
					"the path is empty or begins with a "
					"slash");
		if (!unescape(value))
			return bad_line(err, name, n,
					"a backslash; only \\n and \\\\ are "
					"allowed");
		trim(value, strlen(value));
		sysfs->lines[sysfs->count++] =
			(struct sysfs_line){ line, value };
	}
	qsort(sysfs->lines, sysfs->count, sizeof(*sysfs->lines), by_path);
	return 0;
}

static int read_snapshot(struct sysfs *sysfs, int file, size_t size,
			 const char *name, struct skua_error *err)
{
	ssize_t got;

	if (size > SNAPSHOT_LIMIT)
		return error_set(err, -EFBIG,
				 "%s: a snapshot has %u bytes at "
				 "most",
				 name, SNAPSHOT_LIMIT);
	sysfs->text = malloc(size + 1);
	if (!sysfs->text)
		return error_set(err, -ENOMEM, "%s: no memory", name);
	got = read_all(file, sysfs->text, size);
	if (got < 0)
		return error_set(err, (int)got, "%s: %s", name,
				 strerror((int)-got));
	if (memchr(sysfs->text, '\0', (size_t)got))
		return error_set(err, -EINVAL,
				 "%s: a byte is 0; a snapshot is text", name);
	sysfs->text[got] = '\0';
	return cut_snapshot(sysfs, name, err);
}

static const struct sysfs_line *find_line(const struct sysfs *sysfs,
					  const char *path)
{
	struct sysfs_line wanted = { path, NULL };

	return bsearch(&wanted, sysfs->lines, sysfs->count,
		       sizeof(*sysfs->lines), by_path);
}

/* ---- folder or snapshot ----------------------------------------------------- */

int sysfs_open(struct sysfs *out, const char *path, struct skua_error *err)
{
	struct stat status;
	int file, code;

	*out = (struct sysfs){ .folder = -1 };
	if (strcmp(path, "/") == 0) {
		out->folder = AT_FDCWD;
		return 0;
	}
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0 || fstat(file, &status)) {
		code = -errno;
		if (file >= 0)
			close(file);
		return error_set(err, code, "%s: %s", path, strerror(-code));
	}
	if (S_ISDIR(status.st_mode)) {
		out->folder = file;
		return 0;
	}
	code = S_ISREG(status.st_mode)
		       ? read_snapshot(out, file, (size_t)status.st_size, path,
				       err)
		       : error_set(err, -EINVAL,
				   "%s: neither a folder nor a "
				   "file",
				   path);
	close(file);
	if (code)
		sysfs_close(out);
	return code;
}

void sysfs_close(struct sysfs *sysfs)
{
	if (sysfs->folder >= 0)
		close(sysfs->folder);
	free(sysfs->lines);
	free(sysfs->text);
	*sysfs = (struct sysfs){ .folder = -1 };
}

int sysfs_read(const struct sysfs *sysfs, const char *path, char *text)
{
	const struct sysfs_line *line;

	text[0] = '\0';
	if (!sysfs_is_snapshot(sysfs))
		return read_file(sysfs, path, text);
	line = find_line(sysfs, path);
	if (!line)
		return -ENOENT;
	snprintf(text, SYSFS_TEXT_SIZE, "%s", line->value);
	return 0;
}

/* Read until the end, because files in procfs do not tell their size. */
static int read_growing(int file, char **text)
{
	size_t size = SYSFS_TEXT_SIZE / 16, length = 0;

	for (;;) {
		char *larger = realloc(*text, size);
		ssize_t got;

		if (!larger)
			return -ENOMEM;
		*text = larger;
		got = read_all(file, *text + length, size - 1 - length);
		if (got < 0)
			return (int)got;
		length += (size_t)got;
		(*text)[length] = '\0';
		if (length < size - 1)
			return 0;
		size *= 2;
	}
}

int sysfs_read_whole(const struct sysfs *sysfs, const char *path, char **text)
{
	const struct sysfs_line *line;
	int file, code;

	*text = NULL;
	if (sysfs_is_snapshot(sysfs)) {
		line = find_line(sysfs, path);
		if (!line)
			return -ENOENT;
		*text = strdup(line->value);
		return *text ? 0 : -ENOMEM;
	}
	file = open_in(sysfs, path, O_RDONLY);
	if (file < 0)
		return -errno;
	code = read_growing(file, text);
	close(file);
	if (code) {
		free(*text);
		*text = NULL;
	}
	return code;
}

/* number_of - return the number after @prefix in a name, if the name ends there or goes
 * on with a slash; otherwise -1 */
static long number_of(const char *name, const char *prefix)
{
	size_t length = strlen(prefix);
	char *end;
	long number;

	if (strncmp(name, prefix, length) != 0 || name[length] < '0' ||
	    name[length] > '9')
		return -1;
	number = strtol(name + length, &end, 10);
	if ((*end != '\0' && *end != '/') || number >= CPU_LIST_LIMIT)
		return -1;
	return number;
}

static int numbers_of_folder(const struct sysfs *sysfs, const char *path,
			     const char *prefix, struct cpu_bits *bits)
{
	int file = open_in(sysfs, path, O_RDONLY | O_DIRECTORY);
	struct dirent *entry;
	DIR *stream;

	if (file < 0)
		return 0;
	stream = fdopendir(file);
	if (!stream) {
		close(file);
		return -ENOMEM;
	}
	while ((entry = readdir(stream)) != NULL) {
		long number = number_of(entry->d_name, prefix);

		if (number >= 0)
			cpu_bits_add(bits, (unsigned)number);
	}
	closedir(stream);
	return 0;
}

static void numbers_of_snapshot(const struct sysfs *sysfs, const char *path,
				const char *prefix, struct cpu_bits *bits)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < sysfs->count; i++) {
		const char *name = sysfs->lines[i].path;
		long number;

		if (strncmp(name, path, length) != 0 || name[length] != '/')
			continue;
		number = number_of(name + length + 1, prefix);
		if (number >= 0)
			cpu_bits_add(bits, (unsigned)number);
	}
}

int sysfs_numbers(const struct sysfs *sysfs, const char *folder,
		  const char *prefix, struct cpu_list *out)
{
	struct cpu_bits bits = { { 0 } };
	int code = 0;

	if (!sysfs_is_snapshot(sysfs))
		code = numbers_of_folder(sysfs, folder, prefix, &bits);
	else
		numbers_of_snapshot(sysfs, folder, prefix, &bits);
	return code ? code : cpu_list_of_bits(out, &bits);
}
