#include "base/open_file.hpp"

#include "platform/windows/error.hpp"

#include <algorithm>

#include <fcntl.h>
#include <io.h>

namespace lamina {
namespace {

bool is_folder(const std::filesystem::path &path) {
    const DWORD attributes = GetFileAttributesW(path.c_str());
    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

OpenFile opened(HANDLE handle, int how) {
    if (handle == INVALID_HANDLE_VALUE) {
        errno = errno_of(GetLastError());
        return {};
    }
    OpenFile out;
    const DWORD type = GetFileType(handle);
    out.kind = type == FILE_TYPE_DISK ? FileKind::ordinary : type == FILE_TYPE_PIPE ? FileKind::pipe : FileKind::device;
    LARGE_INTEGER size{};
    if (out.kind == FileKind::ordinary && GetFileSizeEx(handle, &size) != 0)
        out.size = static_cast<uint64_t>(size.QuadPart);
    out.number = _open_osfhandle(reinterpret_cast<intptr_t>(handle), how | _O_BINARY);
    return out;
}

} // namespace

OpenFile open_to_read(const std::filesystem::path &file, bool) {
    if (is_folder(file)) {
        errno = EISDIR;
        return {-1, FileKind::folder, 0};
    }
    // As on other systems, a file that is being read can be replaced.
    return opened(CreateFileW(file.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                              nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr),
                  _O_RDONLY);
}

int open_to_write(const std::filesystem::path &file) {
    if (is_folder(file)) {
        errno = EISDIR;
        return -1;
    }
    return opened(CreateFileW(file.c_str(), GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING,
                              FILE_ATTRIBUTE_NORMAL, nullptr),
                  _O_WRONLY)
        .number;
}

ptrdiff_t read_some(int file, std::span<std::byte> into) {
    return _read(file, into.data(), static_cast<unsigned>(std::min<size_t>(into.size(), 1u << 30)));
}

int write_bytes(int file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const int n = _write(file, bytes.data(), static_cast<unsigned>(std::min<size_t>(bytes.size(), 1u << 30)));
        if (n < 0) return errno;
        bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return 0;
}

int flush_to_disk(int file) { return _commit(file) == 0 ? 0 : errno; }

int close_file(int file) { return _close(file) == 0 ? 0 : errno; }

} // namespace lamina
