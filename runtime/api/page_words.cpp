// read_page_words() of page.hpp: a table of Tesseract (tesseract/src/api/renderer.cpp, TessTsvRenderer), with a line
// for each page, block, paragraph, line and word.
#include "base/file.hpp"
#include "base/utf8.hpp"
#include "tokenizer/unicode.hpp"

#include <lamina/page.hpp>

#include <charconv>
#include <optional>
#include <string_view>

namespace lamina {
namespace {

constexpr std::string_view header =
    "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\t"
    "conf\ttext";
constexpr uint64_t largest = uint64_t{1} << 26;
constexpr int32_t of_page = 1, of_word = 5; // levels

// One line of the table.
struct Row {
    int32_t level = 0, page = 0, left = 0, top = 0, width = 0, height = 0;
    std::string_view text;
};

class Table {
  public:
    explicit Table(const std::filesystem::path &file)
        : name_(file.string()), bytes_(read_file(file, largest)),
          rest_(reinterpret_cast<const char *>(bytes_.data()), bytes_.size()) {
        if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
        if (next_line() != header)
            throw Error(ErrorCode::input, name_ + ": expected a table of words as 'tesseract page.png page tsv' writes "
                                                  "it; its first line is not that of such a table");
    }

    // False at the end.
    bool next(Row &row) {
        if (rest_.empty()) return false;
        std::string_view line = next_line();
        if (first_invalid_utf8(line) != line.size()) fail(in_quotes(line) + " is not valid UTF-8");
        row.level = number(line, "level");
        row.page = number(line, "page_num");
        for (const char *unused : {"block_num", "par_num", "line_num", "word_num"}) (void)field(line, unused);
        row.left = number(line, "left"), row.top = number(line, "top");
        row.width = number(line, "width"), row.height = number(line, "height");
        (void)field(line, "conf");
        row.text = line;
        return true;
    }

    [[noreturn]] void fail(const std::string &why) const {
        throw Error(ErrorCode::input, name_ + ", line " + std::to_string(number_) + ": " + why);
    }

  private:
    std::string name_;
    std::vector<std::byte> bytes_;
    std::string_view rest_;
    size_t number_ = 0;

    std::string_view next_line() {
        const size_t end = std::min(rest_.find('\n'), rest_.size());
        std::string_view out = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        ++number_;
        if (out.ends_with('\r')) out.remove_suffix(1);
        return out;
    }

    std::string_view field(std::string_view &line, const char *name) const {
        const size_t tab = line.find('\t');
        if (tab == std::string_view::npos)
            fail("expected 12 columns with tabs between, found none behind '" + std::string(name) + "'");
        const std::string_view out = line.substr(0, tab);
        line.remove_prefix(tab + 1);
        return out;
    }

    int32_t number(std::string_view &line, const char *name) const {
        const std::string_view text = field(line, name);
        int32_t out = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
        if (error != std::errc() || end != text.data() + text.size() || out < 0)
            fail(std::string(name) + ": expected a whole number, at least 0, found " + in_quotes(text));
        return out;
    }
};

// In thousandths of the side of the page, cut to whole numbers as in transformers (image_processing_layoutlmv3.py,
// normalize_box).
int32_t thousandths(int64_t pixels, int32_t side) {
    return static_cast<int32_t>(1000 * (static_cast<double>(pixels) / side));
}

bool is_blank(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        const Character character = character_at(text, at);
        if (!tokenizer::is_whitespace(character.code)) return false;
        at += character.length;
    }
    return true;
}

} // namespace

std::vector<PageWord> read_page_words(const std::filesystem::path &file) {
    Table table(file);
    std::vector<PageWord> out;
    Row row;
    int32_t width = 0, height = 0;
    std::optional<int32_t> page;
    while (table.next(row)) {
        if (row.page != page.value_or(row.page))
            table.fail("expected one page, found pages " + std::to_string(*page) + " and " + std::to_string(row.page));
        page = row.page;
        if (row.level == of_page) width = row.width, height = row.height;
        if (row.level != of_word || is_blank(row.text)) continue;
        if (width < 1 || height < 1)
            table.fail("a word comes before the size of its page, which a line of level 1 has");
        const int64_t right = int64_t{row.left} + row.width, bottom = int64_t{row.top} + row.height;
        if (right > width || bottom > height)
            table.fail("the box of " + in_quotes(row.text) + " reaches to " + std::to_string(right) + ", " +
                       std::to_string(bottom) + ", and the page to " + std::to_string(width) + ", " +
                       std::to_string(height));
        out.push_back({std::string(row.text),
                       {thousandths(row.left, width), thousandths(row.top, height), thousandths(right, width),
                        thousandths(bottom, height)}});
    }
    return out;
}

} // namespace lamina
