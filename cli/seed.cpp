#include "seed.hpp"

#include <limits>

namespace lamina::cli {

Argument add_seed(const Arguments &command, uint64_t &seed, const std::string &description) {
    return command.option("--seed", seed, "N", description)
        .shows_default()
        .within(uint64_t{0}, std::numeric_limits<uint64_t>::max());
}

} // namespace lamina::cli
