#include "seed.hpp"

#include "given.hpp"

#include <limits>

namespace lamina::cli {

CLI::Option *add_seed(CLI::App &app, uint64_t &seed, const std::string &description) {
    return app.add_option("--seed", seed, description)
        ->type_name("N")
        ->capture_default_str()
        ->check(within(uint64_t{0}, std::numeric_limits<uint64_t>::max()));
}

} // namespace lamina::cli
