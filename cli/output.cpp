#include "output.hpp"

#include "base/open_file.hpp"
#include "base/standard_streams.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace lamina::cli {
namespace {

bool colours(int stream) {
    const char *no_color = std::getenv("NO_COLOR");
    return knows_escapes(stream) && (no_color == nullptr || *no_color == '\0');
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

// Returns 0 or the errno. std::cout would hide which write failed, and why.
int write_text(int stream, std::string_view text) { return write_bytes(stream, std::as_bytes(std::span(text))); }

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
    : json_(json), quiet_(quiet), colour_(colours(standard_output)), bar_(!quiet && colours(standard_error)) {}

void Output::print(std::string_view text) {
    clear_progress();
    const int failed = write_text(standard_output, text);
    if (failed == EPIPE) throw ClosedPipe();
    if (failed != 0) throw Error(ErrorCode::failure, std::string("cannot write to stdout: ") + std::strerror(failed));
}

void Output::print_json(const Json &value) { print(repaired(value.in_lines(2)) + "\n"); }
void Output::print_json_line(const Json &value) { print(repaired(value.in_one_line()) + "\n"); }

void Output::note(std::string_view line) {
    if (quiet_) return;
    clear_progress();
    write_text(standard_error, "lamina: " + std::string(line) + "\n"); // if stderr is closed, nothing can be reported
}

void Output::progress(std::string_view what, size_t done, size_t all) {
    if (!bar_) return;
    if (all != 0 && done >= all) return clear_progress(); // the last part is over
    const size_t width = columns_of(standard_error) - 1;  // a line that wraps could not be cleared
    const std::string count = all != 0    ? " " + std::to_string(done) + "/" + std::to_string(all)
                              : done != 0 ? " " + std::to_string(done)
                                          : "";
    const size_t used = what.size() + 1 + count.size();
    std::string bar;
    if (const size_t most = width > used ? std::min<size_t>(width - used, 30) : 0; all != 0 && most >= 10) {
        bar = " ";
        for (size_t i = 0; i < most; ++i) bar += i < done * most / all ? "█" : "░";
    }
    const size_t left = width > count.size() ? width - count.size() : 0;
    write_text(standard_error, "\r\033[K" + std::string(what.substr(0, left)) + bar + count.substr(0, width));
    bar_shown_ = true;
}

void Output::clear_progress() {
    if (bar_shown_.exchange(false)) write_text(standard_error, "\r\033[K");
}

std::string Output::styled(std::string_view text, Style style) const {
    if (!colour_ || style == Style::plain) return std::string(text);
    return escape_of(style) + std::string(text) + "\033[0m";
}

void check_output_file(const std::filesystem::path &file, const std::string &option, const std::string &ending) {
    const std::filesystem::path folder = file.parent_path();
    if (std::error_code ignored; !folder.empty() && !std::filesystem::is_directory(folder, ignored))
        throw Error(ErrorCode::failure, option + " " + file.string() + ": there is no folder " + folder.string());
    const std::string found = file.extension().string();
    if (found.empty() || found == ending) return;
    for (const char *format : {".svg", ".csv", ".json", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".eps"})
        if (found == format)
            throw Error(ErrorCode::usage, option + " " + file.string() + ": what is written is " + ending.substr(1) +
                                              ", not " + found.substr(1) + ": name it " +
                                              std::filesystem::path(file).replace_extension(ending).string());
}

std::filesystem::path ordinary_file(const std::filesystem::path &file, const std::string &option) {
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored))
        throw Error(ErrorCode::usage,
                    option + " " + file.string() + ": is no ordinary file; expected one, or a new name");
    constexpr int most_links = 40; // as Linux follows
    std::filesystem::path out = file;
    for (int i = 0; i < most_links && std::filesystem::is_symlink(out, ignored); ++i)
        out = out.parent_path() / std::filesystem::read_symlink(out, ignored);
    return out;
}

void print_error(std::string_view message) {
    const bool colour = colours(standard_error);
    write_text(standard_error, std::string("lamina: ") + (colour ? escape_of(Style::red) : "") +
                                   "error:" + (colour ? "\033[0m " : " ") + std::string(message) + "\n");
}

} // namespace lamina::cli
