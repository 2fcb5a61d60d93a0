#include "base/available_memory.hpp"

#include "platform/linux/memory_texts.hpp"

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

TEST_CASE("available memory: a control group leaves what is below its limit, cached files not counted") {
    const char *const stat = "anon 100\nfile 700\ninactive_anon 5\nactive_file 300\ninactive_file 400\n";
    CHECK(available_memory("1000\n", "900\n", stat) == uint64_t{800});
    CHECK(available_memory("1000\n", "900\n", "") == uint64_t{100});
    CHECK(available_memory("1000\n", "1900\n", "") == uint64_t{0});
    CHECK(available_memory("1000\n", "600\n", stat) == uint64_t{1000});
    CHECK_FALSE(available_memory("max\n", "900\n", stat));
    CHECK_FALSE(available_memory("", "", ""));
}

TEST_CASE("available memory: this machine has some") {
    CHECK(available_memory().value_or(1) > 0);
    CHECK(available_memory(1).value_or(1) > 0);
}
