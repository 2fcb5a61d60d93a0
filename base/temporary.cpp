#include "base/temporary.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lamina {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".tmp";

std::string new_name(const fs::path &target) {
    static std::atomic<unsigned> count = 0;
    return target.string() + "." + std::to_string(::getpid()) + "-" + std::to_string(++count) + std::string(ending);
}

// Whether a name is one that new_name() gives for a target of this name.
bool is_temporary(std::string_view name, std::string_view target) {
    if (!name.starts_with(target) || !name.ends_with(ending)) return false;
    name.remove_prefix(target.size());
    name.remove_suffix(std::min(name.size(), ending.size()));
    const size_t dash = name.find('-');
    const auto digits = [](std::string_view text) {
        return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    };
    return name.starts_with(".") && dash != std::string_view::npos && digits(name.substr(1, dash - 1)) &&
           digits(name.substr(dash + 1));
}

// A file system without locks makes this fail; then everything counts as in use.
bool lock(int descriptor) { return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

void remove_abandoned(const fs::path &target) {
    std::error_code failed;
    const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
    for (auto entry = fs::directory_iterator(folder, failed); !failed && entry != fs::directory_iterator();
         entry.increment(failed)) {
        if (!is_temporary(entry->path().filename().native(), target.filename().native())) continue;
        const int descriptor = ::open(entry->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (descriptor < 0) continue;
        std::error_code ignored;
        if (lock(descriptor)) fs::remove_all(entry->path(), ignored);
        ::close(descriptor);
    }
}

// Whether what was just created is still there: another process may have removed it before it was locked.
bool keep(int descriptor) {
    struct stat status {};
    const bool in_use_elsewhere = !lock(descriptor) && errno == EWOULDBLOCK;
    return !in_use_elsewhere && ::fstat(descriptor, &status) == 0 && status.st_nlink != 0;
}

} // namespace

// Its permissions are those of any new file; mkstemp would make it readable by its owner only.
int create_temporary_file(const fs::path &target, std::string &name) {
    remove_abandoned(target);
    for (;;) {
        name = new_name(target);
        const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno == EEXIST) continue;
        if (descriptor < 0 || keep(descriptor)) return descriptor;
        ::close(descriptor);
    }
}

int create_temporary_folder(const fs::path &target, std::string &name) {
    remove_abandoned(target);
    for (;;) {
        name = new_name(target);
        if (::mkdir(name.c_str(), 0777) != 0) {
            if (errno == EEXIST) continue;
            return -1;
        }
        const int descriptor = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (descriptor < 0 || keep(descriptor)) return descriptor;
        ::close(descriptor);
    }
}

} // namespace lamina
