// The filters int and default.
#include "template/arithmetic.hpp"
#include "template/builtins.hpp"
#include "template/characters.hpp"
#include "template/literals.hpp"
#include "template/run.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace lamina::jinja {
namespace {

// Python's float() of a string, or none.
std::optional<double> real_in(std::string_view text) {
    text = strip(text, Side::both);
    const bool is_negative = text.starts_with('-');
    if (is_negative || text.starts_with('+')) text.remove_prefix(1);
    const std::string word = lower_case(text);
    std::optional<double> out;
    if (word == "inf" || word == "infinity") out = std::numeric_limits<double>::infinity();
    if (word == "nan") out = std::numeric_limits<double>::quiet_NaN();
    if (!word.empty() && word.find_first_not_of("0123456789.e+-") == std::string::npos) {
        double value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (end == word.data() + word.size() && word[0] != '-') out = error == std::errc() ? value : real_of(word);
    }
    return out && is_negative ? -*out : out;
}

std::optional<int64_t> integer_in(std::string_view text) {
    text = strip(text, Side::both);
    if (text.starts_with('+') && text.substr(1, 1) != "-") text.remove_prefix(1);
    int64_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(out) : std::nullopt;
}

std::optional<double> real_of_value(Run &run, const Value &value) {
    if (value.is_undefined()) run.fail("expected a number, found " + value.description());
    if (value.is_number()) return value.number();
    return value.text() != nullptr ? real_in(*value.text()) : std::nullopt;
}

Value whole_part(Run &run, double value) {
    if (!(std::abs(value) < 9.2e18)) run.fail("int: does not fit in 64 bits");
    return static_cast<int64_t>(std::trunc(value));
}

Value filter_int(const Passed &passed) {
    if (passed.integer(1, 10) != 10) passed.run.fail("int: only base 10 is supported");
    if (const auto whole = passed.value.integer()) return *whole;
    if (passed.value.text() != nullptr)
        if (const auto whole = integer_in(*passed.value.text())) return *whole;
    const auto real = real_of_value(passed.run, passed.value);
    if (real && std::isfinite(*real)) return whole_part(passed.run, *real);
    return passed.has(0) ? passed[0] : Value(int64_t{0});
}

// default(value, true) also replaces values that are false.
Value filter_default(const Passed &passed) {
    const bool is_missing = passed.value.is_undefined() || (passed.truth(1, false) && !passed.value.truth());
    if (!is_missing) return passed.value;
    return passed.has(0) ? passed[0] : passed.run.text("");
}

} // namespace

Builtins number_filters() {
    static constexpr Builtin table[] = {
        {"d", "default_value? boolean?", filter_default},
        {"default", "default_value? boolean?", filter_default},
        {"int", "default? base?", filter_int},
    };
    return table;
}

} // namespace lamina::jinja
