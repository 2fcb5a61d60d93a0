#include "template/text_operations.hpp"

#include "template/arithmetic.hpp"
#include "template/printing.hpp"
#include "template/run.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace lamina::jinja {
namespace {

// Inserts `by` before each character and at the end.
std::string spread(std::string_view text, std::string_view by, int64_t most) {
    std::string out;
    size_t at = 0;
    for (int64_t i = 0; most < 0 || i < most; ++i) {
        out += by;
        if (at == text.size()) return out;
        const size_t length = character_at(text, at).length;
        out += text.substr(at, length);
        at += length;
    }
    return out += text.substr(at);
}

} // namespace

std::string_view strip_text(Run &run, std::string_view text, Side side, const std::string *characters) {
    const std::string_view out = strip(text, side, characters);
    run.spend((text.size() - out.size()) * (characters != nullptr ? characters->size() : 1));
    return out;
}

Value replaced(Run &run, std::string_view text, std::string_view old, std::string_view by, int64_t most) {
    run.spend(text.size());
    if (old.empty()) {
        run.spend((text.size() + 1) * by.size());
        return run.text(spread(text, by, most));
    }
    std::string out;
    size_t at = 0;
    for (int64_t i = 0; most < 0 || i < most; ++i) {
        const size_t found = find_text(text, old, at);
        if (found == std::string_view::npos) break;
        run.spend(by.size());
        out += text.substr(at, found - at);
        out += by;
        at = found + old.size();
    }
    return run.text(out += text.substr(at));
}

} // namespace lamina::jinja
