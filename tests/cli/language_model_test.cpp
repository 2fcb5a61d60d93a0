// A decoder-only model, created by init and used like any other.
#include "catch.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

namespace {

std::string language_model(const TemporaryFolder &folder) {
    const auto tokens = folder.write("tokens.txt", "<pad>\n<s>\n</s>\nthe\ncat\nsat\non\na\nmat\n");
    const std::string model = (folder.path() / "model").string();
    const Finished made = run_lamina({"init", model, "--arch", "decoder", "--d-model", "16", "--heads", "2", "--layers",
                                      "2", "--ffn", "32", "--target-vocab", tokens.string(), "--seed", "4"});
    REQUIRE(made.status == 0);
    return model;
}

} // namespace

TEST_CASE("a language model continues prompts from arguments and from stdin alike") {
    const TemporaryFolder folder;
    const std::string model = language_model(folder);
    const Finished arguments =
        run_lamina({"run", model, "the cat sat", "a mat", "--device", "cpu", "--max-length", "5"});
    CHECK(arguments.status == 0);
    const Finished lines =
        run_lamina({"run", model, "--device", "cpu", "--max-length", "5"}, {.input = "the cat sat\na mat\n"});
    CHECK(lines.status == 0);
    CHECK(lines_of(lines.out).size() == 2);
    CHECK(lines.out == arguments.out);
}

TEST_CASE("a language model prints nothing of a prompt that it cannot continue as it is told") {
    const TemporaryFolder folder;
    const std::string model = language_model(folder);
    const auto refused = [&](std::vector<std::string> options) {
        options.insert(options.begin(), {"run", model, "the cat", "--device", "cpu"});
        const Finished f = run_lamina(options);
        CHECK(f.status == 2);
        CHECK(f.out.empty());
        return f.err;
    };
    CHECK_THAT(refused({"--language", "en"}), matchers::contains("error: --language: "));
    CHECK_THAT(refused({"--language", "en"}), matchers::contains("has no such setting; leave it out"));
    CHECK_THAT(refused({"--min-length", "5", "--max-length", "3"}), matchers::contains("error: --min-length: "));
}

TEST_CASE("bench --perplexity prints how well a language model foresees a text, with any precision") {
    const TemporaryFolder folder;
    const std::string model = language_model(folder);
    const auto text = folder.write("text.txt", "the cat sat on the mat a cat sat on a mat").string();
    for (const char *precision : {"full", "half", "int8"}) {
        const Finished f = run_lamina({"bench", model, "--perplexity", text, "--window", "5", "--precision", precision,
                                       "--device", "cpu", "--compare-device", "reference", "--json"});
        REQUIRE(f.status == 0);
        const auto results = nlohmann::json::parse(f.out).at("results");
        REQUIRE(results.size() == 4);
        CHECK(results[0].at("figure") == "perplexity");
        CHECK(results[0].at("median").get<double>() > 1);
        CHECK_THAT(results[0].at("median").get<double>(),
                   matchers::within_abs(results[0].at("beside").get<double>(), 1e-4));
        CHECK(results[2].at("figure") == "tokens that count");
        CHECK(results[2].at("median") == 10); // of 13 tokens, the first of which begins the text, in three windows
    }
}

TEST_CASE("a language model reports the line that it cannot read, after answering the lines before it") {
    const TemporaryFolder folder;
    const std::string model = language_model(folder);
    const Finished f = run_lamina({"run", model, "--device", "cpu"}, {.input = "the cat\nthe dog\n"});
    CHECK(f.status == 3);
    CHECK(lines_of(f.out).size() == 1);
    CHECK_THAT(f.err, matchers::contains("stdin, line 2"));
    CHECK_THAT(f.err, matchers::contains("dog"));
}

TEST_CASE("inspect, compare and --tap work with a language model") {
    const TemporaryFolder folder;
    const std::string model = language_model(folder);
    CHECK(run_lamina({"inspect", model}).status == 0);
    const Finished compared = run_lamina({"compare", model, "the cat", "--device", "cpu"});
    CHECK(compared.status == 0);
    CHECK_THAT(compared.out, matchers::contains("agree with the reference"));
    const std::string svg = (folder.path() / "errors.svg").string();
    CHECK(run_lamina({"compare", model, "the cat", "--device", "cpu", "--svg", svg}).status == 0);
    CHECK_THAT(folder.read("errors.svg"), matchers::contains("</svg>"));
    const std::string files = (folder.path() / "tap-*.npy").string();
    const Finished tapped =
        run_lamina({"run", model, "the cat", "--device", "cpu", "--tap", "*norm_feed_forward=" + files, "--json"});
    CHECK(tapped.status == 0);
    const auto json = nlohmann::json::parse(tapped.out);
    REQUIRE(json.size() == 2); // one per layer
    for (const auto &tensor : json) {
        CHECK(tensor.at("shape").back() == 16);
        CHECK_FALSE(folder.read("tap-" + tensor.at("name").get<std::string>() + ".npy").empty());
    }
    const Finished unknown = run_lamina({"run", model, "the cat", "--device", "cpu", "--tap", "nothing"});
    CHECK(unknown.status == 3);
    CHECK_THAT(unknown.err, matchers::contains("no tensor 'nothing'"));
}

TEST_CASE("a character-level language model continues whole prompts, including empty ones") {
    const TemporaryFolder folder;
    const auto run = [&](const std::string &tokens, const std::vector<std::string> &prompts) {
        const std::string model = (folder.path() / "characters").string();
        std::vector<std::string> arguments{"init",    model,        "--arch",       "decoder", "--d-model",      "8",
                                           "--heads", "2",          "--layers",     "1",       "--target-vocab", "",
                                           "--split", "characters", "--max-length", "3",       "--force"};
        arguments[11] = folder.write("characters.txt", tokens).string();
        REQUIRE(run_lamina(arguments).status == 0);
        arguments = {"run", model, "--device", "cpu"};
        arguments.insert(arguments.end(), prompts.begin(), prompts.end());
        return run_lamina(arguments);
    };
    const Finished whole = run("<s>\n</s>\na\nb\n \n", {"a b", ""});
    CHECK(whole.status == 0);
    const auto lines = lines_of(whole.out);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].starts_with("a b\t"));
    CHECK(lines[1].starts_with("\t"));
    const Finished unknown = run("<s>\n</s>\na\nb\n", {"a b"}); // a prompt is one, whatever is in it
    CHECK(unknown.status == 3);
    CHECK_THAT(unknown.err, matchers::contains("column 2"));
}

TEST_CASE("a character-level model whose vocabulary has a space takes an argument as one text") {
    const TemporaryFolder folder;
    const std::string model = (folder.path() / "m").string();
    const std::string source = folder.write("source.txt", "a\nb\n \n").string();
    const std::string target = folder.write("target.txt", "<s>\n</s>\nx\n").string();
    REQUIRE(run_lamina({"init", model, "--d-model", "8", "--heads", "2", "--layers", "1", "--source-vocab", source,
                        "--target-vocab", target, "--split", "characters"})
                .status == 0);
    const Finished f = run_lamina({"run", model, "a b", "--device", "cpu"});
    CHECK(f.status == 0);
    CHECK(f.out.starts_with("a b\t"));
}
