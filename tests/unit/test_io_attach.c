/* SPDX-License-Identifier: MIT */
/* test_io_attach.c - descriptors that are attached, and arguments */
#include "core/io/attach.h"
#include "tests/unit/io_deadlines.h"

/* ---- attach ------------------------------------------------------------- */

TEST(attach__bad_arguments__refused_and_nothing_attached)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io io = { 7, 9 };
	char name[] = "/tmp/test_io.XXXXXX";
	int file = mkstemp(name);
	int folder = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int event = eventfd(0, EFD_CLOEXEC);
	int flags = fcntl(file, F_GETFL);

	assert_int_equal(unlink(name), 0);
	assert_int_equal(skua_io_attach(NULL, event, 0, &io), -EINVAL);
	assert_int_equal(skua_io_attach(rt, event, 0, NULL), -EINVAL);
	assert_int_equal(skua_io_attach(rt, event, 8, &io), -EINVAL);
	assert_int_equal(skua_io_attach(rt, -1, 0, &io), -EBADF);
	assert_int_equal(skua_io_attach(rt, INT32_MAX, 0, &io), -EBADF);
	assert_int_equal(skua_io_attach(rt, INT32_MIN, 0, &io), -EBADF);
	assert_int_equal(skua_io_attach(rt, file, 0, &io), -EPERM);
	assert_int_equal(skua_io_attach(rt, folder, 0, &io), -EPERM);
	assert_int_equal(fcntl(file, F_GETFL), flags);
	assert_true(io.fd == 7 && io.serial == 9);
	assert_int_equal(skua_io_attach(rt, event, 0, &io), 0);
	assert_int_equal(close(file), 0);
	assert_int_equal(close(folder), 0);
	io_close(io);
	destroy(rt);
}

TEST(attach__twice__eexist_also_by_another_runtime)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);
	struct skua_io again = { 7, 9 };
	struct pair pair;
	int fd;

	pair_open(rt, &pair, PAIR_UNIX);
	fd = pair.ends[0].fd;
	assert_int_equal(skua_io_attach(rt, fd, 0, &again), -EEXIST);
	assert_int_equal(skua_io_attach(other, fd, 0, &again), -EEXIST);
	assert_true(again.fd == 7 && again.serial == 9);
	/* The first attachment is untouched. */
	assert_int_equal(skua_io_write_try(pair.ends[1], "a", 1), 1);
	assert_int_equal(skua_io_detach(pair.ends[0]), fd);
	assert_int_equal(skua_io_attach(other, fd, 0, &again), 0);
	assert_int_equal(skua_io_detach(again), fd);
	assert_int_equal(close(fd), 0);
	io_close(pair.ends[1]);
	destroy(other);
	destroy(rt);
}

TEST(handle__closed_or_detached__ebadf_for_ever)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io stale[4] = { SKUA_IO_INIT };
	char byte = 0;
	int fd = eventfd(0, EFD_CLOEXEC);

	stale[1] = attached(rt, fd);
	assert_int_equal(skua_io_detach(stale[1]), fd);
	stale[2] = attached(rt, fd);
	io_close(stale[2]);
	/* The kernel uses the number again. */
	assert_int_equal(eventfd(3, EFD_CLOEXEC), fd);
	stale[3] = (struct skua_io){ INT32_MAX, 1 };
	struct skua_io live = attached(rt, fd);

	for (unsigned i = 0; i < COUNT_OF(stale); i++) {
		struct skua_io io = stale[i];

		assert_int_equal(skua_io_read_try(io, &byte, 1), -EBADF);
		assert_int_equal(skua_io_read(io, &byte, 1, 0), -EBADF);
		assert_int_equal(skua_io_write_try(io, &byte, 1), -EBADF);
		assert_int_equal(skua_io_wait(io, POLLIN, 0), -EBADF);
		assert_int_equal(skua_io_shutdown(io, SHUT_RD), -EBADF);
		assert_int_equal(skua_io_detach(io), -EBADF);
		assert_int_equal(skua_io_close(io), -EBADF);
	}
	/* None of them has taken the count of the live one. */
	uint64_t count = 0;

	assert_int_equal(skua_io_read_try(live, &count, 8), 8);
	assert_true(count == 3);
	io_close(live);
	destroy(rt);
}

TEST(attach__shutting_down__eshutdown)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io io;
	int fd = eventfd(0, EFD_CLOEXEC);

	assert_int_equal(
		skua_runtime_shutdown(rt, SKUA_FOREVER_NS, SKUA_SHUTDOWN_RUN),
		0);
	assert_int_equal(skua_io_attach(rt, fd, 0, &io), -ESHUTDOWN);
	assert_int_equal(close(fd), 0);
	destroy(rt);
}

static struct skua_runtime *forked_rt;
static struct pair forked_pair;

static int use_in_child(void)
{
	struct skua_io *io = &forked_pair.ends[0], again;
	struct skua_runtime *own;
	char byte;
	int fd = io->fd;

	if (skua_io_read_try(*io, &byte, 1) != -EOWNERDEAD ||
	    skua_io_read(*io, &byte, 1, 0) != -EOWNERDEAD ||
	    skua_io_shutdown(*io, SHUT_RDWR) != -EOWNERDEAD ||
	    skua_io_close(*io) != -EOWNERDEAD ||
	    skua_io_detach(*io) != -EOWNERDEAD ||
	    skua_io_attach(forked_rt, fd, 0, &again) != -EOWNERDEAD)
		return 1;
	if (THREAD_SANITIZED) /* which starts no thread here */
		return 0;
	if (skua_runtime_create(&own, NULL, NULL) ||
	    skua_io_attach(own, fd, 0, &again))
		return 2;
	/* The parent's handle is stale from then on. */
	if (skua_io_read_try(*io, &byte, 1) != -EBADF ||
	    skua_io_read(again, &byte, 1, SKUA_FOREVER_NS) != 1 || byte != 'x')
		return 3;
	return skua_io_close(again) || skua_runtime_destroy(own) ? 4 : 0;
}

TEST(handle__in_a_forked_child__eownerdead_but_the_child_may_attach)
{
	forked_rt = runtime_new(1, 0);
	pair_open(forked_rt, &forked_pair, PAIR_UNIX);
	assert_int_equal(skua_io_write_try(forked_pair.ends[1], "x", 1), 1);
	assert_int_equal(exit_of(use_in_child), 0);
	/* The child has taken nothing from the parent but the byte. */
	assert_int_equal(skua_io_write_try(forked_pair.ends[1], "y", 1), 1);
	char byte = 0;

	assert_int_equal(
		skua_io_read(forked_pair.ends[0], &byte, 1, SKUA_FOREVER_NS),
		1);
	assert_int_equal(byte, THREAD_SANITIZED ? 'x' : 'y');
	pair_close(&forked_pair);
	destroy(forked_rt);
}

/* ---- bad arguments ------------------------------------------------------ */

TEST(calls__null_or_size_0__einval)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct iovec none[2] = { { NULL, 0 }, { NULL, 0 } };
	struct pair pair;
	char byte = 0;
	size_t moved = 9;

	pair_open(rt, &pair, PAIR_UNIX);
	struct skua_io io = pair.ends[0];

	assert_int_equal(skua_io_read(io, NULL, 1, 0), -EINVAL);
	assert_int_equal(skua_io_read(io, &byte, 0, 0), -EINVAL);
	assert_int_equal(skua_io_read_try(io, NULL, 1), -EINVAL);
	assert_int_equal(skua_io_read_try(io, &byte, 0), -EINVAL);
	assert_int_equal(skua_io_write(io, NULL, 1, 0), -EINVAL);
	assert_int_equal(skua_io_write(io, &byte, 0, 0), -EINVAL);
	assert_int_equal(skua_io_write_try(io, &byte, 0), -EINVAL);
	assert_int_equal(skua_io_readv(io, NULL, 1, 0), -EINVAL);
	assert_int_equal(skua_io_readv(io, none, 0, 0), -EINVAL);
	assert_int_equal(skua_io_readv(io, none, 2, 0), -EINVAL);
	assert_int_equal(skua_io_readv(io, none, -1, 0), -EINVAL);
	assert_int_equal(skua_io_writev(io, none, 1025, 0), -EINVAL);
	assert_int_equal(skua_io_writev_try(io, none, 2), -EINVAL);
	assert_int_equal(skua_io_recvmsg(io, NULL, 0, 0), -EINVAL);
	assert_int_equal(skua_io_sendmsg(io, NULL, 0, 0), -EINVAL);
	assert_int_equal(skua_io_sendmsg_try(io, NULL, 0), -EINVAL);
	assert_int_equal(skua_io_read_exact(io, NULL, 1, NULL, 0), -EINVAL);
	assert_int_equal(skua_io_write_all(io, NULL, 1, NULL, 0), -EINVAL);
	assert_int_equal(skua_io_writev_all(io, NULL, 1, &moved, 0), -EINVAL);
	assert_int_equal(skua_io_writev_all(io, none, -1, &moved, 0), -EINVAL);
	assert_int_equal(moved, 0);
	assert_int_equal(skua_io_writev_all(io, NULL, 0, &moved, 0), 0);
	assert_int_equal(skua_io_writev_all(io, none, 2, &moved, 0), 0);
	assert_int_equal(skua_io_read_exact(io, NULL, 0, &moved, 0), 0);
	assert_int_equal(moved, 0);
	assert_int_equal(skua_io_accept(io, NULL, NULL, NULL, 0), -EINVAL);
	assert_int_equal(skua_io_connect(io, NULL, 0, 0), -EINVAL);
	assert_int_equal(skua_io_wait(io, POLLIN | POLLOUT, 0), -EINVAL);
	assert_int_equal(skua_io_wait(io, 0, 0), -EINVAL);
	assert_int_equal(skua_io_wait_try(io, POLLPRI), -EINVAL);
	assert_int_equal(skua_io_shutdown(io, 17), -EINVAL);
	pair_close(&pair);
	destroy(rt);
}

/* Calls the form that waits, which a poll must not, and the form for polls. */
struct asker {
	struct skua_task task; /* first */
	struct skua_io io;
	struct skua_wait wait;
	struct skua_task *other;
	int codes[8];
};

static enum skua_poll asker_poll(struct skua_task *self)
{
	struct asker *it = (struct asker *)self;
	struct skua_wait armed = SKUA_WAIT_INIT;
	char byte = 0;

	it->codes[0] = (int)skua_io_read(it->io, &byte, 1, 0);
	it->codes[1] =
		(int)skua_io_read_poll(NULL, it->io, &byte, 1, &it->wait, 0);
	it->codes[2] = (int)skua_io_read_poll(self, it->io, &byte, 1, NULL, 0);
	it->codes[3] = (int)skua_io_read_poll(it->other, it->io, &byte, 1,
					      &it->wait, 0);
	it->codes[4] = (int)skua_io_read_poll(self, it->io, &byte, 1, &armed,
					      SKUA_FOREVER_NS);
	/* Armed for reading. */
	it->codes[5] = (int)skua_io_write_poll(self, it->io, &byte, 1, &armed,
					       SKUA_FOREVER_NS);
	it->codes[6] = (int)skua_io_read_poll(self, it->io, &byte, 1, &it->wait,
					      SKUA_FOREVER_NS);
	it->codes[7] = skua_wait_cancel(self, &armed);
	return SKUA_DONE;
}

TEST(calls__in_a_poll__edeadlk_eperm_einval_ebusy)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_task other = SKUA_TASK_INIT(asker_poll);
	struct asker it = { .task = SKUA_TASK_INIT(asker_poll),
			    .other = &other };
	struct pair pair;

	pair_open(rt, &pair, PAIR_UNIX);
	it.io = pair.ends[0];
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.codes[0], -EDEADLK);
	assert_int_equal(it.codes[1], -EINVAL);
	assert_int_equal(it.codes[2], -EINVAL);
	assert_int_equal(it.codes[3], -EPERM);
	assert_int_equal(it.codes[4], -EAGAIN);
	assert_int_equal(it.codes[5], -EINVAL);
	assert_int_equal(it.codes[6], -EBUSY);
	assert_int_equal(it.codes[7], 0);
	pair_close(&pair);
	destroy(rt);
}

/* ---- one reader and one writer ------------------------------------------ */

TEST(read__another_reads__ebusy)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct user first = { 0 };
		struct pair pair;
		char byte;

		pair_open(rt, &pair, PAIR_UNIX);
		user_start(&first, rt, is_fiber, read_one, &pair.ends[0]);
		wait_for_wait(pair.ends[0], IO_READ);
		assert_int_equal(skua_io_read_try(pair.ends[0], &byte, 1),
				 -EBUSY);
		assert_int_equal(skua_io_read(pair.ends[0], &byte, 1, 0),
				 -EBUSY);
		assert_int_equal(skua_io_wait(pair.ends[0], POLLIN, soon()),
				 -EBUSY);
		/* The other direction is free. */
		assert_int_equal(skua_io_write_try(pair.ends[0], "b", 1), 1);
		assert_int_equal(skua_io_write_try(pair.ends[1], "a", 1), 1);
		assert_int_equal(user_end(&first), 'a');
		assert_int_equal(skua_io_read_try(pair.ends[0], &byte, 1),
				 -EAGAIN);
		pair_close(&pair);
	}
	destroy(rt);
}

/* Packets over loopback arrive on the CPU of the thread that sends them. */
TEST(cpu_of__tcp_and_others__that_of_the_last_packet_or_none)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	cpu_set_t all, one;
	struct skua_io io;
	int fds[2];

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	fds_open(fds, PAIR_TCP);
	io = attached(rt, fds[0]);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		assert_int_equal(write(fds[1], "x", 1), 1);
		assert_int_equal(attach_cpu_of((uint32_t)io.fd), (int)cpu);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	io_close(io);
	close(fds[1]);
	fds_open(fds, PAIR_PIPE);
	assert_true(attach_cpu_of((uint32_t)fds[0]) < 0);
	close(fds[0]);
	close(fds[1]);
	destroy(rt);
}
