// SPDX-License-Identifier: MIT
//
// echo_coroutines.cpp - C++20: a server with a coroutine for each connection
//
//	c++ -std=c++20 -O2 -o echo_coroutines echo_coroutines.cpp $(pkg-config --cflags --libs skua)
#include <skua/skua.hpp>

#include <csignal>
#include <cstdio>
#include <string>

using namespace std::chrono_literals;
namespace co = skua::co;

namespace
{

// An exception that leaves a member of the group would cancel all connections.
skua::task<> serve(skua::io connection)
{
	char bytes[4096];
	try {
		while (const size_t n = co_await co::read(
			       connection, bytes, sizeof(bytes), skua::in(60s)))
			co_await co::write_all(connection, bytes, n,
					       skua::in(5s));
	} catch (const skua::cancelled &) {
		throw; // the group was cancelled: no failure
	} catch (const std::system_error &e) {
		std::fprintf(stderr, "connection: %s\n", e.what());
	}
}

skua::task<> accept_all(const skua::io &listener, skua::group &connections)
{
	try {
		for (;;)
			skua::spawn(connections,
				    serve(co_await co::accept(listener)));
	} catch (const std::system_error &e) {
		if (e.code().value() != EBADF) // EBADF: main() closed it
			throw;
	}
}

void run(const std::string &address, const sigset_t &stop)
{
	skua::runtime rt;
	skua::io listener = skua::listen(rt, address);
	skua::group connections(rt);
	auto acceptor = skua::spawn(rt, accept_all(listener, connections));
	int signal;

	sigwait(&stop, &signal);
	listener.close(); // ends accept_all()
	acceptor.join();
	connections.cancel();
	connections.wait(skua::in(10s));
	std::puts("all connections have ended");
}

} // namespace

int main(int argc, char **argv)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &stop, nullptr); // in all threads
	try {
		run(std::string("127.0.0.1:") + (argc > 1 ? argv[1] : "7777"),
		    stop);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "echo: %s\n", e.what());
		return 1;
	}
}
