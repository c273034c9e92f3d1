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
	};
	free_frame *top[classes];
	size_t room[classes]; // how many further frames each may keep
	enum { unused, used, ended } state; // set by frame_cleaner
};

inline constinit thread_local frame_stacks frames = {};

/* Frees them at the end of the thread. Frames that are freed later are not kept. */
struct frame_cleaner {
	frame_cleaner() noexcept
	{
		frames.state = frame_stacks::used;
		for (size_t i = 0; i < frame_stacks::classes; i++)
			frames.room[i] = frame_stacks::kept_bytes /
					 ((i + 1) * frame_stacks::step);
	}
	~frame_cleaner()
	{
		frames.state = frame_stacks::ended;
		for (size_t i = 0; i < frame_stacks::classes; i++) {
			frames.room[i] = 0;
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
[[gnu::noinline]] inline void *frame_take(size_t size_class)
{
	frame_stacks::free_frame *const it = frames.top[size_class];

	if (!it)
		return ::operator new((size_class + 1) * frame_stacks::step,
				      frame_stacks::alignment);
	frames.top[size_class] = it->below;
	frames.room[size_class]++;
	return it;
}

inline void frame_keep(void *memory, size_t size_class) noexcept
{
	frames.room[size_class]--;
	frames.top[size_class] = ::new (memory)
		frame_stacks::free_frame{ frames.top[size_class] };
}

/* For a stack without room: it is full, or its thread has kept no frame yet, or has ended. */
[[gnu::noinline, gnu::cold]] inline void
frame_keep_first(void *memory, size_t size_class) noexcept
{
	if (frames.state != frame_stacks::unused)
		return ::operator delete(memory, frame_stacks::alignment);
	static thread_local frame_cleaner cleaner;
	static_cast<void>(&cleaner);
	frame_keep(memory, size_class);
}

[[gnu::noinline]] inline void frame_give(void *memory,
					 size_t size_class) noexcept
{
	if (frames.room[size_class] == 0)
		return frame_keep_first(memory, size_class);
	frame_keep(memory, size_class);
}

// Inline: the compiler knows the size of a frame, and so its class.
inline void *frame_new(size_t bytes)
{
	const size_t size_class = (bytes - 1) / frame_stacks::step;

	if (!SKUA_CPP_KEEPS_FRAMES || size_class >= frame_stacks::classes)
		return ::operator new(bytes, frame_stacks::alignment);
	return frame_take(size_class);
}

inline void frame_delete(void *memory, size_t bytes) noexcept
{
	const size_t size_class = (bytes - 1) / frame_stacks::step;

	if (!SKUA_CPP_KEEPS_FRAMES || size_class >= frame_stacks::classes)
		return ::operator delete(memory, frame_stacks::alignment);
	frame_give(memory, size_class);
}

} // namespace detail
} // namespace skua

#endif
