#include "seed.hpp"

#include <charconv>

namespace lamina::cli {

CLI::Option *add_seed(CLI::App &app, uint64_t &seed, const std::string &description) {
    const auto fault_of = [](std::string &text) -> std::string {
        uint64_t value = 0;
        const char *end = text.data() + text.size();
        const auto [at, failed] = std::from_chars(text.data(), end, value);
        if (failed == std::errc() && at == end) return "";
        return "expected a number from 0 to 18446744073709551615, found '" + text + "'";
    };
    return app.add_option("--seed", seed, description)
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Validator(fault_of, ""));
}

} // namespace lamina::cli
