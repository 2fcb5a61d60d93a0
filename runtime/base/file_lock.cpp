#include "base/file_lock.hpp"

#include <cerrno>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lamina {
namespace {

int flags_of(FileLock::Open how) {
    const int create = how == FileLock::Open::existing ? 0 : how == FileLock::Open::any ? O_CREAT : O_CREAT | O_EXCL;
    // Written to, since network file systems want that of whoever takes a lock; closed in programs that are started,
    // which would hold it for their own lives.
    return O_RDWR | O_CLOEXEC | O_NOFOLLOW | create;
}

} // namespace

FileLock::FileLock(const std::filesystem::path &file, Open how, std::chrono::milliseconds patience)
    : descriptor_(::open(file.c_str(), flags_of(how), 0666)) {
    if (descriptor_ < 0) return;
    const auto end = std::chrono::steady_clock::now() + patience;
    for (;;) {
        held_ = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
        busy_ = !held_ && errno == EWOULDBLOCK;
        if (!busy_ || std::chrono::steady_clock::now() >= end) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

FileLock::~FileLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

bool FileLock::removed() const {
    struct stat status {};
    return ::fstat(descriptor_, &status) == 0 && status.st_nlink == 0;
}

bool FileLock::write(std::string_view text) const {
    return ::write(descriptor_, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
           ::fsync(descriptor_) == 0;
}

} // namespace lamina
