#include "catch.hpp"
#include "places.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <lamina/npy.hpp>

#include <nlohmann/json.hpp>

#include <csignal>

using nlohmann::json;

namespace {

constexpr auto vulkan_phones = "vulkan\tV AH1 L K AH0 N";

// Letters (2, 3) and their lengths, for the graph "encode" of g2p.
void write_letters(const TemporaryFolder &folder) {
    const std::vector<int32_t> ids{2, 3, 4, 5, 6, 0}, lengths{3, 2};
    lamina::write_npy(folder.path() / "letters.npy", lamina::Tensor::of({2, 3}, std::span(ids)));
    lamina::write_npy(folder.path() / "lengths.npy", lamina::Tensor::of({2}, std::span(lengths)));
}

std::vector<std::string> encode(const TemporaryFolder &folder, const std::vector<std::string> &more = {}) {
    std::vector<std::string> out{"run", g2p(), "--device", "cpu", "--graph", "encode"};
    for (const char *name : {"letters", "lengths"}) {
        out.emplace_back("--input");
        out.push_back(std::string(name) + "=" + (folder.path() / name).string() + ".npy");
    }
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

} // namespace

TEST_CASE("run: words are answered one per line, in order") {
    const Finished f = run_lamina({"run", g2p(), "vulkan", "transformer", "word", "--device", "cpu"});
    REQUIRE(f.status == 0);
    const auto lines = lines_of(f.out);
    REQUIRE(lines.size() == 3);
    CHECK(lines[0] == vulkan_phones);
    CHECK_THAT(lines[1], matchers::contains("transformer\tT R AE0 N S F AO1 R M ER0"));
    CHECK_THAT(lines[2], matchers::contains("word\t"));
}

TEST_CASE("run: an argument is a text, as a line on stdin is, also with a blank in it") {
    const Finished argument = run_lamina({"run", g2p(), "vulkan", "two words", "--device", "cpu"});
    const Finished line = run_lamina({"run", g2p(), "--device", "cpu"}, {.input = "two words\n"});
    for (const Finished &f : {argument, line}) {
        CHECK(f.status == 3);
        CHECK_THAT(f.err, matchers::contains("column 4: ' ' is not one of the 28 tokens"));
    }
    CHECK(run_lamina({"run", g2p(), "", "--device", "cpu"}).out == "\n");
}

TEST_CASE("run: control characters of a text stay in its cell of a table, and are left as they are in JSON") {
    const std::string encoder = LAMINA_SOURCE_DIR "/tests/architectures/sentences/older", text = "a\nfox\x1b[31m\u00e4";
    const Finished table = run_lamina({"run", encoder, text, "--device", "cpu"});
    CHECK_THAT(table.out, matchers::contains("a\\x0afox\\x1b[31m\u00e4"));
    CHECK(table.out.find('\x1b') == std::string::npos);
    const Finished whole = run_lamina({"run", encoder, text, "--device", "cpu", "--json"});
    CHECK(json::parse(whole.out).at(0).at("text") == text);
    const std::string fox = "fox fox fox fox fox fox fox fox fox fox fox fox fox fox fox fox fox";
    const Finished cut = run_lamina({"run", encoder, fox, "--truncate", "--device", "cpu"});
    CHECK_THAT(cut.out, matchers::contains("\n1  " + fox.substr(0, 57) + "...  "));
}

TEST_CASE("run: the device and the reason for it are reported once on stderr, but not with --quiet") {
    const Finished f = run_lamina({"run", g2p(), "a", "b"});
    CHECK(lines_of(f.err).size() == 1);
    CHECK_THAT(f.err, matchers::contains("lamina: on "));
    CHECK(f.err.find('\r') == std::string::npos); // no progress bar without a terminal
    CHECK(run_lamina({"run", g2p(), "a", "--quiet"}).err.empty());
}

TEST_CASE("run: lines of stdin are answered in order; an empty line stays empty") {
    const Finished f =
        run_lamina({"run", g2p(), "--device", "cpu", "--batch", "2"}, {.input = "vulkan\n\nVulkan\r\na\nvulkan"});
    REQUIRE(f.status == 0);
    const auto lines = lines_of(f.out);
    REQUIRE(lines.size() == 5);
    CHECK(lines[0] == vulkan_phones);
    CHECK(lines[1].empty());
    CHECK(lines[2] == "Vulkan\tV AH1 L K AH0 N");
    CHECK_THAT(lines[3], matchers::contains("a\t"));
    CHECK(lines[4] == vulkan_phones);
}

TEST_CASE("run: an empty argument is an empty text, as an empty line is") {
    const std::vector<std::string> options{"--device", "cpu", "--temperature", "2", "--seed", "3"};
    std::vector<std::string> words{"run", g2p(), "", "vulkan", "", "a"}, none{"run", g2p()};
    for (std::vector<std::string> *arguments : {&words, &none})
        arguments->insert(arguments->end(), options.begin(), options.end());
    const Finished arguments = run_lamina(words), lines = run_lamina(none, {.input = "\nvulkan\n\na\n"});
    CHECK(arguments.status == 0);
    CHECK(lines_of(arguments.out).size() == 4);
    CHECK(arguments.out == lines.out); // samples depend on the index of a text
}

TEST_CASE("run: empty stdin gives empty stdout") {
    const Finished f = run_lamina({"run", g2p(), "--device", "cpu"});
    CHECK(f.status == 0);
    CHECK(f.out.empty());
    CHECK(run_lamina({"run", g2p(), "--device", "cpu", "--json"}).out == "[]\n");
}

TEST_CASE("run: an unreadable line ends the run with its number, after answering the lines before it") {
    const Finished f = run_lamina({"run", g2p(), "--device", "cpu"}, {.input = "vulkan\na\nw0rd\nb\n"});
    CHECK(f.status == 3);
    CHECK(lines_of(f.out).size() == 2);
    CHECK_THAT(f.err, matchers::contains("stdin, line 3: "));
    CHECK_THAT(f.err, matchers::contains("'0'"));
}

TEST_CASE("run: a line that is too long ends the run with its number, after answering the lines before it") {
    const std::string longest(size_t{1} << 20, 'a');
    const Finished f =
        run_lamina({"run", g2p(), "--device", "cpu"}, {.input = "vulkan\na\n" + longest + "b\nvulkan\n"});
    CHECK(f.status == 3);
    CHECK(lines_of(f.out).size() == 2);
    CHECK_THAT(f.err, matchers::contains("stdin, line 3: longer than 1 MiB"));
}

TEST_CASE("run: a line is answered before the next one arrives") {
    Running run({"run", g2p(), "--device", "cpu", "--quiet"});
    run.write("vulkan\n");
    CHECK(run.line() == vulkan_phones);
    run.write("a\n");
    CHECK_THAT(run.line(), matchers::contains("a\t"));
    CHECK(run.finish() == 0);
}

TEST_CASE("run: a termination signal ends it with status 128 plus the signal") {
    for (const int signal : {SIGINT, SIGTERM}) {
        Running run({"run", g2p(), "--device", "cpu", "--quiet"});
        run.write("vulkan\n");
        CHECK(run.line() == vulkan_phones); // now it waits for more
        CHECK(run.finish(signal) == 128 + signal);
    }
}

TEST_CASE("run --json prints an object for each text, with its hypotheses, the best first") {
    const Finished f = run_lamina({"run", g2p(), "vulkan", "a", "--device", "cpu", "--json", "--beams", "3"});
    REQUIRE(f.status == 0);
    const json answers = json::parse(f.out);
    REQUIRE(answers.size() == 2);
    CHECK(answers[0]["text"] == "vulkan");
    CHECK(answers[0]["output"] == "V AH1 L K AH0 N");
    REQUIRE(answers[0]["hypotheses"].size() == 3);
    CHECK(answers[0]["hypotheses"][0]["output"] == answers[0]["output"]);
    CHECK(answers[0]["hypotheses"][0]["score"] > answers[0]["hypotheses"][1]["score"]);
}

TEST_CASE("run: keys and values may be cached in f16") {
    const auto with = [](const char *dtype) {
        return run_lamina({"run", g2p(), "vulkan", "transformer", "--device", "cpu", "--cache", dtype});
    };
    CHECK(with("f16").out == with("f32").out);
    const Finished narrow = with("q8_0"); // heads of 32 channels, but five of them
    CHECK(narrow.status == 3);
    CHECK_THAT(narrow.err,
               matchers::contains("expected heads of a multiple of 32, and rows of a multiple of 64: use an "
                                  "f16 cache"));
    const Finished unknown = with("f8");
    CHECK(unknown.status == 2);
    CHECK_THAT(unknown.err, matchers::contains("--cache"));
}

TEST_CASE("run: sampling is determined by the seed") {
    const auto sampled = [](const char *seed) {
        return run_lamina(
                   {"run", g2p(), "vulkan", "transformer", "--device", "cpu", "--temperature", "2", "--seed", seed})
            .out;
    };
    CHECK(sampled("1") == sampled("1"));
    CHECK(sampled("1") != sampled("2"));
}

TEST_CASE("run: an option that would change nothing is refused, by name") {
    const auto refusal = [](std::vector<std::string> options) {
        options.insert(options.begin(), {"run", g2p(), "vulkan", "--device", "cpu"});
        const Finished f = run_lamina(options);
        CHECK(f.status == 2);
        CHECK(f.out.empty());
        return f.err;
    };
    for (const std::string option : {"--top-k", "--seed"})
        CHECK_THAT(refusal({option, "5"}), matchers::contains(option + " needs --temperature"));
    CHECK_THAT(refusal({"--tap", "*", "--beams", "2"}), matchers::contains("--beams is about generating text"));
    CHECK_THAT(refusal({"--beams", "2", "--hypotheses", "2"}), matchers::contains("--hypotheses needs --json"));
    CHECK_THAT(refusal({"--json", "--hypotheses", "2"}), matchers::contains("at most as many as --beams, 1"));
    CHECK_THAT(refusal({"--temperature", "1", "--top-p", "0"}), matchers::contains("--top-p: expected"));
    CHECK_THAT(refusal({"--dry-base", "2"}), matchers::contains("--dry-base needs --dry-multiplier"));
    CHECK_THAT(refusal({"--dry-allowed-length", "3"}), matchers::contains("--dry-allowed-length needs --dry-m"));
    CHECK_THAT(refusal({"--temperature", "1", "--xtc-threshold", "0.2"}),
               matchers::contains("needs --xtc-probability"));
    CHECK_THAT(refusal({"--temperature", "1", "--mirostat-tau", "2"}), matchers::contains("needs --mirostat 2"));
    CHECK_THAT(refusal({"--length-penalty", "2"}), matchers::contains("--length-penalty ranks several hypotheses"));
    CHECK_THAT(refusal({"--guess-ahead", "4"}), matchers::contains("--guess-ahead needs a model that continues texts"));
}

TEST_CASE("run: errors call settings as options do, once they are given as options") {
    const auto error = [](std::vector<std::string> options) {
        options.insert(options.begin(), {"run", g2p(), "vulkan", "--device", "cpu"});
        return run_lamina(options).err;
    };
    CHECK_THAT(error({"--min-length", "5", "--max-length", "3"}), matchers::contains("error: --min-length: expected"));
    CHECK_THAT(error({"--language", "en"}), matchers::contains("error: --language: "));
}

TEST_CASE("run: --variant selects how a layer is computed, and unknown variants are refused") {
    const auto with = [](const char *variant) {
        return run_lamina({"run", g2p(), "vulkan", "--device", "cpu", "--variant", variant});
    };
    const Finished reference = with("attention=reference"), unknown = with("attention=baseline");
    CHECK(reference.status == 0);
    CHECK(reference.out == std::string(vulkan_phones) + "\n");
    CHECK(unknown.status == 2);
    CHECK_THAT(unknown.err,
               matchers::contains("attention has no variant 'baseline' on cpu; it has reference, cpu_fall"));
}

TEST_CASE("run: a requested device that is missing is an error and not replaced by another") {
    const Finished f = run_lamina({"run", g2p(), "vulkan", "--device", "vulkan:99"});
    CHECK(f.status == 4);
    CHECK(f.out.empty());
    CHECK_THAT(f.err, matchers::contains("no device 'vulkan:99'"));
}

TEST_CASE("run --input: prints a summary of the graph's outputs") {
    const TemporaryFolder folder;
    write_letters(folder);
    const Finished text = run_lamina(encode(folder)), data = run_lamina(encode(folder, {"--json"}));
    REQUIRE(text.status == 0);
    CHECK_THAT(text.out, matchers::contains("memory                            f32    (2, 3, 160)"));
    const json output = json::parse(data.out).back();
    CHECK(output["name"] == "memory");
    CHECK(output["shape"] == json({2, 3, 160}));
    CHECK(output["not_finite"] == 0);
    CHECK(output["min"].get<double>() < output["mean"].get<double>());
    CHECK(output["mean"].get<double>() < output["max"].get<double>());
}

TEST_CASE("run --output: outputs and tensors inside the graph become files") {
    const TemporaryFolder folder;
    write_letters(folder);
    const auto into = [&](const char *name) { return (folder.path() / name).string(); };
    const Finished f = run_lamina(
        encode(folder, {"-o", "encoder.0.attention.out=" + into("tap.npy"), "--output-dir", into("new/deep")}));
    REQUIRE(f.status == 0);
    const lamina::Tensor tap = lamina::read_npy(into("tap.npy"));
    const lamina::Tensor memory = lamina::read_npy(into("new/deep/memory.npy"));
    CHECK(tap.shape() == lamina::Shape{2, 3, 160});
    CHECK(memory.shape() == lamina::Shape{2, 3, 160});
    CHECK(std::vector<float>(tap.f32().begin(), tap.f32().end()) !=
          std::vector<float>(memory.f32().begin(), memory.f32().end()));
}

TEST_CASE("run --tap: tensors that several taps name, and an output by its name") {
    const TemporaryFolder folder;
    write_letters(folder);
    const auto into = [&](const char *name) { return (folder.path() / name).string(); };
    const auto tapped = [&](const std::vector<std::string> &taps) {
        std::vector<std::string> options{"--json"};
        options.insert(options.end(), taps.begin(), taps.end());
        const Finished f = run_lamina(encode(folder, options));
        INFO(f.err);
        REQUIRE(f.status == 0);
        return json::parse(f.out).size();
    };
    const std::string attention = "encoder.0.attention.out";
    CHECK(tapped({"--tap", attention, "--tap", attention}) == 10); // the tap and the nine outputs
    CHECK(tapped({"--tap", "encoder.*", "--tap", attention + "=" + into("a.npy")}) > 2);
    CHECK(tapped({"--tap", attention, "-o", attention + "=" + into("b.npy")}) == 10);
    CHECK(tapped({"--tap", "memory=" + into("memory.npy")}) == 9);
    for (const char *file : {"a.npy", "b.npy", "memory.npy"}) CHECK(std::filesystem::exists(folder.path() / file));
    CHECK(folder.read("a.npy") == folder.read("b.npy"));
}

TEST_CASE("run --tap: two tensors for one file are refused before anything runs") {
    const TemporaryFolder folder, out;
    write_letters(folder);
    const std::string file = (out.path() / "x.npy").string(), other = (out.path() / "." / "x.npy").string();
    const auto refused = [&](const std::vector<std::string> &arguments) {
        const Finished f = run_lamina(arguments);
        CHECK(f.status == 2);
        CHECK_THAT(f.err, matchers::contains("would both be written to"));
        CHECK(std::filesystem::is_empty(out.path()));
    };
    const std::string one = "encoder.0.attention.out=" + file, two = "encoder.1.attention.out=" + other;
    refused(encode(folder, {"--tap", one, "--tap", two}));
    refused(encode(folder, {"--tap", one, "-o", "memory=" + other}));
    refused(encode(folder, {"-o", one, "-o", "memory=" + other}));
    refused(encode(folder, {"--tap", "encoder.0.attention.out=" + (out.path() / "memory.npy").string(), "--output-dir",
                            out.path()}));
    refused({"run", g2p(), "word", "--device", "cpu", "--tap", one, "--tap", two});
}

TEST_CASE("run --tap: two spellings of a file that is not there yet are one file") {
    const TemporaryFolder folder, out;
    write_letters(folder);
    const auto refused = [&](const std::vector<std::string> &arguments) {
        const Finished f = run_lamina(encode(folder, arguments), {.folder = out.path()});
        CHECK(f.status == 2);
        CHECK_THAT(f.err, matchers::contains("would both be written to"));
        CHECK(std::filesystem::is_empty(out.path()));
    };
    const std::string tap = "encoder.0.attention.out=";
    refused({"--tap", tap + "x.npy", "-o", "memory=./x.npy"});
    refused({"--tap", tap + "new/../x.npy", "-o", "memory=" + (out.path() / "x.npy").string()});
    refused({"-o", tap + "memory.npy", "--output-dir", "."});
}

TEST_CASE("run --tap: files may go into the folder that --output-dir makes") {
    const TemporaryFolder folder;
    write_letters(folder);
    const std::filesystem::path made = folder.path() / "made";
    REQUIRE(run_lamina(encode(folder, {"--output-dir", made, "--tap", "*.attention.out=" + (made / "*.npy").string()}))
                .status == 0);
    CHECK(std::filesystem::exists(made / "encoder.0.attention.out.npy"));
    CHECK(std::filesystem::exists(made / "memory.npy"));
}

TEST_CASE("run --tap: an empty text is reported as such") {
    const Finished f = run_lamina({"run", g2p(), "", "--device", "cpu", "--tap", "*"});
    CHECK(f.status == 2);
    CHECK_THAT(f.err, matchers::contains("there is no text to run the model on"));
}

TEST_CASE("run --input: invalid inputs are refused, and nothing is written") {
    const TemporaryFolder folder, out;
    write_letters(folder);
    const auto refused = [&](const std::vector<std::string> &arguments, int status, const std::string &why) {
        const Finished f = run_lamina(arguments);
        CHECK(f.status == status);
        CHECK(f.out.empty());
        CHECK_THAT(f.err, matchers::contains(why));
        CHECK(std::filesystem::is_empty(out.path()));
    };
    const std::string letters = "letters=" + (folder.path() / "letters.npy").string();
    refused({"run", g2p(), "--input", letters}, 2, "several graphs: choose one with --graph: decode, encode");
    refused({"run", g2p(), "--input", letters, "--graph", "encod"}, 2, "did you mean 'encode'?");
    refused({"run", g2p(), "--input", "letters", "--graph", "encode"}, 2, "expected NAME=VALUE");
    refused({"run", g2p(), "--input", letters, "--input", letters, "--graph", "encode"}, 2, "'letters' is given twice");
    refused({"run", g2p(), "word", "--input", letters}, 2, "cannot be used together");
    refused({"run", g2p(), "--input", letters, "--graph", "encode", "--output-dir", out.path()}, 3, "lengths");
    refused({"run", g2p(), "--input", "letters=/no/such.npy", "--graph", "encode"}, 3, "/no/such.npy");
    refused(encode(folder, {"-o", "encoder.0.atention.out=" + (out.path() / "x.npy").string()}), 3,
            "encoder.0.attention.out");
    refused(encode(folder, {"-o", "encoder.*=" + (out.path() / "x.npy").string()}), 2, "a pattern, which --tap takes");
    refused({"run", g2p(), "word", "--output-dir", out.path()}, 2, "need --input");
}

TEST_CASE("run --output-dir: a folder that cannot be made is an error") {
    const TemporaryFolder folder;
    write_letters(folder);
    const Finished f = run_lamina(encode(folder, {"--output-dir", folder.write("file", "") / "under"}));
    CHECK(f.status == 1);
    CHECK_THAT(f.err, matchers::contains("--output-dir: "));
}

TEST_CASE("run --input: ids outside the table are refused before anything runs") {
    const TemporaryFolder folder;
    write_letters(folder);
    const std::vector<int32_t> ids{2, 3, 4, 5, 28, 0};
    lamina::write_npy(folder.path() / "letters.npy", lamina::Tensor::of({2, 3}, std::span(ids)));
    const Finished f = run_lamina(encode(folder));
    CHECK(f.status == 3);
    CHECK_THAT(f.err, matchers::contains("28"));
}
