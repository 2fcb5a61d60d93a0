#include "tokenizer/regex.hpp"

#include "base/utf8.hpp"
#include "tokenizer/unicode.hpp"

#include <lamina/error.hpp>

#include <oniguruma.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>

namespace lamina::tokenizer {
namespace {

constexpr size_t longest_pattern = 64 << 10; // bytes
constexpr int most_repeats = 100'000;
// Limits on backtracking. Patterns that split words backtrack once or twice per character, both within one match (a run
// of spaces) and over a whole text.
constexpr unsigned long steps_of_match = 10'000'000;
constexpr uint64_t steps_a_byte = 2'000, steps_at_least = 10'000'000;
constexpr unsigned stack_of_match = 4'000'000; // entries of 24 bytes

const OnigUChar *units(const char *text) { return reinterpret_cast<const OnigUChar *>(text); }

std::string reason(int code, OnigErrorInfo *info = nullptr) {
    std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> text{};
    const int length =
        info != nullptr ? onig_error_code_to_str(text.data(), code, info) : onig_error_code_to_str(text.data(), code);
    return {reinterpret_cast<const char *>(text.data()), static_cast<size_t>(length)};
}

[[noreturn]] void refuse(const std::string &pattern, const std::string &why) {
    throw Error(ErrorCode::input, "the regular expression " + in_quotes(pattern) + ": " + why);
}

// Where the escape, character class or single character at pattern[at] ends.
size_t end_of_atom(const std::string &pattern, size_t at) {
    if (pattern[at] == '\\') {
        const bool has_name = at + 2 < pattern.size() && pattern[at + 2] == '{'; // \p{L}, \x{3040}
        const size_t brace = has_name ? pattern.find('}', at) : at + 1;
        return brace == std::string::npos ? pattern.size() : brace + 1;
    }
    if (pattern[at] != '[') return at + 1;
    size_t depth = 0;
    for (; at < pattern.size(); ++at) {
        if (pattern[at] == '\\')
            ++at;
        else if (pattern[at] == '[')
            ++depth;
        else if (pattern[at] == ']' && --depth == 0)
            return at + 1;
    }
    return pattern.size();
}

// The largest product of nested counts: expanding ((a{1000}){1000}){1000} would take all memory.
double largest_expansion(const std::string &pattern) {
    std::vector<double> open{1}; // of each open group, so far
    double last = 1;             // of the atom that a count would apply to
    for (size_t at = 0; at < pattern.size();) {
        const char c = pattern[at];
        if (c == '(') {
            open.push_back(1);
        } else if (c == ')' && open.size() > 1) {
            last = open.back();
            open.pop_back();
        } else if (c == '{') {
            double count = 0, most = 1;
            for (++at; at < pattern.size() && pattern[at] != '}'; ++at) {
                const bool is_digit = pattern[at] >= '0' && pattern[at] <= '9';
                count = is_digit ? count * 10 + (pattern[at] - '0') : 0;
                most = std::max(most, count);
            }
            last *= most;
        } else {
            last = 1;
        }
        open.back() = std::max(open.back(), last);
        at = c == '{' ? at + 1 : end_of_atom(pattern, at);
    }
    return open.front();
}

std::shared_ptr<void> compile(const std::string &pattern) {
    static const bool ready = [] {
        OnigEncoding utf8 = ONIG_ENCODING_UTF8;
        return onig_initialize(&utf8, 1) == ONIG_NORMAL;
    }();
    if (!ready) throw Error(ErrorCode::failure, "libonig cannot be initialized");
    if (pattern.size() > longest_pattern)
        refuse(pattern, "expected at most " + std::to_string(longest_pattern) + " bytes, found " +
                            std::to_string(pattern.size()));
    if (largest_expansion(pattern) > most_repeats)
        refuse(pattern, "its counts {...} multiply to more than " + std::to_string(most_repeats));
    regex_t *regex = nullptr;
    OnigErrorInfo info{};
    const int code = onig_new(&regex, units(pattern.data()), units(pattern.data() + pattern.size()), ONIG_OPTION_NONE,
                              ONIG_ENCODING_UTF8, ONIG_SYNTAX_DEFAULT, &info);
    if (code != ONIG_NORMAL) refuse(pattern, reason(code, &info));
    return {regex, [](void *each) { onig_free(static_cast<regex_t *>(each)); }};
}

// Replaces characters that this version of libonig may not know by equivalent ones of the same length.
std::string known(std::string_view text) {
    std::string out(text);
    for (size_t at = 0; at < text.size();) {
        if (static_cast<signed char>(text[at]) >= 0) {
            ++at;
            continue;
        }
        const auto [code, length] = character_at(text, at);
        if (const char32_t other = stand_in(code); other != code) out.replace(at, length, utf8(other));
        at += length;
    }
    return out;
}

} // namespace

Regex::Regex(std::string pattern) : pattern_(std::move(pattern)), compiled_(compile(pattern_)) {}

std::vector<Span> Regex::find_all(std::string_view text) const {
    const std::string subject = known(text);
    const std::unique_ptr<OnigRegion, void (*)(OnigRegion *)> region(onig_region_new(),
                                                                     [](OnigRegion *r) { onig_region_free(r, 1); });
    const std::unique_ptr<OnigMatchParam, void (*)(OnigMatchParam *)> limits(onig_new_match_param(),
                                                                             onig_free_match_param);
    if (!region || !limits) throw std::bad_alloc();
    onig_initialize_match_param(limits.get());
    onig_set_match_stack_limit_size_of_match_param(limits.get(), stack_of_match);
    onig_set_retry_limit_in_match_of_match_param(limits.get(), steps_of_match);
    const uint64_t steps = std::min<uint64_t>(steps_at_least + steps_a_byte * subject.size(), ULONG_MAX);
    onig_set_retry_limit_in_search_of_match_param(limits.get(), static_cast<unsigned long>(steps));

    const OnigUChar *begin = units(subject.data()), *end = begin + subject.size();
    std::vector<Span> found;
    for (size_t at = 0; at <= subject.size();) {
        const int code = onig_search_with_param(static_cast<regex_t *>(compiled_.get()), begin, end, begin + at, end,
                                                region.get(), ONIG_OPTION_NONE, limits.get());
        if (code == ONIG_MISMATCH) break;
        if (code < 0)
            refuse(pattern_, "given up on a text of " + std::to_string(text.size()) + " bytes: " + reason(code));
        const Span match{static_cast<uint32_t>(region->beg[0]), static_cast<uint32_t>(region->end[0])};
        if (match.size() == 0 && !found.empty() && match.end == found.back().end) { // empty, right after a match
            at += at < subject.size() ? character_at(subject, at).length : 1;
            continue;
        }
        found.push_back(match);
        at = match.end;
    }
    return found;
}

} // namespace lamina::tokenizer
