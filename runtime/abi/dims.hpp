// Solves a contract's dims for the sizes of their names. A name is the same size everywhere.
#pragma once

#include "abi/solver.hpp"

#include <lamina/tensor.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace lamina::abi {

// The sizes of the names in one contract, or in one graph's inputs. Sizes may be open. Equations between open sizes go
// to a solver, which must outlive this object.
//
// Expressions are names and numbers joined by * / + -, without spaces or parentheses; * and / bind tighter. A malformed
// expression is an Error(plugin). Sizes that contradict each other, divide unevenly or do not fit in 64 bits are an
// Error(input). The message lacks the place of the dims; see located().
class Dims {
  public:
    using Names = std::map<std::string, Size, std::less<>>;

    explicit Dims(Solver &solver) : solver_(&solver) {}

    void set(const std::string &name, const Size &size) { names_.insert_or_assign(name, size); }
    void set_leading(OpenShape axes) { leading_ = std::move(axes); }

    // Learns the sizes of the names in `spec` ("B T heads*D", or "... C") from a shape.
    void unify(std::string_view spec, const OpenShape &shape);

    // Nothing if the expression has a name that is not known at all.
    [[nodiscard]] std::optional<Size> evaluate(std::string_view expression) const;

    // The shape that `spec` describes. Throws Error(plugin) if a name in it is not known at all.
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

// The names in `spec` in order of appearance, each once, without numbers and without "...".
[[nodiscard]] std::vector<std::string> names_in(std::string_view spec);

// Returns body(). If it throws, puts place() in front of the message.
template <class Place, class Body> auto located(const Place &place, const Body &body) {
    try {
        return body();
    } catch (const Error &e) {
        throw Error(e.code(), place() + ": " + e.what());
    }
}

} // namespace lamina::abi
