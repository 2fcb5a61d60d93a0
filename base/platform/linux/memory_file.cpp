#include "base/memory_file.hpp"

#include "base/open_file.hpp"

#include <lamina/error.hpp>

#include <cerrno>
#include <string>
#include <system_error>

#include <sys/mman.h>

namespace lamina {

MemoryFile::MemoryFile(std::span<const std::byte> bytes) : number_(::memfd_create("bytes", MFD_CLOEXEC)) {
    const int error = number_ < 0 ? errno : write_bytes(number_, bytes);
    if (error != 0) {
        if (number_ >= 0) close_file(number_);
        throw Error(ErrorCode::memory, "no memory for a file of " + std::to_string(bytes.size()) +
                                           " bytes: " + std::generic_category().message(error));
    }
    path_ = "/proc/self/fd/" + std::to_string(number_);
}

MemoryFile::~MemoryFile() { close_file(number_); }

} // namespace lamina
