#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace lamina {

void in_parallel(size_t pieces, size_t threads, const std::function<void(size_t piece, size_t thread)> &work) {
    std::atomic<size_t> next{0};
    std::atomic<bool> failed{false};
    std::vector<std::exception_ptr> failures(pieces);
    const auto run = [&](size_t thread) {
        for (size_t piece = next++; piece < pieces && !failed; piece = next++) {
            try {
                work(piece, thread);
            } catch (...) {
                failures[piece] = std::current_exception();
                failed = true;
            }
        }
    };
    {
        std::vector<std::jthread> others; // joined at the end of this block
        try {
            for (size_t thread = 1; thread < std::min(pieces, threads); ++thread) others.emplace_back(run, thread);
        } catch (const std::system_error &) { // a limit of threads or of memory: fewer do, too
        }
        run(0);
    }
    for (const std::exception_ptr &failure : failures)
        if (failure) std::rethrow_exception(failure);
}

} // namespace lamina
