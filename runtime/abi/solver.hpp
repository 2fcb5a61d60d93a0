// Unknown sizes, and the equations between them.
#pragma once

#include "abi/size.hpp"

#include <string>

namespace lamina::abi {

class Solver {
  public:
    // Adds an unknown. The name appears in messages.
    [[nodiscard]] Size open(std::string name);

    // Learns that two sizes are equal. Returns false, and learns nothing, if that is impossible. An equation that
    // cannot be solved for one unknown yet ("a*b" is 12) waits until more is known.
    [[nodiscard]] bool equate(const Size &a, const Size &b);

    // The size, expressed in the sizes that are still unknown.
    [[nodiscard]] Size resolve(const Size &size) const;

    // "2*S", "T+1", "C/2".
    [[nodiscard]] std::string text(const Size &size) const;
    // "(B, T, 5*D)", as a shape of numbers is written.
    [[nodiscard]] std::string text(const OpenShape &shape) const;

  private:
    struct Entry {
        std::string name;
        std::optional<Size> value; // expressed in other unknowns, if it was solved
    };
    std::vector<Entry> unknowns_;
    std::vector<Unknown> solved_; // in this order
    std::vector<Size> waiting_;   // equations: each of these is 0

    enum class Outcome { settled, waits, contradiction };
    Outcome learn(const Size &zero);
    bool settle();
    [[nodiscard]] std::string name_of(Unknown unknown) const;
    [[nodiscard]] std::string text(const Product &product) const;
};

} // namespace lamina::abi
