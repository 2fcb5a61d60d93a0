// The threads that share the work of a layer: one for each processor that the process may use. They live as long as it.
#pragma once

#include <concepts>
#include <cstdint>

namespace lamina::plugin::cpu_fallback {

// Work worth handing to another thread, in multiplications.
inline constexpr int64_t part_values = 1 << 15;

// How many threads there are, the caller's among them.
int thread_count();

// A function that is there as long as whoever it is passed to needs it. Unlike std::function, it takes no memory.
template <class... Args> class Callback {
  public:
    template <std::invocable<Args...> F>
    Callback(const F &f) // as implicit as a function
        : f_(&f), call_([](const void *of, Args... args) { (*static_cast<const F *>(of))(args...); }) {}
    void operator()(Args... args) const { call_(f_, args...); }

  private:
    const void *f_;
    void (*call_)(const void *of, Args... args);
};

// Calls part(0) to part(parts - 1) in any order, and returns when all have returned. Of what they throw, the first is
// thrown again. `work`: of a part, in multiplications.
void in_parallel(int64_t parts, Callback<int64_t> part, int64_t work = part_values);

// Calls range(first, end) in the same way for ranges that together are [0, size). One of the size `least` takes longer
// than waking a thread, some ten microseconds.
void in_ranges(int64_t size, int64_t least, Callback<int64_t, int64_t> range);

} // namespace lamina::plugin::cpu_fallback
