// SPDX-License-Identifier: MIT
//
// frame.hpp - memory of coroutine frames; private to the library
//
// Each thread keeps a few free frames of each size class. A frame may be freed on another
// thread than the one that allocated it: it then serves that thread.
//
// A frame begins at a multiple of 64 bytes. Compilers do not say what alignment the variables
// of a coroutine need, and gcc 12 relies on that of the frame.
#ifndef SKUA_CPP_FRAME_HPP
#define SKUA_CPP_FRAME_HPP

#include <cstddef>
#include <new>

// A frame that is used again hides a use after its end from these.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SKUA_CPP_KEEPS_FRAMES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SKUA_CPP_KEEPS_FRAMES 0
#endif
#endif
#ifndef SKUA_CPP_KEEPS_FRAMES
#define SKUA_CPP_KEEPS_FRAMES 1
#endif

namespace skua
{
namespace detail
{

/* The free frames of a thread, by size. Without a destructor, so that no access has to
 * check whether it was constructed. */
struct frame_stacks {
	static constexpr size_t step = 64, classes = 16;
	static constexpr std::align_val_t alignment{ step };
	static constexpr size_t kept_bytes = 65536; // in each class

	struct free_frame {
		free_frame *below;
		size_t bytes; // of this one and those below it
	};
	free_frame *top[classes];
	enum { unused, used, ended } state; // set by frame_cleaner
};

inline constinit thread_local frame_stacks frames = {};

/* Frees them at the end of the thread. Frames that are freed later are not kept. */
struct frame_cleaner {
	frame_cleaner() noexcept
	{
		frames.state = frame_stacks::used;
	}
	~frame_cleaner()
	{
		frames.state = frame_stacks::ended;
		for (size_t i = 0; i < frame_stacks::classes; i++) {
			while (frame_stacks::free_frame *frame =
				       frames.top[i]) {
				frames.top[i] = frame->below;
				::operator delete(frame,
						  frame_stacks::alignment);
			}
		}
	}
};

// Not inline: a fiber that waits between two calls may change its thread, and the compiler
// would keep the address of a thread-local variable.
[[gnu::noinline]] inline void *frame_new(size_t bytes)
{
	const size_t size_class = (bytes - 1) / frame_stacks::step;

	if (!SKUA_CPP_KEEPS_FRAMES || size_class >= frame_stacks::classes)
		return ::operator new(bytes, frame_stacks::alignment);
	frame_stacks::free_frame *&top = frames.top[size_class];
	if (frame_stacks::free_frame *it = top) {
		top = it->below;
		return it;
	}
	return ::operator new((size_class + 1) * frame_stacks::step,
			      frame_stacks::alignment);
}

[[gnu::noinline]] inline void frame_delete(void *memory, size_t bytes) noexcept
{
	const size_t size_class = (bytes - 1) / frame_stacks::step;

	if (!SKUA_CPP_KEEPS_FRAMES || size_class >= frame_stacks::classes)
		return ::operator delete(memory, frame_stacks::alignment);
	frame_stacks::free_frame *&top = frames.top[size_class];
	const size_t below = top ? top->bytes : 0;
	if (below >= frame_stacks::kept_bytes ||
	    frames.state == frame_stacks::ended)
		return ::operator delete(memory, frame_stacks::alignment);
	if (frames.state == frame_stacks::unused) {
		static thread_local frame_cleaner cleaner;
		static_cast<void>(&cleaner);
	}
	top = ::new (memory) frame_stacks::free_frame{
		top, below + (size_class + 1) * frame_stacks::step
	};
}

} // namespace detail
} // namespace skua

#endif
