#include "template/arithmetic.hpp"

#include "template/run.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace lamina::jinja {
namespace {

[[noreturn]] void too_large(Run &run) { run.fail("the result is beyond 64 bits"); }
[[noreturn]] void by_zero(Run &run) { run.fail("division by zero"); }

int64_t floor_quotient(Run &run, int64_t a, int64_t b) {
    if (b == 0) by_zero(run);
    if (a == INT64_MIN && b == -1) too_large(run);
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t floor_remainder(Run &run, int64_t a, int64_t b) {
    if (b == 0) by_zero(run);
    if (b == -1) return 0; // INT64_MIN % -1 traps
    const int64_t out = a % b;
    return out != 0 && (out < 0) != (b < 0) ? out + b : out;
}

Value of_integers(Run &run, std::string_view symbol, int64_t a, int64_t b) {
    int64_t out = 0;
    bool overflows = false;
    if (symbol == "+") overflows = __builtin_add_overflow(a, b, &out);
    if (symbol == "-") overflows = __builtin_sub_overflow(a, b, &out);
    if (symbol == "*") overflows = __builtin_mul_overflow(a, b, &out);
    if (symbol == "//") out = floor_quotient(run, a, b);
    if (symbol == "%") out = floor_remainder(run, a, b);
    if (overflows) too_large(run);
    return out;
}

double floor_remainder(double a, double b) {
    double out = std::fmod(a, b);
    if (out == 0) return std::copysign(0.0, b);
    return (out < 0) != (b < 0) ? out + b : out;
}

double floor_quotient(double a, double b) {
    const double quotient = (a - std::fmod(a, b)) / b - (floor_remainder(a, b) != std::fmod(a, b) ? 1 : 0);
    const double whole = std::floor(quotient);
    if (quotient == 0) return std::copysign(0.0, a / b);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

Value of_reals(Run &run, std::string_view symbol, double a, double b) {
    if (symbol == "+") return a + b;
    if (symbol == "-") return a - b;
    if (symbol == "*") return a * b;
    if (b == 0) by_zero(run);
    if (symbol == "/") return a / b;
    return symbol == "//" ? floor_quotient(a, b) : floor_remainder(a, b);
}

} // namespace

Value number_arithmetic(Run &run, std::string_view symbol, const Value &left, const Value &right) {
    const auto a = left.integer(), b = right.integer();
    if (a && b && symbol != "/") return of_integers(run, symbol, *a, *b);
    return of_reals(run, symbol, left.number(), right.number());
}

std::string text_of_real(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    const double size = std::abs(value);
    const bool is_fixed = size == 0 || (size >= 1e-4 && size < 1e16);
    std::array<char, 40> digits{};
    const auto format = is_fixed ? std::chars_format::fixed : std::chars_format::scientific;
    const std::string out(digits.data(),
                          std::to_chars(digits.data(), digits.data() + digits.size(), value, format).ptr);
    return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

} // namespace lamina::jinja
