// Unicode's normal forms (Unicode 15, annex 15), with the tables of utf8proc. utf8proc's own functions for whole texts
// do not say where each character comes from.
#include "tokenizer/normalizer.hpp"
#include "tokenizer/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>

namespace lamina::tokenizer {
namespace {

using Change = Text::Change;

int combining_class(char32_t code) {
    return normalizes(code) ? utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->combining_class : 0;
}

// Decomposes every character, and puts combining marks in canonical order.
std::vector<Change> decompose(const std::string &text, bool compatible) {
    const auto option = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
    std::vector<Change> out;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        const auto [code, length] = character_at(text, at);
        at += length;
        if (!normalizes(code)) {
            out.push_back({code, 0});
            continue;
        }
        std::array<utf8proc_int32_t, 32> parts{}; // the longest decomposition has 18
        const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts.data(),
                                                   static_cast<utf8proc_ssize_t>(parts.size()), option, nullptr);
        for (utf8proc_ssize_t i = 0; i < count; ++i)
            out.push_back({static_cast<char32_t>(parts[static_cast<size_t>(i)]), i == 0 ? 0 : 1});
    }
    const auto is_starter = [](const Change &each) { return combining_class(each.code) == 0; };
    for (auto mark = out.begin(); mark != out.end();) {
        mark = std::find_if_not(mark, out.end(), is_starter);
        const auto end = std::find_if(mark, out.end(), is_starter);
        std::stable_sort(mark, end, [](const Change &a, const Change &b) {
            return combining_class(a.code) < combining_class(b.code);
        });
        mark = end;
    }
    return out;
}

// The character that the two compose to, or 0.
char32_t composed(char32_t first, char32_t second) {
    if (second < 0x80) return 0;
    std::array<utf8proc_int32_t, 2> pair{static_cast<utf8proc_int32_t>(first), static_cast<utf8proc_int32_t>(second)};
    const auto option = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    const bool one = utf8proc_normalize_utf32(pair.data(), 2, option) == 1;
    const auto made = static_cast<char32_t>(pair[0]);
    return one && normalizes(made) ? made : 0;
}

std::vector<Change> compose(const std::vector<Change> &parts) {
    std::vector<Change> out;
    out.reserve(parts.size());
    constexpr size_t none = SIZE_MAX;
    size_t starter = none; // in out
    int last_class = -1;   // of the last mark after the starter that did not compose; -1: none
    for (const Change &each : parts) {
        const int own_class = combining_class(each.code);
        const bool blocked = last_class >= own_class;
        if (starter != none && !blocked) {
            if (const char32_t made = composed(out[starter].code, each.code); made != 0) {
                out[starter] = {made, out[starter].change + each.change - 1};
                continue;
            }
        }
        if (own_class == 0) {
            starter = out.size();
            last_class = -1;
        } else if (starter != none) {
            last_class = own_class;
        }
        out.push_back(each);
    }
    return out;
}

} // namespace

Normalizer normal_form(NormalForm form) {
    return [compatible = form == NormalForm::nfkc || form == NormalForm::nfkd,
            composes = form == NormalForm::nfc || form == NormalForm::nfkc](Text &text) {
        const bool ascii = std::ranges::all_of(text.now(), [](unsigned char c) { return c < 0x80; });
        if (ascii) return; // it has one form
        const std::vector<Change> parts = decompose(text.now(), compatible);
        text.transform(composes ? compose(parts) : parts);
    };
}

} // namespace lamina::tokenizer
