#include "base/file.hpp"

#include "base/temporary.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lamina {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void cannot_read(const fs::path &file, const std::string &why) {
    throw Error(ErrorCode::input, file.string() + ": " + why);
}
[[noreturn]] void cannot_write(const fs::path &file, int error) {
    throw Error(ErrorCode::failure, file.string() + ": cannot be written: " + reason(error));
}

// Returns 0 or the errno.
int write_all(int descriptor, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(descriptor, bytes.data(), std::min<size_t>(bytes.size(), 1u << 30));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return 0;
}

} // namespace

FileReader::FileReader(const fs::path &file, Kind kind)
    // Non-blocking, because opening a pipe would wait for its writer. This has no effect on an ordinary file.
    : file_(file), descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | (kind == Kind::ordinary ? O_NONBLOCK : 0))) {
    if (descriptor_ < 0) cannot_read(file, reason(errno));
    struct stat status {};
    std::string refusal;
    if (::fstat(descriptor_, &status) != 0)
        refusal = reason(errno);
    else if (S_ISDIR(status.st_mode))
        refusal = "is a folder; expected a file";
    else if (kind == Kind::ordinary && !S_ISREG(status.st_mode))
        refusal = S_ISFIFO(status.st_mode) ? "is a pipe; expected an ordinary file"
                                           : "is a device; expected an ordinary file";
    if (!refusal.empty()) {
        ::close(descriptor_);
        cannot_read(file, refusal);
    }
    rest_ = static_cast<uint64_t>(std::max<off_t>(status.st_size, 0));
}

FileReader::~FileReader() { ::close(descriptor_); }

std::vector<std::byte> FileReader::read(uint64_t most) {
    try {
        std::vector<std::byte> bytes;
        size_t length = 0;
        while (length < most) {
            if (length == bytes.size()) // one byte more than the file's size, so that this round also finds the end
                bytes.resize(std::min<uint64_t>(most, std::max<uint64_t>({length * 2, length + rest_ + 1, 4096})));
            const ssize_t n =
                ::read(descriptor_, bytes.data() + length, std::min<size_t>(bytes.size() - length, 1u << 30));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) cannot_read(file_, reason(errno));
            if (n == 0) break;
            length += static_cast<size_t>(n);
            rest_ -= std::min(rest_, static_cast<uint64_t>(n));
        }
        bytes.resize(length);
        return bytes;
    } catch (const std::bad_alloc &) {
        throw Error(ErrorCode::memory, file_.string() + ": does not fit into memory");
    }
}

std::vector<std::byte> read_file(const fs::path &file, uint64_t limit, FileReader::Kind kind) {
    FileReader in(file, kind);
    const auto check = [&](uint64_t size) {
        if (size > limit) cannot_read(file, "is larger than the limit of " + std::to_string(limit) + " bytes");
    };
    check(in.rest());
    std::vector<std::byte> bytes = in.read(limit == UINT64_MAX ? limit : limit + 1);
    check(bytes.size());
    return bytes;
}

FileWriter::FileWriter(const fs::path &file) : file_(file) {
    std::error_code ignored; // opening the path gives a better error
    if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored)) {
        // Renaming to a pipe or a device (/dev/stdout) would replace it with an ordinary file.
        descriptor_ = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
    } else {
        // Follows a link, so that the link stays and its target is replaced.
        const fs::path target = fs::is_symlink(file, ignored) ? fs::weakly_canonical(file, ignored) : file;
        target_ = (target.empty() ? file : target).string();
        descriptor_ = create_temporary_file(target_, temporary_);
    }
    if (descriptor_ < 0) cannot_write(file, errno);
}

FileWriter::~FileWriter() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void FileWriter::write(std::span<const std::byte> bytes) {
    if (const int error = write_all(descriptor_, bytes); error != 0) cannot_write(file_, error);
}

void FileWriter::commit() {
    if (!temporary_.empty() && ::fsync(descriptor_) != 0) cannot_write(file_, errno);
    const int lock = ::dup(descriptor_); // on the temporary file, until it has its final name
    // Closing may report a delayed error, such as a full quota on a network file system.
    int error = ::close(std::exchange(descriptor_, -1)) != 0 ? errno : 0;
    if (error == 0 && !temporary_.empty() && ::rename(temporary_.c_str(), target_.c_str()) != 0) error = errno;
    if (lock >= 0) ::close(lock);
    if (error != 0) cannot_write(file_, error);
    temporary_.clear();
}

void write_file(const fs::path &file, std::span<const std::byte> bytes) {
    FileWriter out(file);
    out.write(bytes);
    out.commit();
}

void write_file(const fs::path &file, std::string_view text) { write_file(file, std::as_bytes(std::span(text))); }

} // namespace lamina
