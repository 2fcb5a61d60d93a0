#include "given.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <cstdlib>

namespace lamina::cli {
namespace {

bool is_in_environment(const CLI::Option &option) {
    return !option.get_envname().empty() && std::getenv(option.get_envname().c_str()) != nullptr;
}

bool names(const std::string &argument, const CLI::Option &option) {
    const auto is = [&](const std::string &name) { return argument == name || argument.starts_with(name + "="); };
    return std::any_of(option.get_lnames().begin(), option.get_lnames().end(),
                       [&](const std::string &name) { return is("--" + name); }) ||
           std::any_of(option.get_snames().begin(), option.get_snames().end(),
                       [&](const std::string &name) { return argument.starts_with("-" + name); });
}

} // namespace

void refuse_given(const CLI::App &command, const std::vector<std::string> &options, const std::string &why) {
    for (const std::string &name : options) {
        const CLI::Option &option = *command.get_option(name);
        if (option.count() != 0 && !is_in_environment(option)) throw Error(ErrorCode::usage, name + " " + why);
    }
}

CLI::Validator not_empty() {
    return {[](std::string &text) -> std::string { return text.empty() ? "expected a value, found nothing" : ""; }, ""};
}

void take_environment(CLI::App &app) {
    for (CLI::Option *option : app.get_options()) {
        if (option->count() != 0 || !is_in_environment(*option)) continue;
        const std::string value = std::getenv(option->get_envname().c_str());
        if (value.empty()) continue; // as good as unset
        option->add_result(value);
        option->run_callback();
    }
    for (CLI::App *command : app.get_subcommands()) take_environment(*command);
}

std::string origin_of(const CLI::App &command, const std::string &fault, const std::vector<std::string> &arguments) {
    for (const CLI::App *app = &command; app != nullptr; app = app->get_parent())
        for (const CLI::Option *option : app->get_options()) {
            if (!fault.starts_with(option->get_name() + ":") || !is_in_environment(*option)) continue;
            if (std::none_of(arguments.begin(), arguments.end(), [&](const auto &a) { return names(a, *option); }))
                return ", from $" + option->get_envname();
        }
    return {};
}

} // namespace lamina::cli
