#include "arguments.hpp"

#include "help.hpp"
#include "marked.hpp"

#include "base/joined.hpp"
#include "base/nearest.hpp"

#include <lamina/error.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace lamina::cli {
namespace {

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

const CLI::Validator as_given([](std::string &word) { return word = plain(word), std::string(); }, "");

template <class Value>
CLI::Option *add(CLI::App &app, const std::string &names, Value &value, const std::string &type,
                 const std::string &description) {
    return app.add_option(names, value, description)->type_name(type)->transform(as_given);
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

Arguments Arguments::hidden() const {
    command_->group("");
    return *this;
}

void Arguments::require_command() const { command_->require_subcommand(1); }

void Arguments::footer(const std::string &text) const { command_->footer(text); }

Argument Arguments::positional(const std::string &name, std::string &value, const std::string &description) const {
    return Argument(command_->add_option(name, value, description)->transform(as_given));
}

Argument Arguments::positional(const std::string &name, std::filesystem::path &value,
                               const std::string &description) const {
    return Argument(command_->add_option(name, value, description)->transform(as_given));
}

Argument Arguments::positional(const std::string &name, std::vector<std::string> &values,
                               const std::string &description) const {
    return Argument(command_->add_option(name, values, description)->transform(as_given));
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

Argument Arguments::option(const std::string &names, std::optional<int64_t> &value, const std::string &type,
                           const std::string &description) const {
    return Argument(add(*command_, names, value, type, description));
}

Argument Arguments::option(const std::string &names, std::optional<double> &value, const std::string &type,
                           const std::string &description) const {
    return Argument(add(*command_, names, value, type, description));
}

Argument Arguments::choice(const std::string &names, std::string &value, const std::vector<std::string> &words,
                           const std::string &description) const {
    const auto refusal = [words](const std::string &given) {
        if (std::find(words.begin(), words.end(), given) != words.end()) return std::string();
        return "expected one of " + joined(words) + ", found '" + given + "'" + did_you_mean(given, words);
    };
    return Argument(add(*command_, names, value, joined(words, "|"), description)->check(CLI::Validator(refusal, "")));
}

Argument Arguments::option(const std::string &names, std::vector<std::string> &values, const std::string &type,
                           const std::string &description) const {
    return Argument(add_repeated(*command_, names, values, type, description));
}

Argument Arguments::option(const std::string &names, std::vector<std::filesystem::path> &values,
                           const std::string &type, const std::string &description) const {
    return Argument(add_repeated(*command_, names, values, type, description));
}

CommandDescription Arguments::description() const { return describe(*command_); }

// ---- After parsing ----

std::string Arguments::name() const {
    std::string out = command_->get_name();
    for (const CLI::App *app = command_->get_parent(); app != nullptr && app->get_parent() != nullptr;
         app = app->get_parent())
        out = app->get_name() + " " + out;
    return out;
}

bool Arguments::chosen() const { return command_->parsed(); }

bool Arguments::is_given(const std::string &option) const { return find(*command_, option).count() != 0; }

std::string Arguments::in_words_of_options(const std::string &message) const {
    const size_t end = std::min(message.find(':'), message.size());
    std::string name = "--" + message.substr(0, end);
    std::ranges::replace(name, '_', '-');
    const CLI::Option *option = command_->get_option_no_throw(name);
    return option != nullptr && option->count() != 0 ? name + message.substr(end) : message;
}

void refuse_given(const Arguments &command, const std::vector<std::string> &options, const std::string &why) {
    for (const std::string &name : options)
        if (command.is_given(name)) throw Error(ErrorCode::usage, name + " " + why);
}

} // namespace lamina::cli
