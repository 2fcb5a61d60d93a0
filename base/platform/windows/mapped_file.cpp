#include "base/mapped_file.hpp"

#include "base/open_file.hpp"
#include "platform/windows/error.hpp"

#include <lamina/error.hpp>

#include <cstdint>

#include <io.h>

namespace lamina {

MappedFile MappedFile::open(const std::filesystem::path &file) {
    const auto refuse = [&](const std::string &why) { throw Error(ErrorCode::input, file.string() + ": " + why); };
    const OpenFile opened = open_to_read(file, false);
    if (opened.kind != FileKind::ordinary) {
        if (opened.number >= 0) close_file(opened.number);
        refuse("expected an ordinary file");
    }
    if (opened.number < 0) refuse(std::generic_category().message(errno));
    const auto handle = reinterpret_cast<HANDLE>(_get_osfhandle(opened.number));
    // The view keeps the mapping, which keeps the file.
    const HANDLE mapping =
        opened.size == 0 ? nullptr : CreateFileMappingW(handle, nullptr, PAGE_READONLY, 0, 0, nullptr);
    const void *at = mapping == nullptr ? nullptr : MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
    const DWORD error = GetLastError();
    if (mapping != nullptr) CloseHandle(mapping);
    close_file(opened.number);
    if (opened.size == 0) return {}; // nothing to map
    if (at == nullptr && (error == ERROR_NOT_ENOUGH_MEMORY || error == ERROR_COMMITMENT_LIMIT))
        throw Error(ErrorCode::memory,
                    file.string() + ": memory has no room for its " + std::to_string(opened.size) + " bytes");
    if (at == nullptr) refuse("cannot be mapped: " + words_of(error));
    return {{static_cast<const std::byte *>(at), static_cast<size_t>(opened.size)},
            std::shared_ptr<const void>(at, [](const void *p) { UnmapViewOfFile(p); })};
}

// Unlocking pages that are not locked takes them out of the process's memory. Whole pages only: what shares a page with
// other bytes stays.
void let_go(std::span<const std::byte> mapped) {
    constexpr uintptr_t page = 4096;
    const auto begin = reinterpret_cast<uintptr_t>(mapped.data());
    const uintptr_t first = (begin + page - 1) / page * page, last = (begin + mapped.size()) / page * page;
    if (first < last) VirtualUnlock(reinterpret_cast<void *>(first), last - first);
}

// Windows does not let a mapped file be cut.
const Mapping *mapping_of(std::span<const std::byte>) { return nullptr; }
void let_go(const Mapping &) {}
void expect_whole(const Mapping &) {}

} // namespace lamina
