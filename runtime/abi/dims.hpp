// The sizes behind a contract's dims: names that mean one size wherever they stand.
#pragma once

#include "abi/solver.hpp"

#include <lamina/tensor.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace lamina::abi {

// What the names of one contract, or of one graph's inputs, stand for. Sizes may be open: what the dims say of them
// goes to a solver, which outlives this.
//
// Expressions are names and numbers joined by * / + -, without blanks or parentheses; * and / bind tighter. A malformed
// one is an Error(plugin). Sizes that contradict each other, divide unevenly or do not fit 64 bits are an Error(input).
// What it says goes behind the place where the dims stand: see located().
class Dims {
  public:
    using Names = std::map<std::string, Size, std::less<>>;

    explicit Dims(Solver &solver) : solver_(&solver) {}

    void set(const std::string &name, const Size &size) { names_.insert_or_assign(name, size); }
    void set_leading(OpenShape axes) { leading_ = std::move(axes); }

    // Learns what a shape says about the names in `spec`: "B T heads*D", or "... C".
    void unify(std::string_view spec, const OpenShape &shape);

    // Nothing when the expression has a name that nothing has said anything about.
    [[nodiscard]] std::optional<Size> evaluate(std::string_view expression) const;

    // The shape that `spec` describes. Throws Error(plugin) when nothing has said anything about a name in it.
    [[nodiscard]] OpenShape instantiate(std::string_view spec) const;

    [[nodiscard]] const Names &names() const { return names_; }
    [[nodiscard]] const std::optional<OpenShape> &leading() const { return leading_; } // what "..." stands for

  private:
    Solver *solver_;
    Names names_;
    std::optional<OpenShape> leading_;

    bool unify_leading(const OpenShape &axes);
    bool unify_axis(std::string_view expression, const Size &size);
    [[nodiscard]] std::optional<Size> find(std::string_view name) const;
    [[nodiscard]] std::string known(std::string_view spec) const;
};

// The names in `spec`, without numbers, in order of appearance, each once. "..." is not one of them.
[[nodiscard]] std::vector<std::string> names_in(std::string_view spec);

// What `body` gives; where it throws, with the place in front, which `place` puts into words only then.
template <class Place, class Body> auto located(const Place &place, const Body &body) {
    try {
        return body();
    } catch (const Error &e) {
        throw Error(e.code(), place() + ": " + e.what());
    }
}

} // namespace lamina::abi
