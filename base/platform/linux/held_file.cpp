// A held file or folder is locked.
#include "platform/held_file.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lamina {
namespace {

namespace fs = std::filesystem;

// A file system without locks makes this fail; then everything counts as in use.
bool lock(int number) { return ::flock(number, LOCK_EX | LOCK_NB) == 0; }

// Holds what was just created, if it is still there: another process may have removed it before it was locked. Then its
// name counts as taken.
int hold(int number) {
    if (number < 0) return number;
    struct stat status {};
    const bool in_use_elsewhere = !lock(number) && errno == EWOULDBLOCK;
    if (!in_use_elsewhere && ::fstat(number, &status) == 0 && status.st_nlink != 0) return number;
    ::close(number);
    errno = EEXIST;
    return -1;
}

} // namespace

int process_number() { return ::getpid(); }

// Its permissions are those of any new file; mkstemp would make it readable by its owner only.
int create_held_file(const fs::path &path) {
    return hold(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
}

int create_held_folder(const fs::path &path) {
    if (::mkdir(path.c_str(), 0777) != 0) return -1;
    const int number = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (number < 0 && errno == ENOENT) errno = EEXIST; // another process has removed it before it was held
    return hold(number);
}

int rename_held(int, const fs::path &from, const fs::path &to) {
    return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

void discard_held(int number, const fs::path &path) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
    ::close(number);
}

void remove_unless_held(const fs::path &path) {
    const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (number < 0) return;
    std::error_code ignored;
    struct stat status {};
    // Its holder may have removed it meanwhile, and another have taken the name.
    if (lock(number) && ::fstat(number, &status) == 0 && status.st_nlink != 0) fs::remove_all(path, ignored);
    ::close(number);
}

} // namespace lamina
