#include "sheet.hpp"

#include <array>
#include <cassert>
#include <cstdio>

namespace lamina::cli {
namespace {

std::string csv_field(const Json &value) {
    const std::string text = value.empty() ? "" : value.text() != nullptr ? *value.text() : value.in_one_line();
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

std::string markdown_cell(const std::string &text) {
    std::string out = " ";
    for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out + " |";
}

} // namespace

void add_format_option(const Arguments &app, std::string &format) {
    app.choice("--format", format, {"table", "csv", "md"}, "how to print the results").shows_default();
}

Format format_named(const std::string &name) {
    return name == "csv" ? Format::csv : name == "md" ? Format::md : Format::table;
}

void Sheet::row(std::vector<Entry> entries) {
    assert(entries.size() == headings_.size());
    rows_.push_back(std::move(entries));
}

void Sheet::append(const Sheet &other) { rows_.insert(rows_.end(), other.rows_.begin(), other.rows_.end()); }

std::string Sheet::str(Format format, const Output &output) const {
    switch (format) {
    case Format::csv:
        return csv();
    case Format::md:
        return markdown();
    case Format::table:
        break;
    }
    return table(output);
}

Json Sheet::json() const {
    Json out = Json::array();
    for (const auto &row : rows_) {
        Json object;
        for (size_t i = 0; i < row.size(); ++i) object[headings_[i].key] = row[i].value;
        out.push_back(std::move(object));
    }
    return out;
}

std::string Sheet::csv() const {
    std::string out;
    for (size_t i = 0; i < headings_.size(); ++i) out += (i == 0 ? "" : ",") + headings_[i].key;
    for (const auto &row : rows_)
        for (size_t i = 0; i < row.size(); ++i) out += (i == 0 ? "\n" : ",") + csv_field(row[i].value);
    return out + "\n";
}

std::string Sheet::markdown() const {
    std::string head = "|", line = "|", body;
    for (const Heading &h : headings_) {
        if (h.head.empty()) continue;
        head += markdown_cell(h.head);
        line += h.align == Align::right ? " ---: |" : " --- |";
    }
    for (const auto &row : rows_) {
        body += "|";
        for (size_t i = 0; i < row.size(); ++i)
            if (!headings_[i].head.empty()) body += markdown_cell(row[i].text);
        body += "\n";
    }
    return head + "\n" + line + "\n" + body;
}

std::string Sheet::table(const Output &output) const {
    std::vector<Column> columns;
    for (const Heading &h : headings_)
        if (!h.head.empty()) columns.emplace_back(h.head, h.align);
    Table table(std::move(columns));
    for (const auto &row : rows_) {
        std::vector<Cell> cells;
        for (size_t i = 0; i < row.size(); ++i)
            if (!headings_[i].head.empty()) cells.emplace_back(row[i].text, cells.empty() ? Style::bold : Style::plain);
        table.row(std::move(cells));
    }
    return table.str(output);
}

std::string duration(double seconds) {
    const auto [scale, unit] = seconds >= 1      ? std::pair(1.0, "s")
                               : seconds >= 1e-3 ? std::pair(1e3, "ms")
                                                 : std::pair(1e6, "µs");
    std::array<char, 32> text{};
    const double number = seconds * scale;
    std::snprintf(text.data(), text.size(),
                  number >= 100  ? "%.0f %s"
                  : number >= 10 ? "%.1f %s"
                                 : "%.2f %s",
                  number, unit);
    return text.data();
}

} // namespace lamina::cli
