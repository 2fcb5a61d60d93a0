#include "given.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>

namespace lamina::cli {
namespace {

std::string shouted(std::string text) {
    for (char &c : text) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

std::string prefix_of(const CLI::App &app) {
    return app.get_parent() == nullptr ? "LAMINA_" : prefix_of(*app.get_parent()) + shouted(app.get_name()) + "_";
}

// CLI11 reads the names of variables while it parses: one that is set thereafter says where the value is from.
bool is_from_environment(const CLI::Option &option) { return !option.get_envname().empty(); }

bool is_given(const CLI::Option &option) { return option.count() != 0 && !is_from_environment(option); }

void take(CLI::Option &option, const std::string &variable) {
    const char *value = std::getenv(variable.c_str());
    const auto excluding = option.get_excludes();
    if (value == nullptr || *value == '\0' || option.count() != 0 ||
        std::any_of(excluding.begin(), excluding.end(), [](const CLI::Option *other) { return is_given(*other); }))
        return;
    option.envname(variable);
    option.add_result(value);
    try {
        option.run_callback();
    } catch (const CLI::ParseError &error) {
        throw Error(ErrorCode::usage, std::string(error.what()) + ", from $" + variable);
    }
}

} // namespace

std::string variable_of(const CLI::App &app, const CLI::Option &option) {
    const bool is_information = option.check_lname("help") || option.check_lname("version");
    return option.get_lnames().empty() || is_information ? "" : prefix_of(app) + shouted(option.get_lnames().front());
}

void take_environment(CLI::App &lamina) {
    for (CLI::Option *option : lamina.get_options())
        if (const std::string variable = variable_of(lamina, *option); !variable.empty()) take(*option, variable);
    for (CLI::App *chosen : lamina.get_subcommands()) take_environment(*chosen);
}

bool is_given(const CLI::App &command, const std::vector<std::string> &options) {
    return std::any_of(options.begin(), options.end(),
                       [&](const std::string &name) { return is_given(*command.get_option(name)); });
}

void refuse_given(const CLI::App &command, const std::vector<std::string> &options, const std::string &why) {
    for (const std::string &name : options)
        if (is_given(command, {name})) throw Error(ErrorCode::usage, name + " " + why);
}

bool is_from_environment(const CLI::App &command, const std::string &option) {
    return is_from_environment(*command.get_option(option));
}

std::string origin_of(const CLI::App &command, const std::string &fault) {
    const auto is_named = [&](const std::string &option) {
        const size_t at = fault.find(option), end = at + option.size();
        return at != std::string::npos &&
               (end == fault.size() ||
                (fault[end] != '-' && std::isalnum(static_cast<unsigned char>(fault[end])) == 0));
    };
    std::string out;
    for (const CLI::App *app = &command; app != nullptr; app = app->get_parent())
        for (const CLI::Option *option : app->get_options())
            if (is_from_environment(*option) && is_named(option->get_name()))
                out += (out.empty() ? ", from $" : " and $") + option->get_envname();
    return out;
}

template <class Number> CLI::Validator within(Number least, Number most) {
    const auto shown = [](Number number) {
        std::array<char, 32> digits{};
        return std::string(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
    };
    const std::string expected = std::string("expected a ") + (std::is_integral_v<Number> ? "whole " : "") +
                                 "number from " + shown(least) + " to " + shown(most) + ", found ";
    return {[=](std::string &text) -> std::string {
                Number value{};
                const char *end = text.data() + text.size();
                const auto [at, failed] = std::from_chars(text.data(), end, value);
                const bool good = failed == std::errc() && at == end && value >= least && value <= most; // NaN is not
                return good ? "" : expected + "'" + text + "'";
            },
            ""};
}
template CLI::Validator within(int64_t, int64_t);
template CLI::Validator within(uint64_t, uint64_t);
template CLI::Validator within(double, double);

CLI::Validator not_empty() {
    return {[](std::string &text) -> std::string { return text.empty() ? "expected a value, found nothing" : ""; }, ""};
}

} // namespace lamina::cli
