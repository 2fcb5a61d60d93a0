// Numbers between bounds: their digits are compared with those of the bounds, from the first on.
#include "grammar/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace lamina::grammar::json {
namespace {

constexpr uint32_t most_digits = 16;   // before the point
constexpr size_t fraction_digits = 16; // behind it, where there are no bounds
constexpr size_t bounded_digits = 6;   // behind it where there are: few enough that a double tells all numbers apart

Expression digit(char first, char last) {
    if (first > last) return choice({});
    return character({{static_cast<char32_t>(first), static_cast<char32_t>(last)}});
}
Expression digits(size_t least, size_t most) {
    return repeat(digit('0', '9'), static_cast<uint32_t>(least), static_cast<uint32_t>(most));
}

// A number that is not negative, as its digits.
struct Decimal {
    std::string whole, fraction;
    bool included = true;
};

Decimal decimal_of(const Bound &bound) {
    std::array<char, 400> room{};
    const auto end =
        std::to_chars(room.data(), room.data() + room.size(), std::abs(bound.value), std::chars_format::fixed).ptr;
    const std::string all(room.data(), end);
    const size_t point = std::min(all.find('.'), all.size());
    return {all.substr(0, point), point < all.size() ? all.substr(point + 1) : "", bound.included};
}

bool are_zeros(std::string_view digits) { return digits.find_first_not_of('0') == std::string_view::npos; }

// So many digits that, as a number, are at least or at most those of the bounds; no bound: ""
Expression whole_between(std::string_view least, std::string_view most, size_t count) {
    if (count == 0) return text("");
    if (least.empty() && most.empty()) return digits(count, count);
    const char low = least.empty() ? '0' : least.front(), high = most.empty() ? '9' : most.front();
    const std::string_view less = least.empty() ? least : least.substr(1), more = most.empty() ? most : most.substr(1);
    const auto with = [&](char first, char last, std::string_view rest_least, std::string_view rest_most) {
        return sequence({digit(first, last), whole_between(rest_least, rest_most, count - 1)});
    };
    if (!least.empty() && !most.empty() && low == high) return with(low, low, less, more);
    Expressions ways;
    if (!least.empty()) ways.push_back(with(low, low, less, ""));
    if (!most.empty()) ways.push_back(with(high, high, "", more));
    const char first = least.empty() ? low : static_cast<char>(low + 1);
    const char last = most.empty() ? high : static_cast<char>(high - 1);
    if (first <= last) ways.push_back(with(first, last, "", ""));
    return choice(std::move(ways));
}

// Whole numbers from `least` on, up to `most` if that is not empty; without zeros at their beginnings.
Expression whole(const std::string &least, const std::string &most) {
    const size_t longest = most.empty() ? std::max<size_t>(most_digits, least.size()) : most.size();
    Expressions ways;
    for (size_t count = least.size(); count <= longest; ++count) {
        const std::string from = count == least.size() ? least : "1" + std::string(count - 1, '0');
        const std::string to = count == most.size() ? most : std::string(count, '9');
        if (from <= to) ways.push_back(whole_between(from, to, count));
    }
    return choice(std::move(ways));
}

std::string plus_one(std::string whole) {
    for (size_t i = whole.size(); i-- > 0; whole[i] = '0')
        if (whole[i]++ != '9') return whole;
    return "1" + whole;
}
// Of a number above 0.
std::string minus_one(std::string whole) {
    for (size_t i = whole.size(); i-- > 0; whole[i] = '9')
        if (whole[i]-- != '0') break;
    return whole.size() > 1 && whole.front() == '0' ? whole.substr(1) : whole;
}
bool is_less(const std::string &x, const std::string &y) { // of whole numbers
    return x.size() != y.size() ? x.size() < y.size() : x < y;
}

// Digits behind a point, after those that equal the bounds' first ones. `left`: how many there may be; `begun`: whether
// there is one.
struct Fraction {
    const Decimal *least, *most; // null: whatever they are, they are above or below it
    size_t place, left;
    bool begun;
};
Expression fraction(const Fraction &f) {
    const auto rest = [&](const Decimal *bound) {
        return f.place < bound->fraction.size() ? std::string_view(bound->fraction).substr(f.place)
                                                : std::string_view();
    };
    const auto digit_of = [&](const Decimal *bound, char otherwise) {
        return bound == nullptr ? otherwise : rest(bound).empty() ? '0' : rest(bound).front();
    };
    if (f.least == nullptr && f.most == nullptr) return digits(f.begun ? 0 : 1, f.left);
    const bool enough = f.least == nullptr || (are_zeros(rest(f.least)) && f.least->included);
    const bool little = f.most == nullptr || !are_zeros(rest(f.most)) || f.most->included;
    Expressions ways;
    if (f.begun && enough && little) ways.push_back(text(""));
    if (f.left == 0) return choice(std::move(ways));
    const char low = digit_of(f.least, '0'), high = digit_of(f.most, '9');
    const auto with = [&](char first, char last, const Decimal *least, const Decimal *most) {
        if (first <= last)
            ways.push_back(sequence({digit(first, last), fraction({least, most, f.place + 1, f.left - 1, true})}));
    };
    if (f.least != nullptr && f.most != nullptr && low >= high) {
        if (low == high) with(low, low, f.least, f.most);
    } else {
        if (f.least != nullptr) with(low, low, f.least, nullptr);
        if (f.most != nullptr) with(high, high, nullptr, f.most);
        with(f.least != nullptr ? static_cast<char>(low + 1) : low,
             f.most != nullptr ? static_cast<char>(high - 1) : high, nullptr, nullptr);
    }
    return choice(std::move(ways));
}

// With this part before the point, which equals that of the bounds that are not null.
Expression with_fraction(const std::string &whole, const Decimal *least, const Decimal *most) {
    const bool enough = least == nullptr || (are_zeros(least->fraction) && least->included);
    const bool little = most == nullptr || !are_zeros(most->fraction) || most->included;
    size_t places = bounded_digits;
    for (const Decimal *bound : {least, most})
        if (bound != nullptr) places = std::max(places, bound->fraction.size());
    Expressions ends{sequence({text("."), fraction({least, most, 0, places, false})})};
    if (enough && little) ends.push_back(text(""));
    return sequence({text(whole), choice(std::move(ends))});
}

// Numbers that are not negative, as digits.
Expression decimals(const Decimal &least, const std::optional<Decimal> &most) {
    Expressions ways;
    const bool same = most && most->whole == least.whole;
    if (most && is_less(most->whole, least.whole)) return choice({});
    ways.push_back(with_fraction(least.whole, &least, same ? &*most : nullptr));
    if (most && !same) ways.push_back(with_fraction(most->whole, nullptr, &*most));
    if (!same && (!most || is_less(plus_one(least.whole), most->whole)))
        ways.push_back(sequence({whole(plus_one(least.whole), most ? minus_one(most->whole) : ""),
                                 optional(sequence({text("."), digits(1, bounded_digits)}))}));
    return choice(std::move(ways));
}

// The magnitudes of numbers of one sign between the bounds: none if there are none.
struct Magnitudes {
    Bound least;
    std::optional<Bound> most;
};
std::optional<Magnitudes> of_sign(const Bounds &bounds, bool negative) {
    std::optional<Bound> near = negative ? bounds.most : bounds.least, far = negative ? bounds.least : bounds.most;
    for (std::optional<Bound> *bound : {&near, &far})
        if (negative && *bound) (*bound)->value = -(*bound)->value;
    if (far && (far->value < 0 || (far->value == 0 && !far->included))) return std::nullopt;
    if (!near || near->value < 0) near = Bound{0, true};
    return Magnitudes{*near, far};
}

} // namespace

Expression number(const Bounds &bounds) {
    if (!bounds.least && !bounds.most) {
        const Expression exponent = sequence(
            {character({{'E', 'E'}, {'e', 'e'}}), optional(character({{'+', '+'}, {'-', '-'}})), digits(1, 2)});
        return sequence({integer({}), optional(sequence({text("."), digits(1, fraction_digits)})), optional(exponent)});
    }
    Expressions ways;
    for (const bool negative : {false, true})
        if (const auto range = of_sign(bounds, negative)) {
            std::optional<Decimal> most;
            if (range->most) most = decimal_of(*range->most);
            ways.push_back(sequence({text(negative ? "-" : ""), decimals(decimal_of(range->least), most)}));
        }
    return choice(std::move(ways));
}

Expression integer(const Bounds &bounds) {
    if (!bounds.least && !bounds.most)
        return sequence(
            {optional(text("-")), choice({text("0"), sequence({digit('1', '9'), digits(0, most_digits - 1)})})});
    Expressions ways;
    for (const bool negative : {false, true})
        if (const auto range = of_sign(bounds, negative)) {
            const Decimal least = decimal_of(range->least);
            const bool above = !are_zeros(least.fraction) || !least.included;
            const std::string from = above ? plus_one(least.whole) : least.whole;
            std::string to;
            if (range->most) {
                const Decimal most = decimal_of(*range->most);
                const bool below = are_zeros(most.fraction) && !most.included;
                if (below && are_zeros(most.whole)) continue;
                to = below ? minus_one(most.whole) : most.whole;
                if (is_less(to, from)) continue;
            }
            ways.push_back(sequence({text(negative ? "-" : ""), whole(from, to)}));
        }
    return choice(std::move(ways));
}

} // namespace lamina::grammar::json
