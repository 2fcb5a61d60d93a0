#include "arguments.hpp"

#include <lamina/error.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

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

template <class Number> CLI::Validator bounds(Number least, Number most) {
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
// The option of a command, or a global one.
const CLI::Option &find(const CLI::App &command, const std::string &name) {
    const CLI::Option *option = command.get_option_no_throw(name);
    return option == nullptr ? find(*command.get_parent(), name) : *option;
}

template <class Value>
CLI::Option *add(CLI::App &app, const std::string &names, Value &value, const std::string &type,
                 const std::string &description) {
    return app.add_option(names, value, description)->type_name(type);
}

template <class Value>
CLI::Option *add_repeated(CLI::App &app, const std::string &names, std::vector<Value> &values, const std::string &type,
                          const std::string &description) {
    return add(app, names, values, type, description)->allow_extra_args(false);
}

} // namespace

// ---- Describing ----

Argument Argument::required() {
    option_->required();
    return *this;
}

Argument Argument::shows_default() {
    option_->capture_default_str();
    return *this;
}

Argument Argument::separated_by(char separator) {
    option_->delimiter(separator);
    return *this;
}

Argument Argument::excludes(Argument other) {
    option_->excludes(other.option_);
    return *this;
}

Argument Argument::not_empty() {
    option_->check(
        {[](std::string &text) { return std::string(text.empty() ? "expected a value, found nothing" : ""); }, ""});
    return *this;
}

Argument Argument::one_of(const std::vector<std::string> &words) {
    option_->check(CLI::IsMember(words).description(""));
    return *this;
}

Argument Argument::within(int64_t least, int64_t most) {
    option_->check(bounds(least, most));
    return *this;
}

Argument Argument::within(uint64_t least, uint64_t most) {
    option_->check(bounds(least, most));
    return *this;
}

Argument Argument::within(double least, double most) {
    option_->check(bounds(least, most));
    return *this;
}

Arguments Arguments::command(const std::string &name, const std::string &description) const {
    return Arguments(*command_->add_subcommand(name, description));
}

void Arguments::require_command() const { command_->require_subcommand(1); }

void Arguments::footer(const std::string &text) const { command_->footer(text); }

Argument Arguments::positional(const std::string &name, std::string &value, const std::string &description) const {
    return Argument(command_->add_option(name, value, description));
}

Argument Arguments::positional(const std::string &name, std::filesystem::path &value,
                               const std::string &description) const {
    return Argument(command_->add_option(name, value, description));
}

Argument Arguments::positional(const std::string &name, std::vector<std::string> &values,
                               const std::string &description) const {
    return Argument(command_->add_option(name, values, description));
}

Argument Arguments::flag(const std::string &names, bool &value, const std::string &description) const {
    return Argument(command_->add_flag(names, value, description));
}

Argument Arguments::option(const std::string &names, std::string &value, const std::string &type,
                           const std::string &description) const {
    return Argument(add(*command_, names, value, type, description));
}

Argument Arguments::option(const std::string &names, std::filesystem::path &value, const std::string &type,
                           const std::string &description) const {
    return Argument(add(*command_, names, value, type, description));
}

Argument Arguments::option(const std::string &names, int64_t &value, const std::string &type,
                           const std::string &description) const {
    return Argument(add(*command_, names, value, type, description));
}

Argument Arguments::option(const std::string &names, uint64_t &value, const std::string &type,
                           const std::string &description) const {
    return Argument(add(*command_, names, value, type, description));
}

Argument Arguments::option(const std::string &names, double &value, const std::string &type,
                           const std::string &description) const {
    return Argument(add(*command_, names, value, type, description));
}

Argument Arguments::option(const std::string &names, std::vector<std::string> &values, const std::string &type,
                           const std::string &description) const {
    return Argument(add_repeated(*command_, names, values, type, description));
}

Argument Arguments::option(const std::string &names, std::vector<std::filesystem::path> &values,
                           const std::string &type, const std::string &description) const {
    return Argument(add_repeated(*command_, names, values, type, description));
}

// ---- After parsing ----

std::string Arguments::name() const {
    std::string out = command_->get_name();
    for (const CLI::App *app = command_->get_parent(); app != nullptr && app->get_parent() != nullptr;
         app = app->get_parent())
        out = app->get_name() + " " + out;
    return out;
}

std::string variable_of(const CLI::App &app, const CLI::Option &option) {
    const bool is_information = option.check_lname("help") || option.check_lname("version");
    return option.get_lnames().empty() || is_information ? "" : prefix_of(app) + shouted(option.get_lnames().front());
}

void take_environment(CLI::App &lamina) {
    for (CLI::Option *option : lamina.get_options())
        if (const std::string variable = variable_of(lamina, *option); !variable.empty()) take(*option, variable);
    for (CLI::App *chosen : lamina.get_subcommands()) take_environment(*chosen);
}

bool Arguments::chosen() const { return command_->parsed(); }

bool Arguments::is_given(const std::vector<std::string> &options) const {
    return std::any_of(options.begin(), options.end(),
                       [&](const std::string &name) { return cli::is_given(find(*command_, name)); });
}

bool Arguments::is_from_environment(const std::string &option) const {
    return cli::is_from_environment(find(*command_, option));
}

void refuse_given(const Arguments &command, const std::vector<std::string> &options, const std::string &why) {
    for (const std::string &name : options)
        if (command.is_given({name})) throw Error(ErrorCode::usage, name + " " + why);
}

std::string Arguments::origin_of(const std::string &fault) const {
    const auto is_named = [&](const std::string &option) {
        const size_t at = fault.find(option), end = at + option.size();
        return at != std::string::npos &&
               (end == fault.size() ||
                (fault[end] != '-' && std::isalnum(static_cast<unsigned char>(fault[end])) == 0));
    };
    std::string out;
    for (const CLI::App *app = command_; app != nullptr; app = app->get_parent())
        for (const CLI::Option *option : app->get_options())
            if (cli::is_from_environment(*option) && is_named(option->get_name()))
                out += (out.empty() ? ", from $" : " and $") + option->get_envname();
    return out;
}

} // namespace lamina::cli
