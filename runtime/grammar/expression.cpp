#include "grammar/expression.hpp"

#include <algorithm>
#include <utility>

namespace lamina::grammar {
namespace {

using Kind = Expression::Kind;

constexpr char32_t last_character = 0x10FFFF;
constexpr Range surrogates{0xD800, 0xDFFF};

Expression of_parts(Kind kind, Expressions parts) {
    if (parts.size() == 1) return std::move(parts.front());
    return {.kind = kind, .parts = std::move(parts)};
}

} // namespace

Expression text(std::string_view text) { return {.kind = Kind::text, .text = std::string(text)}; }
Expression character(Ranges ranges) { return {.kind = Kind::character, .ranges = normalized(std::move(ranges))}; }
Expression sequence(Expressions parts) { return of_parts(Kind::sequence, std::move(parts)); }
Expression choice(Expressions parts) { return of_parts(Kind::choice, std::move(parts)); }
Expression optional(Expression part) { return repeat(std::move(part), 0, 1); }
Expression rule(uint32_t number) { return {.kind = Kind::rule, .rule = number}; }

Expression repeat(Expression part, uint32_t least, uint32_t most) {
    return {.kind = Kind::repeat, .parts = {std::move(part)}, .least = least, .most = most};
}

Ranges normalized(Ranges ranges) {
    std::ranges::sort(ranges, {}, &Range::first);
    Ranges out;
    for (const Range &r : ranges) {
        if (r.last < r.first) continue;
        if (!out.empty() && r.first <= out.back().last + 1)
            out.back().last = std::max(out.back().last, r.last);
        else
            out.push_back(r);
    }
    return out;
}

Ranges others(const Ranges &ranges) {
    Ranges taken = ranges;
    taken.push_back(surrogates);
    Ranges out;
    char32_t next = 0;
    for (const Range &r : normalized(std::move(taken))) {
        if (r.first > next) out.push_back({next, r.first - 1});
        next = r.last + 1;
    }
    if (next <= last_character) out.push_back({next, last_character});
    return out;
}

Ranges any_character() { return others({}); }

Ranges both(const Ranges &x, const Ranges &y) {
    Ranges out;
    for (const Range &a : x)
        for (const Range &b : y)
            if (std::max(a.first, b.first) <= std::min(a.last, b.last))
                out.push_back({std::max(a.first, b.first), std::min(a.last, b.last)});
    return normalized(std::move(out));
}

} // namespace lamina::grammar
