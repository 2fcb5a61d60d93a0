#include "catch.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

using nlohmann::json;

TEST_CASE("usage: a seed must be a 64-bit number") {
    for (const std::string seed : {"-1", "18446744073709551616", "99999999999999999999999", "1.5", "x"})
        for (const std::vector<std::string> &command :
             {std::vector<std::string>{"init", "no-such-folder/m", "--vocab", "5"}, {"run", g2p(), "a"}, {"check"}}) {
            std::vector<std::string> arguments = command;
            arguments.push_back("--seed=" + seed);
            const Finished f = run_lamina(arguments);
            INFO(seed << ": " << f.err);
            CHECK(f.status == 2);
        }
}

TEST_CASE("usage: the error for a number out of range shows the range") {
    const auto error = [](const std::string &option, const std::string &value) {
        const Finished f = run_lamina({"run", g2p(), "a", option, value});
        CHECK(f.status == 2);
        CHECK(f.out.empty());
        return f.err;
    };
    for (const std::string value : {"2.5", "0", "65", "x", "nan", "3x"})
        CHECK_THAT(error("--beams", value),
                   matchers::contains("--beams: expected a whole number from 1 to 64, found '" + value));
    CHECK_THAT(error("--top-p", "nan"), matchers::contains("--top-p: expected a number from 0 to 1, found 'nan'"));
    CHECK_THAT(error("--length-penalty", "nan"), matchers::contains("expected a number from 0 to 10, found 'nan'"));
    CHECK(run_lamina({"run", g2p(), "a", "--device", "cpu", "--length-penalty", "5e-1", "--beams", "64"}).status == 0);
}

TEST_CASE("usage: an empty word is not a value") {
    for (const std::vector<std::string> &command : {std::vector<std::string>{"compare", g2p(), "a", "--svg", ""},
                                                    {"compare", g2p(), "a", "--replay", ""},
                                                    {"compare", g2p(), "a", "--graph", ""},
                                                    {"run", g2p(), "a", "--output-dir", ""},
                                                    {"run", g2p(), "a", "--graph", ""},
                                                    {"plot", "pe", "-o", ""},
                                                    {"plot", "pe", "--dims", ""},
                                                    {"init", "", "--vocab", "5"},
                                                    {"init", "no-such-folder/m", "--vocab", "5", "--name", ""},
                                                    {"init", "no-such-folder/m", "--source-vocab", ""},
                                                    {"new-plugin", "x", "--out-of-tree", ""}}) {
        const Finished f = run_lamina(command);
        INFO(command.front() << " " << command[command.size() - 2] << ": " << f.err);
        CHECK(f.status == 2);
        CHECK(f.out.empty());
        CHECK_THAT(f.err, matchers::contains("expected a value, found nothing"));
    }
}

TEST_CASE("usage: help that cannot be written to stdout is an error") {
    for (const char *option : {"--help", "--version"}) CHECK(run_lamina({option}, {.out = "/dev/full"}).status == 1);
}

TEST_CASE("lamina without a command prints its usage to stderr and fails with a usage error") {
    const Finished f = run_lamina({});
    CHECK(f.status == 2);
    CHECK(f.out.empty());
    CHECK_THAT(f.err, matchers::contains("Usage: lamina COMMAND"));
}

TEST_CASE("--help and --version go to stdout and succeed") {
    const Finished help = run_lamina({"--help"});
    CHECK(help.status == 0);
    CHECK(help.err.empty());
    for (const char *command : {"run", "compare", "devices", "plugins", "inspect", "plot"})
        CHECK_THAT(help.out, matchers::contains(std::string("\n  ") + command + " "));
    const Finished version = run_lamina({"--version"});
    CHECK(version.status == 0);
    CHECK_THAT(version.out, matchers::contains("lamina "));
}

TEST_CASE("a command's help shows its options with their defaults, and the global options") {
    const Finished f = run_lamina({"run", "--help"});
    CHECK(f.status == 0);
    CHECK_THAT(f.out, matchers::contains("Usage: lamina run [OPTION]... MODEL [TEXT...]"));
    CHECK_THAT(f.out, matchers::contains("--batch N"));
    CHECK_THAT(f.out, matchers::contains("[default: 64]"));
    CHECK_THAT(f.out, matchers::contains("[default: auto]"));
}

TEST_CASE("errors for misspelt commands, options and names suggest the nearest one") {
    const auto answer = [](const std::vector<std::string> &arguments) {
        const Finished f = run_lamina(arguments);
        CHECK(f.status == 2);
        CHECK(f.out.empty());
        return f.err;
    };
    CHECK_THAT(answer({"devcies"}), matchers::contains("unknown command 'devcies'; did you mean 'devices'?"));
    CHECK_THAT(answer({"plot", "ep"}), matchers::contains("did you mean 'pe'?"));
    CHECK_THAT(answer({"run", "model", "--grahp=x"}), matchers::contains("'--grahp'; did you mean '--graph'?"));
    CHECK_THAT(answer({"devices", "--josn"}), matchers::contains("'--josn'; did you mean '--json'?"));
    CHECK_THAT(answer({"run", g2p(), "word", "--variant", "attenton=baseline"}),
               matchers::contains("no layer 'attenton'; did you mean 'attention'?"));
}

TEST_CASE("an option's beginning, or its name in other programs, is answered with its name") {
    const auto error = [](const std::string &option) { return run_lamina({"run", g2p(), "a", option, "2"}).err; };
    CHECK_THAT(error("--temp"), matchers::contains("unknown option '--temp'; did you mean '--temperature'?"));
    for (const char *name : {"--max-tokens", "--max-new-tokens", "--n-predict"})
        CHECK_THAT(error(name), matchers::contains("did you mean '--max-length'?"));
    CHECK_THAT(error("-x"), matchers::contains("a text that begins with '-' goes after '--'"));
}

TEST_CASE("usage: an option without its value, or twice, is refused in plain words") {
    const auto error = [](const std::vector<std::string> &options) {
        std::vector<std::string> arguments{"run", g2p(), "a"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        return run_lamina(arguments).err;
    };
    CHECK_THAT(error({"--max-length"}), matchers::contains("--max-length: expected a value, found none (see"));
    CHECK_THAT(error({"--beams", "2", "--beams", "3"}),
               matchers::contains("--beams: expected once, found more than once (see"));
    CHECK_THAT(run_lamina({"run", "", "a"}).err,
               matchers::contains("expected a file, a folder or a name, found an empty"));
}

TEST_CASE("help COMMAND is COMMAND --help") {
    for (const std::vector<std::string> &command :
         {std::vector<std::string>{}, {"run"}, {"plot"}, {"plot", "pe"}, {"help"}}) {
        std::vector<std::string> asked = command, option = command;
        asked.insert(asked.begin(), "help");
        option.emplace_back("--help");
        CHECK(run_lamina(asked).out == run_lamina(option).out);
        CHECK(run_lamina(asked).status == 0);
    }
    const Finished unknown = run_lamina({"help", "rnu"});
    CHECK(unknown.status == 2);
    CHECK_THAT(unknown.err, matchers::contains("unknown command 'rnu'; did you mean 'run'?"));
    CHECK_THAT(run_lamina({"help", "run", "run"}).err,
               matchers::contains("'run': lamina run has no commands of its own"));
}

TEST_CASE("words are taken as they are, also those that CLI11 has a meaning for") {
    const TemporaryFolder folder;
    std::string characters;
    for (const char c : std::string("[]{}+,- ab")) characters += std::string(1, c) + "\n";
    const std::string model = (folder.path() / "model").string();
    REQUIRE(run_lamina({"init", model, "--arch", "decoder", "--d-model", "8", "--heads", "2", "--layers", "1",
                        "--target-vocab", folder.write("tokens.txt", "<pad>\n<s>\n</s>\n" + characters).string(),
                        "--split", "characters", "--max-length", "1"})
                .status == 0);
    const auto texts = [&](const std::vector<std::string> &words) {
        std::vector<std::string> arguments{"run", model, "--json", "--device", "cpu", "--stop", "--"};
        arguments.insert(arguments.end(), words.begin(), words.end());
        const Finished f = run_lamina(arguments);
        INFO(f.err);
        REQUIRE(f.status == 0);
        std::vector<std::string> out;
        for (const json &answer : json::parse(f.out)) out.push_back(answer.at("text"));
        return out;
    };
    using Words = std::vector<std::string>;
    for (const char *word : {"[a,b]", "[]", "[a] b [a]", "{}", "++", "+a", "- a"}) {
        CHECK(texts({word}) == Words{word});
        CHECK(texts({"a", word, "b"}) == Words{"a", word, "b"});
    }
    CHECK(texts({"a", "--", "--b", "-a", "--", "[b]"}) == Words{"a", "--b", "-a", "--", "[b]"});
    CHECK_THAT(run_lamina({"plugins", "--", "[layer]"}).err, matchers::contains("'[layer]'"));
}

TEST_CASE("errors name the missing argument") {
    CHECK_THAT(run_lamina({"run"}).err, matchers::contains("MODEL is required (see lamina run --help)"));
    CHECK_THAT(run_lamina({"plot"}).err, matchers::contains("COMMAND is required (see lamina plot --help)"));
    CHECK(run_lamina({"plot"}).status == 2);
}

TEST_CASE("global options may come before or after the command") {
    const auto is_json = [](const Finished &f) { return f.status == 0 && json::accept(f.out); };
    CHECK(is_json(run_lamina({"--json", "plugins"})));
    CHECK(is_json(run_lamina({"plugins", "--json"})));
    CHECK_FALSE(is_json(run_lamina({"plugins"})));
}

TEST_CASE("an argument that is also a command's name is still an argument") {
    const Finished f = run_lamina({"run", g2p(), "devices", "run", "--device", "cpu"});
    CHECK(f.status == 0);
    REQUIRE(lines_of(f.out).size() == 2);
    CHECK_THAT(lines_of(f.out)[0], matchers::contains("devices\t"));
}

TEST_CASE("a failing stdout is an error; a closed pipe is not") {
    const Finished full = run_lamina({"plot", "pe"}, {.out = "/dev/full"});
    CHECK(full.status == 1);
    CHECK_THAT(full.err, matchers::contains("cannot write to stdout: No space left on device"));

    Running plot({"plot", "pe", "--csv", "--max-len", "100000"});
    CHECK_THAT(plot.line(), matchers::contains("position,"));
    plot.leave();
    CHECK(plot.finish() == 0);

    CHECK(run_lamina({"--help"}, {.out = "/dev/full"}).status == 1);
    Running help({"--help"});
    help.leave();
    CHECK(help.finish() == 0);
}

TEST_CASE("commands that use no device refuse --device") {
    for (const std::vector<std::string> &command :
         {std::vector<std::string>{"plot", "pe"}, {"convert", g2p(), "/nowhere"}, {"plugins"}, {"devices"}}) {
        std::vector<std::string> arguments = command;
        arguments.insert(arguments.end(), {"--device", "vulkan:7"});
        const Finished f = run_lamina(arguments);
        CHECK(f.status == 2);
        CHECK(f.out.empty());
        CHECK_THAT(f.err, matchers::contains("--device cannot be used with " + command.front()));
    }
}

TEST_CASE("usage: a word that is none of the choices gets them and the nearest one as an answer") {
    const Finished f = run_lamina({"run", g2p(), "a", "--on-error", "skpi"});
    CHECK(f.status == 2);
    CHECK_THAT(f.err, matchers::contains("--on-error: expected one of stop, skip, found 'skpi'; did you mean 'skip'?"));
}

TEST_CASE("complete: commands, options of all kinds, their values, and names of files") {
    const auto complete = [](std::vector<std::string> words) {
        words.insert(words.begin(), {"complete", "--"});
        const Finished f = run_lamina(words);
        CHECK(f.status == 0);
        std::vector<std::string> out;
        for (const std::string &line : lines_of(f.out)) out.push_back(line.substr(0, line.find('\t')));
        return out;
    };
    using Words = std::vector<std::string>;
    CHECK(complete({"de"}) == Words{"devices"});
    CHECK(complete({"comp"}) == Words{"compare"}); // and not the hidden command
    CHECK(complete({"plot", ""}) == Words{"pe"});
    CHECK(complete({"run", "m", "--on-error", ""}) == Words{"stop", "skip"});
    CHECK(complete({"run", "m", "--on-error=s"}) == Words{"--on-error=stop", "--on-error=skip"});
    CHECK(complete({"--json", "check", "--dev"}) == Words{"--device"});
    CHECK(complete({"run", ""}) == Words{":files"});
    CHECK(complete({"run", "m", "--output-dir", ""}) == Words{":folders"});
    CHECK(complete({"run", "m", "--", "--on"}) == Words{":files"}); // no option any more
    CHECK(complete({"check", "soft"}) == Words{"softmax"});
    CHECK(complete({"plugins", "softmax", ""}).empty()); // it takes one
    CHECK(complete({"check", "--device", "int"}) == Words{"interpreter"});
    CHECK(complete({"run", "m", "--variant", "softmax=b"}) == Words{"softmax=baseline"});
}
