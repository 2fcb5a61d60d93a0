// The case that a process is in the middle of, so that others know when it ended there: a driver that crashes takes the
// process with it. It is written to a file beside the verdicts, which the process holds locked and removes when the
// case is over; a file that is there and that nobody holds is a death. No process ids: they are given again, and in
// containers are the same every time.
#pragma once

#include "base/file_lock.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lamina::admission {

struct CaseName {
    std::string layer, variant, text;
};

class RunningCase {
  public:
    // verdicts: their file; empty: nobody is told. Nor where the file cannot be made or locked.
    RunningCase(const std::filesystem::path &verdicts, const CaseName &name);
    RunningCase(const RunningCase &) = delete;
    RunningCase &operator=(const RunningCase &) = delete;
    ~RunningCase();

  private:
    std::filesystem::path file_; // empty: none
    std::optional<FileLock> lock_;
};

// A case in which a process ended, and the file that says so: whoever counts it removes it.
struct Death {
    CaseName name;
    std::filesystem::path file;
};
[[nodiscard]] std::vector<Death> deaths_beside(const std::filesystem::path &verdicts);

} // namespace lamina::admission
