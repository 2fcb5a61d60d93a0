#include "table.hpp"

#include "base/utf8.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdio>

namespace lamina::cli {
namespace {

size_t width_of(std::string_view text) { // in code points, so continuation bytes are not counted
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string cut(std::string text, size_t most) {
    if (width_of(text) <= most) return text;
    size_t at = 0;
    for (size_t shown = 0; shown + 3 < most; ++shown) at += utf8_length(text, at);
    return text.substr(0, at) + "...";
}

} // namespace

void Table::row(std::vector<Cell> cells) {
    assert(cells.size() == columns_.size());
    for (size_t c = 0; c < cells.size(); ++c) cells[c].text = cut(visible(cells[c].text), columns_[c].most);
    rows_.push_back(std::move(cells));
}

std::string Table::str(const Output &output, std::string_view indent) const {
    std::vector<size_t> widths;
    for (size_t c = 0; c < columns_.size(); ++c) {
        widths.push_back(width_of(columns_[c].head));
        for (const auto &row : rows_) widths[c] = std::max(widths[c], width_of(row[c].text));
    }
    std::string out;
    const auto append = [&](const auto &cell_of) {
        out += indent;
        for (size_t c = 0; c < columns_.size(); ++c) {
            const Cell cell = cell_of(c);
            const std::string blanks(widths[c] - width_of(cell.text), ' ');
            const bool last = c + 1 == columns_.size();
            if (columns_[c].align == Align::right) out += blanks;
            out += output.styled(cell.text, cell.style);
            if (columns_[c].align == Align::left && !last) out += blanks;
            if (!last) out += "  ";
        }
        while (out.ends_with(' ')) out.pop_back();
        out += '\n';
    };
    append([&](size_t c) { return Cell(columns_[c].head, Style::bold); });
    for (const auto &row : rows_) append([&](size_t c) { return row[c]; });
    return out;
}

Column text_column(const std::string &title) {
    Column out(title);
    out.most = 60;
    return out;
}

std::string visible(std::string_view text) {
    std::string out;
    for (size_t at = 0, next = 0; at < text.size(); at = next) {
        next = at + std::max<size_t>(utf8_length(text, at), 1);
        out += printable(text.substr(at, next - at));
    }
    return out;
}

std::string grouped(int64_t number) {
    std::string digits = std::to_string(number);
    for (auto place = static_cast<int64_t>(digits.size()) - 3; place > (number < 0 ? 1 : 0); place -= 3)
        digits.insert(static_cast<size_t>(place), " ");
    return digits;
}

std::string significant(double value, int digits) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.*g", digits, value);
    return text.data();
}

} // namespace lamina::cli
