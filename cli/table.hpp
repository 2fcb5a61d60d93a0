// Text in columns.
#pragma once

#include "output.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::cli {

struct Cell {
    std::string text;
    Style style = Style::plain;

    Cell(std::string words, Style how = Style::plain) : text(std::move(words)), style(how) {}
    Cell(const char *words) : text(words) {}
};

enum class Align { left, right };

struct Column {
    std::string head;
    Align align = Align::left;
    size_t most = SIZE_MAX; // code points of a cell; what is cut off is "..."

    Column(std::string title, Align how = Align::left) : head(std::move(title)), align(how) {}
    Column(const char *title, Align how = Align::left) : head(title), align(how) {}
};

// Of texts of any length, beside what they give.
[[nodiscard]] Column text_column(const std::string &title);

// Columns are as wide as their widest cell, with two spaces between them. Widths are counted in code points. Cells are
// visible().
class Table {
  public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
    void row(std::vector<Cell> cells); // one cell per column
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    [[nodiscard]] std::string str(const Output &output, std::string_view indent = "") const;

  private:
    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

// A text of a model or a user in one line that is safe on a terminal, whole: control characters and invalid UTF-8
// appear as \x1b.
[[nodiscard]] std::string visible(std::string_view text);
// "1 234 567"
[[nodiscard]] std::string grouped(int64_t number);
// "3.1e-07", "0.25", "nan": with at most this many significant digits.
[[nodiscard]] std::string significant(double value, int digits);

} // namespace lamina::cli
