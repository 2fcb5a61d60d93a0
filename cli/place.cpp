#include "place.hpp"

#include <algorithm>

namespace lamina::cli {

void Place::pass(const std::string &word) {
    const auto &subcommands = commands_.back()->commands;
    if (option_ != nullptr) {
        option_ = nullptr; // this was its value
    } else if (only_positionals_) {
        ++positionals_;
    } else if (word == "--") {
        only_positionals_ = true;
    } else if (word.size() > 1 && word.front() == '-') {
        const ArgumentDescription *named = option_named(word); // not --NAME=VALUE, which is complete
        if (named != nullptr && !named->value.empty()) option_ = named;
    } else if (const auto command = std::find_if(subcommands.begin(), subcommands.end(),
                                                 [&](const auto &each) { return each.last_name() == word; });
               command != subcommands.end()) {
        commands_.push_back(&*command);
    } else {
        ++positionals_;
    }
}

const ArgumentDescription *Place::option_named(const std::string &name) const {
    for (const CommandDescription *command : commands_)
        for (const ArgumentDescription &option : command->options)
            if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) return &option;
    return nullptr;
}

} // namespace lamina::cli
