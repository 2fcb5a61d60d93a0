// What libFuzzer calls. Without libFuzzer, a program that reads all files of the given folders once.
#include "fuzz.hpp"

#include <lamina/error.hpp>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try {
        test::read({reinterpret_cast<const char *>(data), size});
    } catch (const lamina::Error &) { // a clear refusal is what bad input should get
    }
    return 0;
}

#ifndef LAMINA_LIBFUZZER
#include "base/file.hpp"

#include <cstdio>

int main(int argc, char **argv) {
    int files = 0;
    for (int i = 1; i < argc; ++i)
        for (const auto &entry : std::filesystem::recursive_directory_iterator(argv[i])) {
            if (!entry.is_regular_file()) continue;
            const auto bytes = lamina::read_file(entry.path());
            std::fprintf(stderr, "%s\n", entry.path().c_str()); // the last one is what went wrong
            (void)LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
            ++files;
        }
    std::printf("read %d files\n", files);
    return files == 0;
}
#endif
