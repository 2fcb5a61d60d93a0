#include "base/file.hpp"

#include "base/lfs_pointer.hpp"
#include "base/open_file.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

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

// Why a file of this kind is not read; empty if it is.
std::string refusal(const OpenFile &file, FileReader::Kind kind) {
    if (file.kind == FileKind::folder) return "is a folder; expected a file";
    if (file.number < 0) return reason(errno);
    if (kind == FileReader::Kind::any || file.kind == FileKind::ordinary) return {};
    return file.kind == FileKind::pipe ? "is a pipe; expected an ordinary file"
                                       : "is a device; expected an ordinary file";
}

} // namespace

FileReader::FileReader(const fs::path &file, Kind kind) : file_(file) {
    const OpenFile opened = open_to_read(file, kind == Kind::any);
    if (const std::string why = refusal(opened, kind); !why.empty()) {
        if (opened.number >= 0) close_file(opened.number);
        cannot_read(file, why);
    }
    number_ = opened.number;
    rest_ = opened.size;
}

FileReader::~FileReader() { close_file(number_); }

std::vector<std::byte> FileReader::read(uint64_t most) {
    try {
        std::vector<std::byte> bytes;
        size_t length = 0;
        while (length < most) {
            if (length == bytes.size()) // one byte more than the file's size, so that this round also finds the end
                bytes.resize(std::min<uint64_t>(most, std::max<uint64_t>({length * 2, length + rest_ + 1, 4096})));
            const ptrdiff_t n = read_some(number_, std::span(bytes).subspan(length));
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
    refuse_lfs_pointer(file, bytes);
    return bytes;
}

FileWriter::FileWriter(const fs::path &file, Existing existing) : file_(file) {
    std::error_code ignored; // opening the path gives a better error
    const bool follow = existing == Existing::follow;
    if (follow && fs::exists(file, ignored) && !fs::is_regular_file(file, ignored)) {
        // Renaming to a pipe or a device (/dev/stdout) would replace it with an ordinary file.
        direct_ = open_to_write(file);
        if (direct_ < 0) cannot_write(file, errno);
        return;
    }
    // Follows a link, so that the link stays and its target is replaced.
    const fs::path target = follow && fs::is_symlink(file, ignored) ? fs::weakly_canonical(file, ignored) : file;
    try {
        temporary_.emplace(target.empty() ? file : target, Temporary::Kind::file);
    } catch (const std::system_error &e) {
        cannot_write(file, e.code().value());
    }
}

FileWriter::~FileWriter() {
    if (direct_ >= 0) close_file(direct_);
}

void FileWriter::write(std::span<const std::byte> bytes) {
    if (const int error = write_bytes(temporary_ ? temporary_->number() : direct_, bytes); error != 0)
        cannot_write(file_, error);
}

void FileWriter::commit() {
    // Both report a delayed error, such as a full quota on a network file system.
    const int error = temporary_ ? flush_to_disk(temporary_->number()) : close_file(std::exchange(direct_, -1));
    if (error != 0) cannot_write(file_, error);
    if (!temporary_) return;
    try {
        temporary_->rename();
    } catch (const std::system_error &e) {
        cannot_write(file_, e.code().value());
    }
    temporary_.reset();
}

void write_file(const fs::path &file, std::span<const std::byte> bytes, FileWriter::Existing existing) {
    FileWriter out(file, existing);
    out.write(bytes);
    out.commit();
}

void write_file(const fs::path &file, std::string_view text, FileWriter::Existing existing) {
    write_file(file, std::as_bytes(std::span(text)), existing);
}

} // namespace lamina
