// The methods of Python's str.
#include "template/builtins.hpp"
#include "template/operators.hpp"
#include "template/printing.hpp"
#include "template/run.hpp"
#include "template/text_operations.hpp"

#include <algorithm>

namespace lamina::jinja {
namespace {

const std::string &self(const Passed &passed) { return *passed.value.text(); }

// Null if the argument is missing or none.
const std::string *optional_text(const Passed &passed, size_t i) {
    return passed.has(i) && !passed[i].is_none() ? &passed.text(i) : nullptr;
}

template <std::string (*Change)(std::string_view)> Value method_changed(const Passed &passed) {
    return passed.run.text(Change(self(passed)));
}

template <Side From> Value method_strip(const Passed &passed) {
    return passed.run.text(std::string(strip_text(passed.run, self(passed), From, optional_text(passed, 0))));
}

Value list_of(Run &run, const std::vector<std::string_view> &parts, Sequence::Kind kind = Sequence::Kind::list) {
    std::vector<Value> out;
    for (const std::string_view each : parts) out.push_back(run.text(std::string(each)));
    return run.list(std::move(out), kind);
}

const std::string *separator_of(const Passed &passed) {
    const std::string *separator = optional_text(passed, 0);
    if (separator != nullptr && separator->empty()) passed.run.fail("split: the separator is empty");
    return separator;
}

Value method_split(const Passed &passed) {
    passed.run.spend(self(passed).size());
    return list_of(passed.run, split(self(passed), separator_of(passed), passed.integer(1, -1)));
}

Value method_rsplit(const Passed &passed) {
    const std::string *separator = separator_of(passed);
    passed.run.spend(self(passed).size() * (separator != nullptr ? separator->size() : 1));
    return list_of(passed.run, split_from_right(self(passed), separator, passed.integer(1, -1)));
}

Value method_splitlines(const Passed &passed) {
    return list_of(passed.run, lines_of(self(passed), passed.truth(0, false)));
}

Value method_partition(const Passed &passed) {
    std::vector<std::string_view> parts = split(self(passed), separator_of(passed), 1);
    if (parts.size() == 1) return list_of(passed.run, {parts[0], "", ""}, Sequence::Kind::tuple);
    return list_of(passed.run, {parts[0], passed.text(0), parts[1]}, Sequence::Kind::tuple);
}

// startswith and endswith also take a tuple of strings.
template <bool AtStart> Value method_begins(const Passed &passed) {
    const auto is_there = [&](const Value &part) {
        if (part.text() == nullptr) passed.run.fail("expected a string, found " + part.description());
        passed.run.spend(part.text()->size());
        return AtStart ? self(passed).starts_with(*part.text()) : self(passed).ends_with(*part.text());
    };
    const Sequence *several = passed[0].sequence();
    if (several == nullptr || several->kind != Sequence::Kind::tuple) return is_there(passed[0]);
    return std::ranges::any_of(several->items, is_there);
}

template <bool AtStart> Value method_without(const Passed &passed) {
    std::string_view text = self(passed);
    const std::string &part = passed.text(0);
    if (AtStart && text.starts_with(part)) text.remove_prefix(part.size());
    if (!AtStart && text.ends_with(part)) text.remove_suffix(part.size());
    return passed.run.text(std::string(text));
}

Value method_replace(const Passed &passed) {
    return replaced(passed.run, self(passed), passed.text(0), passed.text(1), passed.integer(2, -1));
}

// In characters; -1: not found.
int64_t position_of(const Passed &passed) {
    passed.run.spend(self(passed).size());
    const size_t found = find_text(self(passed), passed.text(0));
    if (found == std::string_view::npos) return -1;
    return static_cast<int64_t>(count_characters(std::string_view(self(passed)).substr(0, found)));
}

Value method_find(const Passed &passed) { return position_of(passed); }

Value method_index(const Passed &passed) {
    const int64_t position = position_of(passed);
    if (position < 0) passed.run.fail(passed[0].description() + " is not in " + passed.value.description());
    return position;
}

Value method_count(const Passed &passed) {
    const std::string &part = passed.text(0);
    passed.run.spend(self(passed).size());
    if (part.empty()) return static_cast<int64_t>(count_characters(self(passed))) + 1;
    return static_cast<int64_t>(split(self(passed), &part, -1).size()) - 1;
}

Value method_join(const Passed &passed) {
    std::string out;
    bool is_first = true;
    for (const Value &each : items_of(passed.run, passed[0])) {
        if (each.text() == nullptr) passed.run.fail("join: expected strings, found " + each.description());
        passed.run.spend(self(passed).size() + each.text()->size());
        if (!std::exchange(is_first, false)) out += self(passed);
        out += *each.text();
    }
    return passed.run.text(std::move(out));
}

// Whether all characters satisfy a predicate; false for an empty string.
template <bool (*Is)(char32_t)> Value method_all(const Passed &passed) {
    const std::string &text = self(passed);
    passed.run.spend(text.size());
    for (size_t at = 0; at < text.size(); at += character_at(text, at).length)
        if (!Is(character_at(text, at).code)) return false;
    return !text.empty();
}

bool is_letter_or_digit(char32_t code) { return is_letter(code) || is_digit(code); }

template <bool Upper> Value method_has_case(const Passed &passed) {
    return apply_test(passed.run, Upper ? "upper" : "lower", passed.value, {});
}

} // namespace

Builtins text_methods() {
    static constexpr Builtin table[] = {
        {"capitalize", "", method_changed<capitalized>},
        {"count", "sub", method_count},
        {"endswith", "suffix", method_begins<false>},
        {"find", "sub", method_find},
        {"index", "sub", method_index},
        {"isalnum", "", method_all<is_letter_or_digit>},
        {"isalpha", "", method_all<is_letter>},
        {"isdigit", "", method_all<is_digit>},
        {"islower", "", method_has_case<false>},
        {"isspace", "", method_all<is_space>},
        {"isupper", "", method_has_case<true>},
        {"join", "iterable", method_join},
        {"lower", "", method_changed<lower_case>},
        {"lstrip", "chars?", method_strip<Side::left>},
        {"partition", "sep", method_partition},
        {"removeprefix", "prefix", method_without<true>},
        {"removesuffix", "suffix", method_without<false>},
        {"replace", "old new count?", method_replace},
        {"rsplit", "sep? maxsplit?", method_rsplit},
        {"rstrip", "chars?", method_strip<Side::right>},
        {"split", "sep? maxsplit?", method_split},
        {"splitlines", "keepends?", method_splitlines},
        {"startswith", "prefix", method_begins<true>},
        {"strip", "chars?", method_strip<Side::both>},
        {"title", "", method_changed<title_case>},
        {"upper", "", method_changed<upper_case>},
    };
    return table;
}

} // namespace lamina::jinja
