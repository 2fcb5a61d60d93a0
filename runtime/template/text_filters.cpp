// Filters on strings. Other values are converted to strings first, as in Jinja.
#include "template/builtins.hpp"
#include "template/characters.hpp"
#include "template/printing.hpp"
#include "template/run.hpp"
#include "template/text_operations.hpp"

namespace lamina::jinja {
namespace {

template <std::string (*Change)(std::string_view)> Value changed_text(const Passed &passed) {
    return passed.run.text(Change(text_of(passed.run, passed.value)));
}

Value filter_trim(const Passed &passed) {
    const std::string *characters = passed.has(0) && !passed[0].is_none() ? &passed.text(0) : nullptr;
    return passed.run.text(
        std::string(strip_text(passed.run, text_of(passed.run, passed.value), Side::both, characters)));
}

Value filter_string(const Passed &passed) { return passed.run.text(text_of(passed.run, passed.value)); }

Value filter_replace(const Passed &passed) {
    Run &run = passed.run;
    return replaced(run, text_of(run, passed.value), text_of(run, passed[0]), text_of(run, passed[1]),
                    passed.integer(2, -1));
}

// Indents all lines but the first (unless `first`), and blank lines only if `blank`.
Value filter_indent(const Passed &passed) {
    Run &run = passed.run;
    if (passed.value.text() == nullptr) run.fail("indent: expected a string, found " + passed.value.description());
    const bool is_text = passed.has(0) && passed[0].text() != nullptr;
    const int64_t width = is_text ? 0 : passed.integer(0, 4);
    if (width > 1000) run.fail("indent: expected a width of at most 1000, found " + std::to_string(width));
    const std::string indent =
        is_text ? passed.text(0) : std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    const bool first = passed.truth(1, false), blank = passed.truth(2, false);
    std::string out = first ? indent : "";
    const std::string text = *passed.value.text() + "\n"; // so that an empty string has a line
    bool is_first = true;
    for (const std::string_view line : lines_of(text)) {
        run.spend(line.size() + indent.size());
        if (!std::exchange(is_first, false)) {
            out += '\n';
            if (blank || !line.empty()) out += indent;
        }
        out += line;
    }
    return run.text(std::move(out));
}

// The version of transformers: json.dumps() without HTML escapes.
Value filter_tojson(const Passed &passed) {
    Run &run = passed.run;
    JsonStyle style;
    style.ascii_only = passed.truth(0, false);
    if (passed.has(1) && passed[1].text() != nullptr) {
        style.indent = passed.text(1);
    } else if (passed.has(1) && !passed[1].is_none()) {
        const int64_t width = passed.integer(1, 0);
        if (width > 100) run.fail("tojson: expected an indent of at most 100, found " + std::to_string(width));
        style.indent = std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
    if (style.indent) style.item_separator = ",";
    if (passed.has(2) && !passed[2].is_none()) {
        const Sequence *separators = passed[2].sequence();
        if (separators == nullptr || separators->items.size() != 2 || separators->items[0].text() == nullptr ||
            separators->items[1].text() == nullptr)
            run.fail("tojson: expected two strings as separators, found " + passed[2].description());
        style.item_separator = *separators->items[0].text();
        style.key_separator = *separators->items[1].text();
    }
    style.sorts_keys = passed.truth(3, false);
    return run.text(json_of(run, passed.value, style));
}

} // namespace

Builtins text_filters() {
    static constexpr Builtin table[] = {
        {"capitalize", "", changed_text<capitalized>},
        {"indent", "width? first? blank?", filter_indent},
        {"lower", "", changed_text<lower_case>},
        {"replace", "old new count?", filter_replace},
        {"safe", "", filter_string},
        {"string", "", filter_string},
        {"title", "", changed_text<words_capitalized>},
        {"tojson", "ensure_ascii? indent? separators? sort_keys?", filter_tojson},
        {"trim", "chars?", filter_trim},
        {"upper", "", changed_text<upper_case>},
    };
    return table;
}

} // namespace lamina::jinja
