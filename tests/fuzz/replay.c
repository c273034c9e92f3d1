/* SPDX-License-Identifier: MIT */
/**
 * replay.c - run a fuzz target on inputs that are there, without a fuzzer
 *
 *	replay FILE-OR-FOLDER...           each input has to pass
 *	replay --catches FILE-OR-FOLDER... of a library that is broken on purpose:
 *	                                   some input has to end in abort()
 *
 * Exit codes: 0 as it has to be, 1 not so, 2 there was no input.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define MAX_BYTES (1u << 20)
/* Ends what hangs, as a broken library may; that counts as not caught. */
#define MAX_SECONDS 20u

/* The inputs that were run; @caught: an input ended in abort(), and that is enough. */
struct replay {
	bool catches;
	unsigned inputs;
	bool caught;
};

/* The input under way, for the handler below. */
static const char *current;

/* Says which input it was; the signal then ends the process as usual. */
static void on_abort(int signal_number)
{
	static const char text[] = "the input was ";
	ssize_t written;

	(void)signal_number;
	written = write(STDERR_FILENO, text, sizeof(text) - 1);
	written = write(STDERR_FILENO, current, strlen(current));
	written = write(STDERR_FILENO, "\n", 1);
	(void)written;
}

static void run_input(const char *path)
{
	uint8_t *data = malloc(MAX_BYTES);
	FILE *file = fopen(path, "rb");
	uint8_t *exact;
	size_t size;

	if (!data || !file) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(2);
	}
	size = fread(data, 1, MAX_BYTES, file);
	fclose(file);
	/* In memory of its own size, so that a read behind it is noticed. */
	exact = malloc(size ? size : 1);
	memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	free(data);
}

/* In a child, whose complaint is not shown: it is what is wanted. */
static bool run_catches(const char *path)
{
	const struct rlimit no_core = { 0, 0 };
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		int null = open("/dev/null", O_WRONLY);

		alarm(MAX_SECONDS);
		setrlimit(RLIMIT_CORE, &no_core);
		dup2(null, STDERR_FILENO);
		run_input(path);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		perror("fork");
		exit(2);
	}
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void replay(struct replay *r, const char *path)
{
	if (r->caught)
		return;
	current = path;
	r->inputs++;
	if (!r->catches)
		run_input(path);
	else if (run_catches(path))
		r->caught = true;
	if (r->caught)
		printf("caught by %s\n", path);
}

/* All files of a folder, in the order of their names. */
static void replay_folder(struct replay *r, const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort);
	char path[4096];

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder,
			 entries[i]->d_name);
		if (entries[i]->d_name[0] != '.')
			replay(r, path);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

int main(int argc, char **argv)
{
	struct replay r = { 0 };

	signal(SIGABRT, on_abort);
	for (int i = 1; i < argc; i++) {
		struct stat about;

		if (strcmp(argv[i], "--catches") == 0)
			r.catches = true;
		else if (stat(argv[i], &about) == 0 && S_ISDIR(about.st_mode))
			replay_folder(&r, argv[i]);
		else
			replay(&r, argv[i]);
	}
	if (r.inputs == 0) {
		fputs("no input\n", stderr);
		return 2;
	}
	printf("%u inputs\n", r.inputs);
	return r.catches && !r.caught ? 1 : 0;
}
