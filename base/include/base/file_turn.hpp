// Turns of those who read a file, add to it, and replace it, also of other processes.
#pragma once

#include <filesystem>

namespace lamina {

// While it exists, the others wait: a folder "FILE.turn" that is in use. Who cannot make one, as in a folder that is
// read-only, or who has waited for ten seconds, goes on without it.
class FileTurn {
  public:
    explicit FileTurn(const std::filesystem::path &file);
    ~FileTurn();
    FileTurn(const FileTurn &) = delete;
    FileTurn &operator=(const FileTurn &) = delete;

  private:
    std::filesystem::path folder_;
    int number_ = -1;
};

} // namespace lamina
