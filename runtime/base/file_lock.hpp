// A lock on a file. The system frees it when its process ends, however that happens, so that nobody waits for the dead.
#pragma once

#include <chrono>
#include <filesystem>
#include <string_view>

namespace lamina {

class FileLock {
  public:
    enum class Open { existing, any, fresh }; // any: it is made where there is none; fresh: there must be none
    // Tries to take the lock for as long as that, and once at least. Two locks in one process exclude each other, too.
    FileLock(const std::filesystem::path &file, Open how, std::chrono::milliseconds patience = {});
    FileLock(const FileLock &) = delete;
    FileLock &operator=(const FileLock &) = delete;
    ~FileLock();

    [[nodiscard]] bool held() const { return held_; }
    // Somebody else holds it. Neither held nor busy: the file cannot be opened, or its file system has no locks.
    [[nodiscard]] bool busy() const { return busy_; }
    // The file has no name any more: its owner has done with it.
    [[nodiscard]] bool removed() const;
    // Writes to the file, and waits until it is on the disk.
    [[nodiscard]] bool write(std::string_view text) const;

  private:
    int descriptor_;
    bool held_ = false, busy_ = false;
};

} // namespace lamina
