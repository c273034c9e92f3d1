// SPDX-License-Identifier: MIT
//
// io.hpp - descriptors that their scope owns
#ifndef SKUA_CPP_IO_HPP
#define SKUA_CPP_IO_HPP

#include <string>

#include <skua/cpp/error.hpp>
#include <skua/io.h>

namespace skua
{

/**
 * class io - owner of an attached descriptor, such as a socket or a pipe
 *
 * Moves, and closes the descriptor at its end. One task or thread at a time may read, and
 * one may write. The members wait as fibers and outside threads do; coroutines use
 * co::read() and its like (skua/cpp/operations.hpp).
 *
 * Unless an entry says otherwise: Threads: fibers and outside threads. Blocks: the fiber
 * or thread, until the call succeeds or gives up. Allocates: nothing. Throws: cancelled;
 * ETIMEDOUT; EBADF (the descriptor was closed, also meanwhile); EBUSY; EDEADLK; other
 * errors of the system call.
 */
class io
{
      public:
	io() noexcept = default;
	/* io - own a handle that the C functions made */
	explicit io(skua_io handle) noexcept : it_(handle)
	{
	}
	/* io - attach @fd, which the runtime then owns, as skua_io_attach()
	 *
	 * Threads: any. Blocks: never. Throws: as skua_io_attach(); @fd is then still
	 * the caller's. */
	io(skua_runtime *rt, int fd, unsigned flags = 0)
	{
		detail::check(skua_io_attach(rt, fd, flags, &it_), "skua::io");
	}
	io(io &&from) noexcept : it_(from.release())
	{
	}
	io &operator=(io &&from) noexcept
	{
		close();
		it_ = from.release();
		return *this;
	}
	~io()
	{
		close();
	}

	/* fd - number of the descriptor, for calls that do not close it; -1: none. After
	 * close() the number may be that of another descriptor. */
	int fd() const noexcept
	{
		return it_.fd;
	}
	/* c - the handle, for the C functions */
	skua_io c() const noexcept
	{
		return it_;
	}
	/* release - give the handle up without closing it */
	skua_io release() noexcept
	{
		return std::exchange(it_, SKUA_IO_INIT);
	}
	/* close - close the descriptor; waits for it, and later calls, end with EBADF
	 *
	 * Threads: any, also beside other calls. Blocks: never, unless the socket
	 * lingers. */
	void close() noexcept
	{
		// Keeps the handle, which other threads may read now: closed, it is refused.
		if (it_.serial)
			skua_io_close(it_);
	}
	/* detach - take the descriptor back from the runtime, and return its number */
	int detach()
	{
		return detail::check(skua_io_detach(release()),
				     "skua::io::detach");
	}

	/* read - read up to @size bytes, and wait for the first one. Return: their
	 * number; 0 at the end of file. */
	size_t read(void *buffer, size_t size, deadline until = {})
	{
		return static_cast<size_t>(detail::check(
			skua_io_read(it_, buffer, size, until.ns()),
			"skua::io::read"));
	}
	/* read_exact - read @size bytes. Throws also: EPIPE (end of file before) */
	void read_exact(void *buffer, size_t size, deadline until = {})
	{
		detail::check(skua_io_read_exact(it_, buffer, size, nullptr,
						 until.ns()),
			      "skua::io::read_exact");
	}
	/* write - write up to @size bytes, and wait for room. Return: their number */
	size_t write(const void *data, size_t size, deadline until = {})
	{
		return static_cast<size_t>(detail::check(
			skua_io_write(it_, data, size, until.ns()),
			"skua::io::write"));
	}
	/* write_all - write @size bytes */
	void write_all(const void *data, size_t size, deadline until = {})
	{
		detail::check(
			skua_io_write_all(it_, data, size, nullptr, until.ns()),
			"skua::io::write_all");
	}
	/* accept - accept the next connection of a listening socket */
	io accept(deadline until = {})
	{
		skua_io out;

		detail::check(
			skua_io_accept(it_, &out, nullptr, nullptr, until.ns()),
			"skua::io::accept");
		return io(out);
	}

      private:
	skua_io it_ = SKUA_IO_INIT;
};

/* listen - listen at @address, as skua_listen()
 *
 * Threads: any. Blocks: never. Throws: std::system_error with the text of the error. */
inline io listen(skua_runtime *rt, const std::string &address, int backlog = 0,
		 unsigned flags = 0)
{
	skua_error error;
	skua_io out;
	const int code =
		skua_listen(rt, address.c_str(), backlog, flags, &out, &error);

	if (code < 0)
		throw std::system_error(-code, std::generic_category(),
					error.text);
	return io(out);
}

/* dial - connect to @address, as skua_dial()
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread. Throws: as listen();
 * cancelled. */
inline io dial(skua_runtime *rt, const std::string &address,
	       deadline until = {}, unsigned flags = 0)
{
	skua_error error;
	skua_io out;
	const int code =
		skua_dial(rt, address.c_str(), flags, &out, until.ns(), &error);

	if (code == -ECANCELED)
		throw cancelled();
	if (code < 0)
		throw std::system_error(-code, std::generic_category(),
					error.text);
	return io(out);
}

} // namespace skua

#endif
