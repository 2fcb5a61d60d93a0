#include "abi/solver.hpp"

#include <algorithm>
#include <numeric>

namespace lamina::abi {
namespace {

// The same equation with whole factors that have no common divisor. It has a solution in whole numbers only if its
// constant is whole, too.
Size reduced(const Size &zero) {
    Fraction scale{1, 1};
    for (const Product &product : zero.products()) scale = scale * Fraction{(product.times * scale).bottom, 1};
    int64_t shared = 0;
    for (const Product &product : zero.products()) shared = std::gcd(shared, (product.times * scale).top);
    return zero * Size(scale / Fraction{shared, 1});
}

// Whether it has no solution: no whole numbers make it 0, or it has the same sign for all unknowns of at least 1.
bool is_never_zero(const Size &equation) {
    if (!equation.constant().is_whole()) return true;
    bool rises = true, falls = true;
    Fraction at_ones = equation.constant();
    for (const Product &product : equation.products()) {
        (product.times.top > 0 ? falls : rises) = false;
        at_ones = at_ones + product.times;
    }
    return (rises && at_ones.top > 0) || (falls && at_ones.top < 0);
}

bool is_below_one(const Size &size) { return size.is_known() && size.constant().top < 1; }

// The newest unknown that appears once in an equation, alone in its product, so that the rest determines it as a whole
// number. A graph's names are older than a layer's, so they are kept.
const Product *to_solve_for(const Size &equation) {
    const Product *found = nullptr;
    for (const Product &product : equation.products()) {
        if (product.unknowns.size() != 1 || (product.times.top != 1 && product.times.top != -1)) continue;
        const auto has_it = [unknown = product.unknowns.front()](const Product &other) { return other.has(unknown); };
        if (std::count_if(equation.products().begin(), equation.products().end(), has_it) == 1) found = &product;
    }
    return found; // the last: products are sorted
}

} // namespace

Size Solver::open(std::string name) {
    unknowns_.push_back({std::move(name), std::nullopt});
    return Size(Product{{static_cast<Unknown>(unknowns_.size() - 1)}});
}

Size Solver::resolve(const Size &size) const {
    if (size.is_known()) return size;
    Size out(size.constant());
    for (const Product &product : size.products()) {
        Size term(product.times);
        for (const Unknown unknown : product.unknowns) {
            const std::optional<Size> &value = unknowns_[unknown].value;
            term = term * (value ? resolve(*value) : Size(Product{{unknown}}));
        }
        out += term;
    }
    return out;
}

bool Solver::equate(const Size &a, const Size &b) {
    if (a.is_known() && b.is_known()) return a == b;
    const std::vector<Size> waiting = waiting_;
    const size_t solved = solved_.size();
    const auto undo = [&] {
        waiting_ = waiting;
        for (; solved_.size() > solved; solved_.pop_back()) unknowns_[solved_.back()].value.reset();
    };
    try {
        waiting_.push_back(a - b);
        if (settle()) return true;
    } catch (...) {
        undo();
        throw;
    }
    undo();
    return false;
}

// Solves waiting equations until no more can be solved; false on a contradiction.
bool Solver::settle() {
    const size_t solved = solved_.size();
    for (size_t i = 0; i < waiting_.size();) {
        const Outcome outcome = learn(waiting_[i]);
        if (outcome == Outcome::contradiction) return false;
        if (outcome == Outcome::settled) waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i)), i = 0;
        if (outcome == Outcome::waits) ++i;
    }
    if (solved_.size() == solved) return true;
    return std::all_of(solved_.begin(), solved_.end(), [&](Unknown unknown) { // T-5 is impossible once T is 3
        const Size &value = *unknowns_[unknown].value;
        return value.is_known() || !is_below_one(resolve(value));
    });
}

Solver::Outcome Solver::learn(const Size &zero) {
    Size equation = resolve(zero);
    if (equation.is_known()) return equation == Size(0) ? Outcome::settled : Outcome::contradiction;
    equation = reduced(equation);
    if (is_never_zero(equation)) return Outcome::contradiction;
    const Product *product = to_solve_for(equation);
    if (product == nullptr) return Outcome::waits;
    const Unknown unknown = product->unknowns.front();
    const Size sign(product->times); // 1 or -1
    unknowns_[unknown].value = Size(Product{{unknown}}) - sign * equation;
    solved_.push_back(unknown);
    return Outcome::settled;
}

// A number is appended if an older unknown has the same name.
std::string Solver::name_of(Unknown unknown) const {
    const std::string &name = unknowns_[unknown].name;
    const auto older = std::count_if(unknowns_.begin(), unknowns_.begin() + unknown,
                                     [&](const Entry &e) { return e.name == name && !e.value; });
    return older == 0 ? name : name + std::to_string(older + 1);
}

std::string Solver::text(const Product &product) const {
    std::string out = product.times.top == 1 && !product.unknowns.empty() ? "" : std::to_string(product.times.top);
    for (const Unknown unknown : product.unknowns) out += (out.empty() ? "" : "*") + name_of(unknown);
    return product.times.bottom == 1 ? out : out + "/" + std::to_string(product.times.bottom);
}

std::string Solver::text(const Size &size) const {
    const Size resolved = resolve(size);
    std::string plus, minus;
    const auto add = [&](Product product) {
        if (product.times.top > 0) plus += (plus.empty() ? "" : "+") + text(product);
        if (product.times.top >= 0) return;
        product.times.top *= -1;
        minus += "-" + text(product);
    };
    for (const Product &product : resolved.products()) add(product);
    add({{}, resolved.constant()});
    return resolved == Size(0) ? "0" : plus + minus;
}

std::string Solver::text(const OpenShape &shape) const {
    std::string out;
    for (const Size &size : shape) out += (out.empty() ? "" : ", ") + text(size);
    return "(" + out + ")";
}

} // namespace lamina::abi
