// A held file or folder is open in a way that does not let others remove it.
#include "platform/held_file.hpp"

#include "platform/windows/error.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <io.h>

namespace lamina {
namespace {

namespace fs = std::filesystem;

int hold(HANDLE handle) {
    if (handle != INVALID_HANDLE_VALUE)
        return _open_osfhandle(reinterpret_cast<intptr_t>(handle), _O_WRONLY | _O_BINARY);
    errno = errno_of(GetLastError());
    return -1;
}

} // namespace

int process_number() { return static_cast<int>(GetCurrentProcessId()); }

int create_held_file(const fs::path &path) {
    return hold(CreateFileW(path.c_str(), GENERIC_WRITE | DELETE, FILE_SHARE_READ, nullptr, CREATE_NEW,
                            FILE_ATTRIBUTE_NORMAL, nullptr));
}

int create_held_folder(const fs::path &path) {
    if (CreateDirectoryW(path.c_str(), nullptr) == 0) {
        errno = errno_of(GetLastError());
        return -1;
    }
    const int number = hold(CreateFileW(path.c_str(), DELETE, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr,
                                        OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
    if (number < 0 && errno == ENOENT) errno = EEXIST; // another process has already removed it
    return number;
}

// By its handle, because the name cannot be changed by others while it is open.
int rename_held(int number, const fs::path &, const fs::path &to) {
    const std::wstring name = fs::absolute(to).make_preferred().native();
    const size_t bytes = name.size() * sizeof(wchar_t);
    std::vector<FILE_RENAME_INFO> memory(1 + (bytes + sizeof(wchar_t)) / sizeof(FILE_RENAME_INFO) + 1);
    FILE_RENAME_INFO &info = memory.front();
    info.ReplaceIfExists = TRUE;
    info.FileNameLength = static_cast<DWORD>(bytes);
    std::memcpy(info.FileName, name.data(), bytes);
    const auto handle = reinterpret_cast<HANDLE>(_get_osfhandle(number));
    const auto size = static_cast<DWORD>(memory.size() * sizeof(FILE_RENAME_INFO));
    return SetFileInformationByHandle(handle, FileRenameInfo, &info, size) != 0 ? 0 : errno_of(GetLastError());
}

void discard_held(int number, const fs::path &path) {
    _close(number);
    std::error_code ignored;
    fs::remove_all(path, ignored);
}

void remove_unless_held(const fs::path &path) {
    const HANDLE handle =
        CreateFileW(path.c_str(), DELETE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                    OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, nullptr);
    if (handle == INVALID_HANDLE_VALUE) return;
    CloseHandle(handle);
    std::error_code ignored;
    fs::remove_all(path, ignored);
}

} // namespace lamina
