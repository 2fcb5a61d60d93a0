// Where the command writes: data to stdout, everything else to stderr.
#pragma once

#include "base/json.hpp"

#include <lamina/error.hpp>

#include <string>
#include <string_view>

namespace lamina::cli {

struct ClosedPipe {}; // whoever read stdout has left (`| head`): there is nothing more to do, and nothing is wrong

enum class Style { plain, bold, dim, green, yellow, red };

class Output {
  public:
    Output(bool json, bool quiet);
    ~Output() { clear_progress(); }
    Output(const Output &) = delete;
    Output &operator=(const Output &) = delete;

    [[nodiscard]] bool json() const { return json_; }

    // Data. Throws ClosedPipe, or Error(failure) when stdout takes no more (a full disk).
    void print(std::string_view text);
    void print_json(const Json &value);

    // A line on stderr for people; not with --quiet.
    void note(std::string_view line);
    // A bar on stderr while something takes long; only on a terminal and not with --quiet. `all` 0: not known.
    void progress(std::string_view what, size_t done, size_t all);
    void clear_progress();

    // `text` in a style, for stdout; as it is where stdout is no terminal, NO_COLOR is set or TERM is dumb.
    [[nodiscard]] std::string styled(std::string_view text, Style style) const;

  private:
    bool json_, quiet_, colour_, bar_; // bar_: progress may be shown
    bool bar_shown_ = false;
};

// "lamina: error: ..." on stderr, in red on a terminal.
void print_error(std::string_view message);

} // namespace lamina::cli
