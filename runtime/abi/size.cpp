#include "abi/size.hpp"

#include <algorithm>
#include <numeric>

namespace lamina::abi {
namespace {

int64_t checked(bool overflowed, int64_t value) {
    if (overflowed || value == INT64_MIN) throw Overflow(); // INT64_MIN cannot be negated
    return value;
}

int64_t add(int64_t a, int64_t b) {
    int64_t sum = 0;
    const bool overflowed = __builtin_add_overflow(a, b, &sum);
    return checked(overflowed, sum);
}

int64_t multiply(int64_t a, int64_t b) {
    int64_t product = 0;
    const bool overflowed = __builtin_mul_overflow(a, b, &product);
    return checked(overflowed, product);
}

} // namespace

Fraction operator+(Fraction a, Fraction b) {
    const int64_t top = add(multiply(a.top, b.bottom), multiply(b.top, a.bottom));
    const int64_t bottom = multiply(a.bottom, b.bottom), shared = std::gcd(top, bottom);
    return {top / shared, bottom / shared};
}

Fraction operator*(Fraction a, Fraction b) {
    const int64_t first = std::gcd(a.top, b.bottom), second = std::gcd(b.top, a.bottom);
    return {multiply(a.top / first, b.top / second), multiply(a.bottom / second, b.bottom / first)};
}

Fraction operator/(Fraction a, Fraction b) {
    return a * (b.top < 0 ? Fraction{-b.bottom, -b.top} : Fraction{b.bottom, b.top});
}

bool Product::has(Unknown unknown) const {
    return std::find(unknowns.begin(), unknowns.end(), unknown) != unknowns.end();
}

std::optional<int64_t> Size::number() const {
    return is_known() && constant_.is_whole() ? std::optional(constant_.top) : std::nullopt;
}

Size &Size::operator+=(const Size &other) {
    constant_ = constant_ + other.constant_;
    for (const Product &product : other.products_) {
        const auto mine = std::lower_bound(products_.begin(), products_.end(), product,
                                           [](const Product &a, const Product &b) { return a.unknowns < b.unknowns; });
        if (mine == products_.end() || mine->unknowns != product.unknowns)
            products_.insert(mine, product);
        else if ((mine->times = mine->times + product.times).top == 0)
            products_.erase(mine);
    }
    return *this;
}

Size operator*(const Size &a, const Size &b) {
    Size out(a.constant_ * b.constant_);
    const auto add = [&](std::vector<Unknown> unknowns, Fraction times) {
        if (times.top != 0) out += Size(Product{std::move(unknowns), times});
    };
    for (const Product &x : a.products_) add(x.unknowns, x.times * b.constant_);
    for (const Product &y : b.products_) add(y.unknowns, y.times * a.constant_);
    for (const Product &x : a.products_)
        for (const Product &y : b.products_) {
            std::vector<Unknown> both;
            std::merge(x.unknowns.begin(), x.unknowns.end(), y.unknowns.begin(), y.unknowns.end(),
                       std::back_inserter(both));
            add(std::move(both), x.times * y.times);
        }
    return out;
}

} // namespace lamina::abi
