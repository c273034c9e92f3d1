// SPDX-License-Identifier: MIT
//
// skua.hpp - the C++ interface: headers alone, over the C functions
//
// C++17. With C++20 and a compiler that has coroutines, also skua::task<T> and skua::co.
//
// Errors are exceptions: std::system_error with the errno value of the C function, and
// skua::cancelled. Exceptions of tasks, jobs and coroutines reach the thread or task that
// joins them. Objects own what they stand for, and convert to the C types (c(), or
// skua_runtime *), so that the whole C interface may be used beside them.
#ifndef SKUA_HPP
#define SKUA_HPP

#include <skua/cpp/channel.hpp>
#include <skua/cpp/error.hpp>
#include <skua/cpp/group.hpp>
#include <skua/cpp/io.hpp>
#include <skua/cpp/parallel.hpp>
#include <skua/cpp/runtime.hpp>
#include <skua/cpp/sync.hpp>
#include <skua/cpp/task.hpp>

#if defined(__cpp_impl_coroutine)
#include <skua/cpp/combine.hpp>
#include <skua/cpp/coroutine.hpp>
#include <skua/cpp/operations.hpp>
#endif

#endif
