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

Value method_replace(const Passed &passed) {
    return replaced(passed.run, self(passed), passed.text(0), passed.text(1), passed.integer(2, -1));
}

} // namespace

Builtins text_methods() {
    static constexpr Builtin table[] = {
        {"capitalize", "", method_changed<capitalized>}, {"endswith", "suffix", method_begins<false>},
        {"lower", "", method_changed<lower_case>},       {"lstrip", "chars?", method_strip<Side::left>},
        {"replace", "old new count?", method_replace},   {"rstrip", "chars?", method_strip<Side::right>},
        {"split", "sep? maxsplit?", method_split},       {"startswith", "prefix", method_begins<true>},
        {"strip", "chars?", method_strip<Side::both>},   {"title", "", method_changed<title_case>},
        {"upper", "", method_changed<upper_case>},
    };
    return table;
}

} // namespace lamina::jinja
