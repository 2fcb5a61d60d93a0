#include "description.hpp"

#include <sstream>

namespace lamina::cli {

std::vector<ArgumentDescription> settings(const CommandDescription &program) {
    std::vector<ArgumentDescription> out = program.options;
    std::erase_if(out, [](const ArgumentDescription &option) {
        return option.names.back() == "--help" || option.names.back() == "--version";
    });
    return out;
}

std::string usage(const CommandDescription &command) {
    std::string out = command.name == "lamina" ? command.name : "lamina " + command.name;
    if (!command.commands.empty()) out += " COMMAND";
    out += " [OPTION]...";
    for (const ArgumentDescription &argument : command.positionals) {
        const std::string name = argument.value + (argument.many ? "..." : "");
        out += argument.required ? " " + name : " [" + name + "]";
    }
    return out;
}

std::vector<std::string> choices(const ArgumentDescription &argument) {
    std::vector<std::string> out;
    if (argument.value.find('|') == std::string::npos) return out;
    std::istringstream words(argument.value);
    for (std::string word; std::getline(words, word, '|');) out.push_back(word);
    return out;
}

} // namespace lamina::cli
