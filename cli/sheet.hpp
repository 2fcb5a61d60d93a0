// Results in rows and columns, printed as a table, JSON, CSV or Markdown.
#pragma once

#include "arguments.hpp"
#include "output.hpp"
#include "table.hpp"

#include <string>
#include <utility>
#include <vector>

namespace lamina::cli {

enum class Format { table, csv, md };
void add_format_option(const Arguments &app, std::string &format); // --format
[[nodiscard]] Format format_named(const std::string &name);        // "csv"

// A result: the value that programs read, and the text that people read. A value that is null is left blank.
struct Entry {
    Json value;
    std::string text;

    Entry(std::string words) : value(words), text(std::move(words)) {}
    Entry(const char *words) : Entry(std::string(words)) {}
    Entry(Json exact, std::string words) : value(std::move(exact)), text(std::move(words)) {}
    [[nodiscard]] static Entry none() { return {Json(), "-"}; }
};

class Sheet {
  public:
    struct Heading {
        std::string key;  // in JSON and CSV: "median_seconds"
        std::string head; // in tables: "TIME"; empty: not shown there
        Align align = Align::left;
    };

    explicit Sheet(std::vector<Heading> headings) : headings_(std::move(headings)) {}
    void row(std::vector<Entry> entries); // one entry per heading
    void append(const Sheet &other);      // with the same headings

    [[nodiscard]] std::string str(Format format, const Output &output) const;
    [[nodiscard]] Json json() const; // a list with an object for each row

  private:
    [[nodiscard]] std::string csv() const;
    [[nodiscard]] std::string markdown() const;
    [[nodiscard]] std::string table(const Output &output) const;

    std::vector<Heading> headings_;
    std::vector<std::vector<Entry>> rows_;
};

// "1.23 s", "45.6 ms", "7.89 µs"
[[nodiscard]] std::string duration(double seconds);

} // namespace lamina::cli
