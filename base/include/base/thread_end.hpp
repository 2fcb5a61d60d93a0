// How threads end.
#pragma once

namespace lamina {

// Has destroy(object) called when this thread ends. mingw calls the destructors of thread_local objects too late: their
// memory is no longer theirs. Throws std::bad_alloc.
void at_thread_end(void (*destroy)(void *object), void *object);

// Whether the system has already ended all other threads: then nobody can join them, nor use what they waited for.
// Windows does that before it calls the destructors of a library's static objects.
[[nodiscard]] bool threads_have_ended();

} // namespace lamina
