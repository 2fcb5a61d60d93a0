#include "base/mapped_file.hpp"

#include "base/open_file.hpp"

#include <lamina/error.hpp>

#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>

#include <sys/mman.h>
#include <unistd.h>

namespace lamina {

MappedFile MappedFile::open(const std::filesystem::path &file) {
    const auto refuse = [&](const std::string &why) { throw Error(ErrorCode::input, file.string() + ": " + why); };
    const auto reason = [](int error) { return std::generic_category().message(error); };
    const OpenFile opened = open_to_read(file, false);
    if (opened.number < 0) refuse(reason(errno));
    const auto size = static_cast<size_t>(opened.size);
    const bool ordinary = opened.kind == FileKind::ordinary;
    void *at = ordinary && size != 0 ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opened.number, 0) : nullptr;
    const int error = errno;
    close_file(opened.number);
    if (!ordinary) refuse("expected an ordinary file");
    if (size == 0) return {}; // nothing to map
    if (at == MAP_FAILED && error == ENOMEM)
        throw Error(ErrorCode::memory,
                    file.string() + ": memory has no room for its " + std::to_string(size) + " bytes");
    if (at == MAP_FAILED) refuse("cannot be mapped: " + reason(error));
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
