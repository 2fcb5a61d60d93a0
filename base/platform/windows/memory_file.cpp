// Windows has no files without a disk, but does not write those that are temporary as long as memory suffices.
#include "base/memory_file.hpp"

#include "base/open_file.hpp"
#include "platform/windows/error.hpp"

#include <lamina/error.hpp>

#include <atomic>

#include <fcntl.h>
#include <io.h>

namespace lamina {

MemoryFile::MemoryFile(std::span<const std::byte> bytes) {
    static std::atomic<unsigned> count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("lamina-" + std::to_string(GetCurrentProcessId()) + "-" + std::to_string(++count));
    const HANDLE handle =
        CreateFileW(path_.c_str(), GENERIC_WRITE, 0, nullptr, CREATE_ALWAYS, FILE_ATTRIBUTE_TEMPORARY, nullptr);
    int error = handle == INVALID_HANDLE_VALUE ? errno_of(GetLastError()) : 0;
    if (error == 0) {
        const int number = _open_osfhandle(reinterpret_cast<intptr_t>(handle), _O_WRONLY | _O_BINARY);
        error = write_bytes(number, bytes);
        close_file(number);
    }
    if (error == 0) return;
    DeleteFileW(path_.c_str());
    throw Error(ErrorCode::memory, "no memory for a file of " + std::to_string(bytes.size()) +
                                       " bytes: " + std::generic_category().message(error));
}

MemoryFile::~MemoryFile() { DeleteFileW(path_.c_str()); }

} // namespace lamina
