#include "output.hpp"

#include "base/utf8.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace lamina::cli {
namespace {

bool colours(int file) {
    const char *no_color = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
    const bool refused = no_color != nullptr && *no_color != '\0';
    return isatty(file) != 0 && !refused && term != nullptr && std::string_view(term) != "dumb";
}

const char *escape_of(Style style) {
    switch (style) {
    case Style::bold:
        return "\033[1m";
    case Style::dim:
        return "\033[2m";
    case Style::green:
        return "\033[32m";
    case Style::yellow:
        return "\033[33m";
    case Style::red:
        return "\033[1;31m";
    case Style::plain:
        break;
    }
    return "";
}

// Writes all of it; returns 0 or the errno. std::cout would hide which write failed, and why.
int write_all(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(file, text.data(), text.size());
        if (n < 0 && errno != EINTR) return errno;
        if (n > 0) text.remove_prefix(static_cast<size_t>(n));
    }
    return 0;
}

// Text from a model or a file name may be invalid UTF-8, which JSON cannot hold. It is replaced with U+FFFD.
std::string repaired(std::string_view text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const size_t length = utf8_length(text, at);
        out += length == 0 ? "\xEF\xBF\xBD" : text.substr(at, length);
        at += std::max(length, size_t{1});
    }
    return out;
}

} // namespace

Output::Output(bool json, bool quiet)
    : json_(json), quiet_(quiet), colour_(colours(STDOUT_FILENO)), bar_(!quiet && colours(STDERR_FILENO)) {}

void Output::print(std::string_view text) {
    clear_progress();
    const int failed = write_all(STDOUT_FILENO, text);
    if (failed == EPIPE) throw ClosedPipe();
    if (failed != 0) throw Error(ErrorCode::failure, std::string("cannot write to stdout: ") + std::strerror(failed));
}

void Output::print_json(const Json &value) { print(repaired(value.in_lines(2)) + "\n"); }

void Output::note(std::string_view line) {
    if (quiet_) return;
    clear_progress();
    write_all(STDERR_FILENO, "lamina: " + std::string(line) + "\n"); // if stderr is closed, nothing can be reported
}

void Output::progress(std::string_view what, size_t done, size_t all) {
    if (!bar_) return;
    constexpr size_t width = 30;
    std::string line = "\r\033[K" + std::string(what) + " ";
    if (all != 0) {
        const size_t filled = std::min(done, all) * width / all;
        for (size_t i = 0; i < width; ++i) line += i < filled ? "█" : "░";
        line += " " + std::to_string(done) + "/" + std::to_string(all);
    } else {
        line += std::to_string(done);
    }
    write_all(STDERR_FILENO, line);
    bar_shown_ = true;
}

void Output::clear_progress() {
    if (bar_shown_) write_all(STDERR_FILENO, "\r\033[K");
    bar_shown_ = false;
}

std::string Output::styled(std::string_view text, Style style) const {
    if (!colour_ || style == Style::plain) return std::string(text);
    return escape_of(style) + std::string(text) + "\033[0m";
}

void print_error(std::string_view message) {
    const bool colour = colours(STDERR_FILENO);
    write_all(STDERR_FILENO, std::string("lamina: ") + (colour ? escape_of(Style::red) : "") +
                                 "error:" + (colour ? "\033[0m " : " ") + std::string(message) + "\n");
}

} // namespace lamina::cli
