#include "base/open_file.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lamina {
namespace {

FileKind kind_of(mode_t mode) {
    return S_ISREG(mode)    ? FileKind::ordinary
           : S_ISDIR(mode)  ? FileKind::folder
           : S_ISFIFO(mode) ? FileKind::pipe
                            : FileKind::device;
}

} // namespace

OpenFile open_to_read(const std::filesystem::path &file, bool wait) {
    // O_NONBLOCK has no effect on an ordinary file.
    const int number = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | (wait ? 0 : O_NONBLOCK));
    struct stat status {};
    if (number < 0) return {};
    if (::fstat(number, &status) == 0)
        return {number, kind_of(status.st_mode), static_cast<uint64_t>(std::max<off_t>(status.st_size, 0))};
    const int error = errno;
    ::close(number);
    errno = error;
    return {};
}

int open_to_write(const std::filesystem::path &file) { return ::open(file.c_str(), O_WRONLY | O_CLOEXEC); }

ptrdiff_t read_some(int file, std::span<std::byte> into) {
    return ::read(file, into.data(), std::min<size_t>(into.size(), 1u << 30));
}

int write_bytes(int file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(file, bytes.data(), std::min<size_t>(bytes.size(), 1u << 30));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return 0;
}

int flush_to_disk(int file) { return ::fsync(file) == 0 ? 0 : errno; }

int close_file(int file) { return ::close(file) == 0 ? 0 : errno; }

} // namespace lamina
