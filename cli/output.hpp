// What the command prints: data on stdout, everything else on stderr.
#pragma once

#include "base/json.hpp"

#include <lamina/error.hpp>

#include <atomic>
#include <filesystem>
#include <string>
#include <string_view>

namespace lamina::cli {

struct ClosedPipe {}; // the reader of stdout has closed it (`| head`), which is no error

enum class Style { plain, bold, dim, green, yellow, red };

class Output {
  public:
    Output(bool json, bool quiet);
    ~Output() { clear_progress(); }
    Output(const Output &) = delete;
    Output &operator=(const Output &) = delete;

    [[nodiscard]] bool json() const { return json_; }

    // Prints data. Throws ClosedPipe, or Error(failure) if stdout cannot be written (a full disk).
    void print(std::string_view text);
    void print_json(const Json &value);
    void print_json_line(const Json &value); // as one line

    // Prints a message on stderr, unless --quiet is given.
    void note(std::string_view line);
    // Shows on stderr what is being done, in one line with a bar, if it is a terminal and --quiet is not given. `all`
    // is 0 if it is not known; when all is done, the line is cleared. `what` is ASCII.
    void progress(std::string_view what, size_t done = 0, size_t all = 0);
    void clear_progress();

    // `text` in a style, for stdout; unchanged if stdout is not a terminal, NO_COLOR is set or TERM is dumb.
    [[nodiscard]] std::string styled(std::string_view text, Style style) const;

  private:
    bool json_, quiet_, colour_, bar_;    // bar_: progress may be shown
    std::atomic<bool> bar_shown_ = false; // the runtime may write notes from any thread
};

// Checks a file that an option names before long work whose results it will hold; an empty name is no file. Throws
// Error(usage) if its name promises another format than `ending`, such as ".svg", and Error(failure) if its folder does
// not exist. Files without an ending, and devices, take anything.
void check_output_file(const std::filesystem::path &file, const std::string &option, const std::string &ending);

// The file itself where a link leads to it. For files that are made under another name first: throws Error(usage) for a
// device, a pipe or a folder, which would become an ordinary file.
[[nodiscard]] std::filesystem::path ordinary_file(const std::filesystem::path &file, const std::string &option);

// "lamina: error: ..." on stderr, in red on a terminal.
void print_error(std::string_view message);

} // namespace lamina::cli
