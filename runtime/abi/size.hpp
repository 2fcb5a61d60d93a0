// The size of an axis: a number, or an expression over sizes that are not known yet, such as "5*D", "T+1" or "C/2".
#pragma once

#include <lamina/error.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace lamina::abi {

// Thrown by all arithmetic here.
struct Overflow : Error {
    Overflow() : Error(ErrorCode::input, "a size does not fit in 64 bits") {}
};

struct Fraction {                // in lowest terms
    int64_t top = 0, bottom = 1; // bottom > 0

    [[nodiscard]] bool is_whole() const { return bottom == 1; }
    bool operator==(const Fraction &) const = default;
};
Fraction operator+(Fraction a, Fraction b);
Fraction operator*(Fraction a, Fraction b);
Fraction operator/(Fraction a, Fraction b); // b is not 0

using Unknown = uint32_t; // an open size: a whole number of at least 1. Its Solver numbers it

struct Product {
    std::vector<Unknown> unknowns; // in ascending order; one that appears twice is squared
    Fraction times{1, 1};          // not 0

    [[nodiscard]] bool has(Unknown unknown) const;
    bool operator==(const Product &) const = default;
};

// A constant and a sum of products of unknowns. Equal sizes have equal parts.
class Size {
  public:
    Size(int64_t number = 0) : constant_{number, 1} {} // NOLINT(google-explicit-constructor): a number is a size
    explicit Size(Fraction constant) : constant_(constant) {}
    explicit Size(Product product) : products_{std::move(product)} {}

    [[nodiscard]] bool is_known() const { return products_.empty(); }
    [[nodiscard]] std::optional<int64_t> number() const; // of a known size that is whole
    [[nodiscard]] Fraction constant() const { return constant_; }
    [[nodiscard]] const std::vector<Product> &products() const { return products_; }

    Size &operator+=(const Size &other);
    friend Size operator*(const Size &a, const Size &b);
    bool operator==(const Size &) const = default;

  private:
    Fraction constant_;
    std::vector<Product> products_; // sorted by their unknowns; no two have the same
};
inline Size operator+(Size a, const Size &b) { return a += b; }
inline Size operator-(Size a, const Size &b) { return a += Size(-1) * b; }

using OpenShape = std::vector<Size>;

} // namespace lamina::abi
