// Reads lines as they arrive: a slow writer gets its answers early, a fast one gets full batches.
#pragma once

#include <string>
#include <vector>

namespace lamina::cli {

class LineReader {
  public:
    explicit LineReader(int file) : file_(file) {}

    // Waits for a line, then returns the lines that have arrived, at most `most`, without "\n" or "\r\n"; none at the
    // end. Throws Error(input) if reading fails or if the next line is longer than 1 MiB, and Interrupted.
    [[nodiscard]] std::vector<std::string> next(size_t most);

  private:
    int file_;
    std::string rest_; // read, but not yet handed out
    size_t handed_out_ = 0;
    bool end_ = false;

    void read();
    [[nodiscard]] bool ready() const; // whether reading would not wait
    [[nodiscard]] bool too_long() const;
    bool take_line(std::string &line);
};

} // namespace lamina::cli
