#include "base/available_memory.hpp"

#include "catch.hpp"

using lamina::available_memory;

TEST_CASE("available memory: is read from /proc/meminfo") {
    CHECK(
        available_memory("MemTotal:       24684096 kB\nMemFree:  5 kB\nMemAvailable:   23693128 kB\nBuffers: 1 kB\n") ==
        uint64_t{23693128} * 1024);
    CHECK(available_memory("MemAvailable: 0 kB") == uint64_t{0});
}

TEST_CASE("available memory: none if /proc/meminfo does not contain it") {
    for (const char *text : {"", "MemFree: 5 kB\n", "MemAvailable:", "MemAvailable: many kB\n", "MemAvailable: 5 MB\n",
                             "NotMemAvailable: 5 kB\n", "MemAvailable: 18446744073709551615 kB\n"}) {
        CAPTURE(text);
        CHECK_FALSE(available_memory(text));
    }
}

TEST_CASE("available memory: this machine has some") { CHECK(available_memory().value_or(1) > 0); }
