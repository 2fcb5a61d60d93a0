// Files and folders that hold what is being written until it is renamed to its place. They are next to it, and their
// writer holds them open. So the next writer of the same place can tell those in use from those that a killed process
// left, and removes the latter.
#pragma once

#include <filesystem>

namespace lamina {

// A new file or folder "TARGET.PID-N.tmp".
class Temporary {
  public:
    enum class Kind { file, folder };

    Temporary(std::filesystem::path target, Kind kind); // throws std::system_error
    Temporary(const Temporary &) = delete;
    Temporary &operator=(const Temporary &) = delete;
    ~Temporary(); // removes it with its contents, unless it has its final name

    [[nodiscard]] const std::filesystem::path &path() const { return path_; }
    [[nodiscard]] int number() const { return number_; } // of a file, to write to
    void rename();                                       // to the target; throws std::system_error

  private:
    std::filesystem::path target_, path_;
    int number_ = -1;
    bool in_place_ = false;
};

} // namespace lamina
