#include "lines.hpp"

#include "interrupt.hpp"

#include "base/open_file.hpp"
#include "base/standard_streams.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace lamina::cli {
namespace {

constexpr size_t longest_line = size_t{1} << 20;

} // namespace

std::vector<std::string> LineReader::next(size_t most) {
    std::vector<std::string> lines;
    std::string line;
    first_line_ = handed_out_ + 1;
    while (lines.size() < most) {
        if (too_long()) {
            if (!lines.empty()) break; // these are answered before the error is reported
            report(first_line_, "longer than 1 MiB; expected one text per line");
            drop_line();
            first_line_ = ++handed_out_ + 1;
        }
        if (take_line(line))
            lines.push_back(line);
        else if (end_ || (!lines.empty() && !has_input(file_)))
            break;
        else
            read();
    }
    handed_out_ += lines.size();
    return lines;
}

void LineReader::refuse(size_t i, const std::string &why, ErrorCode code) { report(first_line_ + i, why, code); }

void LineReader::report(size_t line, const std::string &why, ErrorCode code) {
    const std::string message = name_ + ", line " + std::to_string(line) + ": " + why;
    if (on_error_ == OnError::stop) throw Error(code, message);
    print_error(message);
    ++refused_;
}

// Reads to the end of a line, without keeping it.
void LineReader::drop_line() {
    while (rest_.find('\n') == std::string::npos && !end_) {
        rest_.clear();
        read();
    }
    const size_t newline = rest_.find('\n');
    rest_.erase(0, newline == std::string::npos ? newline : newline + 1);
}

int LineReader::status(Output &output) const {
    if (refused_ == 0) return 0;
    output.note("skipped " + std::to_string(refused_) + " of " + std::to_string(handed_out_) + " lines");
    return static_cast<int>(ErrorCode::input);
}

void LineReader::read() {
    std::array<char, 65536> block;
    const ptrdiff_t n = read_some(file_, std::as_writable_bytes(std::span(block)));
    stop_if_interrupted();
    if (n < 0 && errno != EINTR) throw Error(ErrorCode::input, "cannot read " + name_ + ": " + std::strerror(errno));
    if (n == 0) end_ = true;
    if (n > 0) rest_.append(block.data(), static_cast<size_t>(n));
}

bool LineReader::too_long() const { return std::min(rest_.find('\n'), rest_.size()) > longest_line; }

bool LineReader::take_line(std::string &line) {
    const size_t newline = rest_.find('\n');
    if (newline == std::string::npos && (!end_ || rest_.empty())) return false;
    line = rest_.substr(0, newline);
    rest_.erase(0, newline == std::string::npos ? newline : newline + 1);
    if (line.ends_with('\r')) line.pop_back();
    if (std::exchange(first_, false) && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    return true;
}

} // namespace lamina::cli
