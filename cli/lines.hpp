// Reads lines as they arrive: a slow writer gets its answers early, a fast one gets full batches.
#pragma once

#include "output.hpp"

#include <lamina/error.hpp>

#include <string>
#include <utility>
#include <vector>

namespace lamina::cli {

// What to do about a line that cannot be answered: end with an error, or report it and go on.
enum class OnError { stop, skip };

class LineReader {
  public:
    // `name`: of the file, for messages.
    explicit LineReader(int file, OnError on_error = OnError::stop, std::string name = "stdin")
        : file_(file), on_error_(on_error), name_(std::move(name)) {}

    // Waits for a line, then returns the lines that have arrived, at most `most`, without "\n" or "\r\n", and without a
    // byte order mark before the first; none at the end. Refuses lines longer than 1 MiB. Throws Error(input) if
    // reading fails, and Interrupted.
    [[nodiscard]] std::vector<std::string> next(size_t most);
    // Line i of those that next() returned cannot be answered: throws an Error with its number, or prints it.
    void refuse(size_t i, const std::string &why, ErrorCode code = ErrorCode::input);
    // The exit status: 0, or that of bad input if lines were refused, after printing how many.
    [[nodiscard]] int status(Output &output) const;

  private:
    int file_;
    OnError on_error_;
    std::string name_;
    size_t first_line_ = 1, refused_ = 0; // first_line_: the number of the first line that next() returned
    std::string rest_;                    // read, but not yet handed out
    size_t handed_out_ = 0;
    bool first_ = true, end_ = false;

    void read();
    [[nodiscard]] bool too_long() const;
    bool take_line(std::string &line);
    void report(size_t line, const std::string &why, ErrorCode code = ErrorCode::input);
    void drop_line();
};

} // namespace lamina::cli
