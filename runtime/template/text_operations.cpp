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

std::string formatted_number(Run &run, const Value &value, char conversion, int precision) {
    if (!value.is_number())
        run.fail(std::string("%") + conversion + ": expected a number, found " + value.description());
    if (conversion != 'f') {
        if (value.integer()) return std::to_string(*value.integer());
        const double whole = std::trunc(*value.real());
        if (!(std::abs(whole) < 9e18)) run.fail("the result is beyond 64 bits");
        return std::to_string(static_cast<int64_t>(whole));
    }
    std::array<char, 512> text{};
    const int length = std::snprintf(text.data(), text.size(), "%.*f", precision < 0 ? 6 : precision, value.number());
    return {text.data(), static_cast<size_t>(length)};
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

Value formatted(Run &run, std::string_view format, const std::vector<Value> &values) {
    std::string out;
    size_t used = 0;
    for (size_t at = 0; at < format.size(); ++at) {
        if (format[at] != '%') {
            out += format[at];
            continue;
        }
        int precision = -1;
        ++at;
        if (at + 1 < format.size() && format[at] == '.' && format[at + 1] >= '0' && format[at + 1] <= '9') {
            precision = format[at + 1] - '0';
            at += 2;
        }
        const char conversion = at < format.size() ? format[at] : '\0';
        if (conversion == '%' && precision < 0) {
            out += '%';
            continue;
        }
        if (conversion == '\0' || std::string_view("sdif").find(conversion) == std::string_view::npos ||
            (precision >= 0 && conversion != 'f'))
            run.fail("format: only the conversions %s, %d, %i, %f, %.2f and %% are supported");
        if (used == values.size()) run.fail("format: more conversions than values");
        const Value &value = values[used++];
        out += conversion == 's' ? text_of(run, value) : formatted_number(run, value, conversion, precision);
    }
    if (used != values.size()) run.fail("format: more values than conversions");
    return run.text(std::move(out));
}

} // namespace lamina::jinja
