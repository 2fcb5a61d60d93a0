#include "catch.hpp"
#include "process.hpp"

#include <nlohmann/json.hpp>

using nlohmann::json;

TEST_CASE("usage: a seed is a number of 64 bits, and nothing else") {
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

TEST_CASE("usage: a number that an option does not take is shown beside those that it takes") {
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

TEST_CASE("usage: an empty word is no value") {
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

TEST_CASE("usage: help that nobody gets is an error") {
    for (const char *option : {"--help", "--version"}) CHECK(run_lamina({option}, {.out = "/dev/full"}).status == 1);
}

TEST_CASE("lamina without a command explains itself on stderr and fails as wrong usage") {
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

TEST_CASE("a command's help shows each option with its environment twin, and the global options") {
    const Finished f = run_lamina({"run", "--help"});
    CHECK(f.status == 0);
    CHECK_THAT(f.out, matchers::contains("Usage: lamina run [OPTION]... MODEL [TEXT...]"));
    CHECK_THAT(f.out, matchers::contains("[env: LAMINA_RUN_BATCH]"));
    CHECK_THAT(f.out, matchers::contains("[env: LAMINA_DEVICE]"));
}

TEST_CASE("misspelt commands, options and names are answered with what was probably meant") {
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

TEST_CASE("what is missing is named") {
    CHECK_THAT(run_lamina({"run"}).err, matchers::contains("MODEL is required (see lamina run --help)"));
    CHECK_THAT(run_lamina({"plot"}).err, matchers::contains("COMMAND is required (see lamina plot --help)"));
    CHECK(run_lamina({"plot"}).status == 2);
}

TEST_CASE("global options stand before or after the command, or in the environment, the command line first") {
    const auto is_json = [](const Finished &f) { return f.status == 0 && json::accept(f.out); };
    CHECK(is_json(run_lamina({"--json", "plugins"})));
    CHECK(is_json(run_lamina({"plugins", "--json"})));
    CHECK(is_json(run_lamina({"plugins"}, {.environment = {{"LAMINA_JSON", "1"}}})));
    CHECK_FALSE(is_json(run_lamina({"plugins"})));
    CHECK_FALSE(is_json(run_lamina({"plugins"}, {.environment = {{"LAMINA_JSON", "0"}}})));

    const Surroundings absent{.environment = {{"LAMINA_DEVICE", "vulkan:99"}}};
    CHECK(run_lamina({"run", g2p(), "word"}, absent).status == 4);
    CHECK(run_lamina({"run", g2p(), "word", "--device", "cpu"}, absent).status == 0);
}

TEST_CASE("an option of a command is set by its twin") {
    const Finished f = run_lamina({"plot", "pe", "--csv"}, {.environment = {{"LAMINA_PLOT_PE_MAX_LEN", "3"}}});
    CHECK(f.status == 0);
    CHECK(lines_of(f.out).size() == 4); // the head and three positions
}

TEST_CASE("a variable is read by the command that it is for, and by no other one") {
    const Surroundings wrong{.environment = {{"LAMINA_RUN_BEAMS", "x"}, {"LAMINA_CHECK_SEED", "-1"}}};
    CHECK(run_lamina({"plugins"}, wrong).status == 0);
    CHECK(run_lamina({"run", g2p(), "a"}, wrong).status == 2);
    CHECK_THAT(run_lamina({"run", "--help"}, wrong).out, matchers::contains("[env: LAMINA_RUN_BEAMS]"));
}

TEST_CASE("what is wrong in a variable is said to be from there, and an empty one is none") {
    const auto error = [](const std::vector<std::string> &arguments, const std::string &variable,
                          const std::string &value) {
        const Finished f = run_lamina(arguments, {.environment = {{variable, value}}});
        CHECK(f.status == 2);
        CHECK(f.out.empty());
        CHECK_THAT(f.err, matchers::contains("from $" + variable));
    };
    error({"plugins"}, "LAMINA_QUIET", "hello");
    error({"run", g2p(), "a"}, "LAMINA_RUN_BATCH", "0");
    error({"run", g2p(), "a", "--json"}, "LAMINA_RUN_HYPOTHESES", "3");
    error({"run", g2p(), "a", "--temperature", "1"}, "LAMINA_RUN_TOP_P", "0");
    error({"plot", "pe"}, "LAMINA_PLOT_PE_DIMS", "99");
    error({"plot", "pe", "--csv"}, "LAMINA_JSON", "1");
    CHECK(run_lamina({"plugins"}, {.environment = {{"LAMINA_QUIET", ""}}}).status == 0);
    const Finished both =
        run_lamina({"plot", "pe"}, {.environment = {{"LAMINA_PLOT_PE_CSV", "1"}, {"LAMINA_PLOT_PE_HEAT", "1"}}});
    CHECK(both.status == 2);
    CHECK_THAT(both.err, matchers::contains("from $LAMINA_PLOT_PE_HEAT and $LAMINA_PLOT_PE_CSV"));
}

TEST_CASE("a variable that a run has no use for is idle") {
    const auto idle = [](const std::vector<std::string> &arguments, const std::string &variable,
                         const std::string &value) {
        const Finished plain = run_lamina(arguments), f = run_lamina(arguments, {.environment = {{variable, value}}});
        INFO(variable << ": " << f.err);
        CHECK(plain.status == 0);
        CHECK(f.status == 0);
        CHECK(f.out == plain.out);
    };
    const std::vector<std::string> words{"run", g2p(), "a", "--device", "cpu"};
    for (const auto &[name, value] : std::map<std::string, std::string>{{"SEED", "5"},
                                                                        {"TOP_P", "0"},
                                                                        {"HYPOTHESES", "3"},
                                                                        {"GRAPH", "encode"},
                                                                        {"OUTPUT", "memory=/no/such/x.npy"},
                                                                        {"OUTPUT_DIR", "/no/such"},
                                                                        {"INPUT", "x=/no/such.npy"}})
        idle(words, "LAMINA_RUN_" + name, value);
    idle({"run", g2p(), "a", "--device", "cpu", "--beams", "2"}, "LAMINA_RUN_TAP", "*");
    idle({"compare", g2p(), "a", "--device", "cpu"}, "LAMINA_COMPARE_GRAPH", "encode");
    idle({"check", "softmax", "--device", "cpu"}, "LAMINA_CHECK_REPLAY", "/no/such");
    idle({"check", "softmax", "linear", "--device", "cpu", "--own-cases"}, "LAMINA_CHECK_CASE", "C=5");
    idle({"check", "linear", "--device", "cpu", "--seed", "3"}, "LAMINA_CHECK_CASE", "K=5 seed=2");
    idle({"check", "softmax", "--device", "cpu", "--thorough"}, "LAMINA_CHECK_OWN_CASES", "1");
    idle({"plot", "pe", "--heat"}, "LAMINA_PLOT_PE_CSV", "1");
    idle({"plot", "pe", "--json"}, "LAMINA_PLOT_PE_CSV", "1");
}

TEST_CASE("a variable does not let pass what is refused on the command line") {
    CHECK(run_lamina({"run", g2p(), "a", "--seed", "7"}, {.environment = {{"LAMINA_RUN_SEED", "2"}}}).status == 2);
    CHECK(run_lamina({"inspect", g2p(), "--device", "vulkan:9"}, {.environment = {{"LAMINA_DEVICE", "cpu"}}}).status ==
          2);
}

TEST_CASE("a word that is also a command's name is a word") {
    const Finished f = run_lamina({"run", g2p(), "devices", "run", "--device", "cpu"});
    CHECK(f.status == 0);
    REQUIRE(lines_of(f.out).size() == 2);
    CHECK_THAT(lines_of(f.out)[0], matchers::contains("devices\t"));
}

TEST_CASE("stdout that takes nothing is an error; a reader that leaves is not") {
    const Finished full = run_lamina({"plot", "pe"}, {.out = "/dev/full"});
    CHECK(full.status == 1);
    CHECK_THAT(full.err, matchers::contains("cannot write to stdout: No space left on device"));

    Running plot({"plot", "pe", "--csv", "--max-len", "100000"});
    CHECK_THAT(plot.line(), matchers::contains("position,"));
    plot.leave();
    CHECK(plot.finish() == 0);
}

TEST_CASE("a device is refused by commands that run on none, and idle in the environment") {
    for (const std::vector<std::string> &command :
         {std::vector<std::string>{"plot", "pe"}, {"inspect", g2p()}, {"plugins"}, {"devices"}}) {
        std::vector<std::string> arguments = command;
        arguments.insert(arguments.end(), {"--device", "vulkan:7"});
        const Finished f = run_lamina(arguments);
        CHECK(f.status == 2);
        CHECK(f.out.empty());
        CHECK_THAT(f.err, matchers::contains("--device does not go with " + command.front()));
        CHECK(run_lamina(command, {.environment = {{"LAMINA_DEVICE", "vulkan:7"}}}).status == 0);
    }
}
