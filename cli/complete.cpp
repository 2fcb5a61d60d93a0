// lamina complete: what could stand in place of a word of a command line. The completions of shells, in completions/,
// ask it at every press of Tab, so they know what --help knows, and the devices and layers of this machine.
#include "command.hpp"
#include "place.hpp"

#include <lamina/plugins.hpp>

#include <algorithm>

namespace lamina::cli {
namespace {

struct Candidate {
    std::string word, text; // text: shown beside it, if the shell does that
};

// What a word may be. Names of files are left to the shell, which knows best how to complete and quote them.
struct Candidates {
    std::vector<Candidate> words;
    bool files = false, folders = false;
};

// ---- Values, by what --help calls them ----

void add_devices(const Runtime &runtime, const std::string &command, Candidates &out) {
    out.words.push_back({"auto", "the best GPU, or the CPU"});
    for (const Device &device : runtime.devices())
        if (device.unusable.empty()) out.words.push_back({device.id, device.name});
    out.words.push_back({"reference", "the references of layers"});
    if (command == "check") out.words.push_back({"interpreter", "runs kernels without a driver"});
}

void add_layers(const Runtime &runtime, Candidates &out) {
    for (const auto &[id, layer] : lamina::plugins(runtime).layers) out.words.push_back({id, layer.summary});
}

void add_variants(const Runtime &runtime, Candidates &out) {
    for (const auto &[id, layer] : lamina::plugins(runtime).layers)
        for (const auto *variants : {&layer.variants, &layer.cpu_variants})
            for (const LayerVariant &variant : *variants)
                out.words.push_back({id + "=" + variant.name, variant.summary});
}

void add_values(const ArgumentDescription &argument, const Runtime &runtime, const std::string &command,
                Candidates &out) {
    const std::string &value = argument.value;
    for (const std::string &word : choices(argument)) out.words.push_back({word, ""});
    if (value == "ID") add_devices(runtime, command, out);
    if (value == "LAYER" || value == "TARGET") add_layers(runtime, out);
    if (value == "LAYER=NAME") add_variants(runtime, out);
    out.folders = value == "DIR" || value == "FOLDER";
    out.files = value == "MODEL" || value == "TARGET" || value == "PATH" || value == "TEXT" ||
                value.find("FILE") != std::string::npos;
}

void add_options(const Place &place, Candidates &out) {
    for (const CommandDescription *command : place.commands())
        for (const ArgumentDescription &option : command->options)
            if (command != place.commands().front() || place.commands().size() == 1 ||
                option.names.back() != "--version")
                out.words.push_back({option.names.back(), option.text});
}

// ---- The word ----

Candidates candidates(const CommandDescription &program, std::vector<std::string> words, const Runtime &runtime) {
    const std::string word = words.empty() ? "" : words.back();
    if (!words.empty()) words.pop_back();
    Place place(program);
    for (const std::string &before : words) place.pass(before);
    const CommandDescription &command = *place.commands().back();

    Candidates out;
    if (place.option() != nullptr) {
        add_values(*place.option(), runtime, command.name, out);
    } else if (const size_t equals = word.find('='); word.starts_with("--") && equals != std::string::npos) {
        if (const ArgumentDescription *option = place.option_named(word.substr(0, equals))) {
            add_values(*option, runtime, command.name, out);
            for (Candidate &each : out.words) each.word.insert(0, word.substr(0, equals + 1));
        }
    } else if (word.starts_with('-') && !place.only_positionals()) {
        add_options(place, out);
    } else if (!command.commands.empty()) {
        for (const CommandDescription &each : command.commands) out.words.push_back({each.last_name(), each.text});
    } else if (const auto &all = command.positionals;
               !all.empty() && (place.positionals() < all.size() || all.back().many)) {
        add_values(all[std::min(place.positionals(), all.size() - 1)], runtime, command.name, out);
    }
    std::erase_if(out.words, [&](const Candidate &each) { return !each.word.starts_with(word); });
    return out;
}

} // namespace

Command add_complete(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app =
        lamina.command("complete", "Print what could stand in place of the last WORD of a command line.").hidden();
    app.footer("Prints a line for each word, with a tab and its description; \":files\" or \":folders\" if it may also "
               "be the name of a file or folder.");
    auto words = std::make_shared<std::vector<std::string>>();
    app.positional("WORD", *words, "the words after 'lamina', after '--'");
    return {app, [words, lamina, &global](Output &output) {
                const Candidates found = candidates(lamina.description(), *words, Runtime(global.runtime(output)));
                std::string out;
                for (const auto &[word, text] : found.words)
                    out += word + "\t" + text.substr(0, text.find('\n')) + "\n";
                if (found.files) out += ":files\n";
                if (found.folders) out += ":folders\n";
                output.print(out);
                return 0;
            }};
}

} // namespace lamina::cli
