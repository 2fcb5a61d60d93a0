// Lines of a stream as they come: a slow writer gets its answers early, a fast one gets full batches.
#pragma once

#include <string>
#include <vector>

namespace lamina::cli {

class LineReader {
  public:
    explicit LineReader(int file) : file_(file) {}

    // Waits for a line, then takes what has arrived, at most `most` lines, without "\n" or "\r\n". Empty at the end.
    // Throws Error(input) when reading fails, and with the line's number where the next one is longer than 1 MiB; and
    // Interrupted.
    [[nodiscard]] std::vector<std::string> next(size_t most);

  private:
    int file_;
    std::string rest_; // read, but not yet handed out
    size_t handed_out_ = 0;
    bool end_ = false;

    void read();
    [[nodiscard]] bool ready() const; // reading would not wait
    [[nodiscard]] bool too_long() const;
    bool take_line(std::string &line);
};

} // namespace lamina::cli
