#include "catch.hpp"

#include "base/parallel.hpp"

#include <fstream>
#include <vector>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace lamina;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // which need terabytes of addresses
TEST_CASE("where there is no memory for threads, one does all the work") {
    pthread_attr_t before, large;
    pthread_getattr_default_np(&before);
    pthread_getattr_default_np(&large);
    pthread_attr_setstacksize(&large, size_t{256} << 20); // larger than any stack that could be used again
    pthread_setattr_default_np(&large);
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit unlimited{};
    getrlimit(RLIMIT_AS, &unlimited);
    const rlimit little{pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + (64 << 20), unlimited.rlim_max};
    setrlimit(RLIMIT_AS, &little);

    std::vector<int> done(100);
    size_t others = 0;
    std::string failure;
    try {
        in_parallel(done.size(), 4, [&](size_t piece, size_t thread) {
            ++done[piece];
            if (thread != 0) ++others;
        });
    } catch (const std::exception &e) {
        failure = e.what();
    }
    setrlimit(RLIMIT_AS, &unlimited);
    pthread_setattr_default_np(&before);
    CHECK(failure.empty());
    CHECK(others == 0);
    CHECK(done == std::vector<int>(100, 1));
}
#endif
