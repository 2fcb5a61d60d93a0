#include "base/wildcard.hpp"

#include <optional>

namespace lamina {
namespace {

struct Matched {
    size_t length; // of the pattern's part that stands for one character
    bool fits;
};

// pattern[0] is '['. None if there is no ']'.
std::optional<Matched> match_set(std::string_view pattern, char c) {
    const bool none_of = pattern.substr(1).starts_with('!');
    const size_t first = none_of ? 2 : 1;
    const size_t end = pattern.find(']', first + 1); // a ']' that comes first is one of the characters
    if (end == std::string_view::npos) return std::nullopt;
    bool found = false;
    const auto code = [](char each) { return static_cast<unsigned char>(each); };
    for (size_t i = first; i < end; ++i) {
        const bool range = i + 2 < end && pattern[i + 1] == '-';
        const char last = range ? pattern[i + 2] : pattern[i];
        found = found || (code(pattern[i]) <= code(c) && code(c) <= code(last));
        if (range) i += 2;
    }
    return Matched{end + 1, found != none_of};
}

Matched match_one(std::string_view pattern, char c) {
    if (pattern[0] == '[')
        if (const auto set = match_set(pattern, c)) return *set;
    return {1, pattern[0] == '?' || pattern[0] == c};
}

} // namespace

// A later "*" can stand for whatever an earlier one could, so only the last one is tried again.
bool matches(std::string_view pattern, std::string_view name) {
    std::optional<std::string_view> after_star;
    std::string_view retry;
    while (!name.empty()) {
        if (pattern.starts_with('*')) {
            pattern.remove_prefix(1);
            after_star = pattern, retry = name;
            continue;
        }
        const Matched one = pattern.empty() ? Matched{0, false} : match_one(pattern, name.front());
        if (one.fits) {
            pattern.remove_prefix(one.length);
            name.remove_prefix(1);
        } else if (after_star) {
            retry.remove_prefix(1);
            pattern = *after_star, name = retry;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*') == std::string_view::npos;
}

} // namespace lamina
