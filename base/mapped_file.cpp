#include "base/mapped_file.hpp"

#include <lamina/error.hpp>

#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lamina {
namespace {

struct Descriptor {
    int number;
    ~Descriptor() {
        if (number >= 0) ::close(number);
    }
};

} // namespace

MappedFile MappedFile::open(const std::filesystem::path &file) {
    const auto refuse = [&](const std::string &why) { throw Error(ErrorCode::input, file.string() + ": " + why); };
    const auto system_reason = [] { return std::generic_category().message(errno); };
    // Non-blocking, so that opening a pipe does not wait for its writer.
    const Descriptor descriptor{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat status {};
    if (descriptor.number < 0 || ::fstat(descriptor.number, &status) != 0) refuse(system_reason());
    if (!S_ISREG(status.st_mode)) refuse("expected an ordinary file");
    const auto size = static_cast<size_t>(status.st_size);
    if (size == 0) return {}; // nothing to map
    void *at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.number, 0);
    if (at == MAP_FAILED && errno == ENOMEM)
        throw Error(ErrorCode::memory,
                    file.string() + ": memory has no room for its " + std::to_string(size) + " bytes");
    if (at == MAP_FAILED) refuse("cannot be mapped: " + system_reason());
    return {{static_cast<const std::byte *>(at), size},
            std::shared_ptr<const void>(at, [size](const void *p) { ::munmap(const_cast<void *>(p), size); })};
}

// Whole pages only: what shares a page with other bytes stays.
void let_go(std::span<const std::byte> mapped) {
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<uintptr_t>(mapped.data());
    const uintptr_t first = (begin + page - 1) / page * page, last = (begin + mapped.size()) / page * page;
    if (first < last) (void)::madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED);
}

} // namespace lamina
