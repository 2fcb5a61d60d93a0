// Filters that return numbers, and the filters default and attr.
#include "template/access.hpp"
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

Value filter_float(const Passed &passed) {
    const auto real = real_of_value(passed.run, passed.value);
    return real ? Value(*real) : passed.has(0) ? passed[0] : Value(0.0);
}

Value filter_round(const Passed &passed) {
    Run &run = passed.run;
    const int64_t digits = std::clamp<int64_t>(passed.integer(0, 0), -300, 300); // beyond, the power of ten overflows
    const std::string method = passed.has(1) ? passed.text(1) : "common";
    if (!passed.value.is_number()) run.fail("round: expected a number, found " + passed.value.description());
    if (method != "common" && method != "ceil" && method != "floor")
        run.fail("round: expected 'common', 'ceil' or 'floor', found " + passed[1].description());
    const double value = passed.value.number();
    if (method == "common") {
        if (passed.value.integer() && digits >= 0) return *passed.value.integer();
        const double out = rounded(value, digits);
        return passed.value.integer() ? whole_part(run, out) : Value(out);
    }
    const double unit = std::pow(10.0, static_cast<double>(digits)), scaled = value * unit;
    return (method == "ceil" ? std::ceil(scaled) + 0.0 : std::floor(scaled)) / unit; // no -0.0
}

Value filter_abs(const Passed &passed) {
    if (!passed.value.is_number()) passed.run.fail("abs: expected a number, found " + passed.value.description());
    if (const double *real = passed.value.real()) return std::abs(*real);
    const int64_t whole = *passed.value.integer();
    return whole < 0 ? number_arithmetic(passed.run, "-", Value(int64_t{0}), whole) : Value(whole);
}

// default(value, true) also replaces values that are false.
Value filter_default(const Passed &passed) {
    const bool is_missing = passed.value.is_undefined() || (passed.truth(1, false) && !passed.value.truth());
    if (!is_missing) return passed.value;
    return passed.has(0) ? passed[0] : passed.run.text("");
}

Value filter_attr(const Passed &passed) {
    const std::string &name = passed.text(0);
    if (passed.value.dict() != nullptr && find_method(passed.value, name) == nullptr)
        return passed.run.undefined("a dict has no attribute " +
                                    in_quotes(name)); // members do not count as attributes here
    return attribute_of(passed.run, passed.value, name);
}

} // namespace

Builtins number_filters() {
    static constexpr Builtin table[] = {
        {"abs", "", filter_abs},
        {"attr", "name", filter_attr},
        {"d", "default_value? boolean?", filter_default},
        {"default", "default_value? boolean?", filter_default},
        {"float", "default?", filter_float},
        {"int", "default? base?", filter_int},
        {"round", "precision? method?", filter_round},
    };
    return table;
}

} // namespace lamina::jinja
