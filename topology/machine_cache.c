/* SPDX-License-Identifier: MIT */
/* machine_cache.c - see machine_cache.h */
#include "topology/machine_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/machine_reader.h"

/* Read which CPUs are online; the caller frees *@out, which is NULL if that is
 * unknown. Return: 0; -ENOMEM. */
static int read_online(const char *root, char **out)
{
	struct sysfs sysfs;
	int code = sysfs_open(&sysfs, root, NULL);

	*out = NULL;
	if (!code) {
		code = sysfs_read_whole(&sysfs, MACHINE_CPUS "/online", out);
		sysfs_close(&sysfs);
	}
	return code == -ENOMEM ? code : 0;
}

static void clear_locked(struct machine_cache *cache)
{
	machine_free(cache->machine);
	free(cache->online);
	cache->machine = NULL;
	cache->online = NULL;
}

static int get_locked(struct machine_cache *cache, const char *root,
		      struct machine **out)
{
	char *online;
	int code = read_online(root, &online);

	*out = NULL;
	if (code)
		return code;
	if (cache->machine && online && strcmp(online, cache->online) == 0) {
		free(online);
		*out = machine_share(cache->machine);
		return 0;
	}
	clear_locked(cache);
	/* The list is read before the machine: if a CPU comes or goes between the two,
	 * the next call reads the machine again. */
	code = machine_load(out, root, NULL);
	if (code || !online) {
		free(online);
		return code;
	}
	cache->machine = machine_share(*out);
	cache->online = online;
	return 0;
}

int machine_cache_get(struct machine_cache *cache, const char *root,
		      struct machine **out)
{
	int code;

	if (pthread_mutex_trylock(&cache->lock) != 0)
		return machine_load(out, root, NULL);
	code = get_locked(cache, root, out);
	pthread_mutex_unlock(&cache->lock);
	return code;
}

void machine_cache_clear(struct machine_cache *cache)
{
	if (pthread_mutex_trylock(&cache->lock) != 0)
		return;
	clear_locked(cache);
	pthread_mutex_unlock(&cache->lock);
}

static struct machine_cache here = MACHINE_CACHE_INIT;

int machine_here(struct machine **out)
{
	return machine_cache_get(&here, "/", out);
}

/* Also called when the process ends, or unloads the library. */
__attribute__((destructor)) void machine_here_forget(void)
{
	machine_cache_clear(&here);
}
