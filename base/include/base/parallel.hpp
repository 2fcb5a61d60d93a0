// Independent pieces of work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace lamina {

// Calls work(piece, thread) for every piece below `pieces`, in this order, on the calling thread and on others,
// `threads` in all at most, fewer if the system allows no more; `thread` tells them apart and is below `threads`. After
// one has thrown, no other is begun, and when all threads are idle, the exception of the first piece that threw is
// thrown again.
void in_parallel(size_t pieces, size_t threads, const std::function<void(size_t piece, size_t thread)> &work);

} // namespace lamina
