// Lines on stdin that cannot be answered.
#include "../architectures/with_tokenizer.hpp"
#include "catch.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <fstream>

using nlohmann::json;

namespace {

Finished run_lines(const std::string &input, const std::vector<std::string> &more = {}) {
    std::vector<std::string> arguments{"run", g2p(), "--device", "cpu", "--on-error", "skip"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_lamina(arguments, {.input = input});
}

} // namespace

TEST_CASE("run --on-error skip: bad lines are reported with their numbers, and all others are answered") {
    const std::string too_long((size_t{1} << 20) + 1, 'a');
    const Finished f = run_lines("w0rd\nvulkan\na\n" + too_long + "\nb\nx-y\n\nvulkan\nend!");
    CHECK(f.status == 3);
    const std::vector<std::string> lines = lines_of(f.out);
    REQUIRE(lines.size() == 5);
    CHECK(lines[0] == "vulkan\tV AH1 L K AH0 N");
    CHECK_THAT(lines[1], matchers::contains("a\t"));
    CHECK_THAT(lines[2], matchers::contains("b\t"));
    CHECK(lines[3].empty()); // as an empty line is answered
    CHECK(lines[4] == lines[0]);
    for (const std::string part : {"line 1: 'w0rd'", "line 4: longer than 1 MiB", "line 6: 'x-y'", "line 9: 'end!'"})
        CHECK_THAT(f.err, matchers::contains("error: stdin, " + part));
    CHECK_THAT(f.err, matchers::contains("skipped 4 of 9 lines"));
}

TEST_CASE("run --on-error skip: without a bad line it changes nothing; as JSON, a bad line has the reason") {
    const Finished good = run_lines("vulkan\na\n");
    CHECK(good.status == 0);
    CHECK(good.out == run_lamina({"run", g2p(), "vulkan", "a", "--device", "cpu"}).out);
    const Finished data = run_lines("a\nw0rd\nvulkan\n", {"--json"});
    CHECK(data.status == 3);
    const json all = json::parse(data.out);
    REQUIRE(all.size() == 3);
    CHECK(all[0]["text"] == "a");
    CHECK(all[1]["text"] == "w0rd");
    CHECK_THAT(all[1]["error"].get<std::string>(), matchers::contains("'0'"));
    CHECK(all[2]["output"] == "V AH1 L K AH0 N");
}

TEST_CASE("run --on-error skip: a model that gives vectors leaves out bad lines, too") {
    const WithTokenizer model("sentences");
    std::string too_long = "w3";
    for (size_t i = 0; i < 40; ++i) too_long += " w4";
    const auto run = [&](const std::string &on_error) {
        return run_lamina({"run", model.path().string(), "--device", "cpu", "--json", "--on-error", on_error},
                          {.input = "w5\n" + too_long + "\nw7 w9\n" + too_long + "\n"});
    };
    const Finished f = run("skip");
    CHECK(f.status == 3);
    CHECK_THAT(f.err, matchers::contains("error: stdin, line 2: 43 tokens; expected at most 32") &&
                          matchers::contains("error: stdin, line 4: ") && matchers::contains("skipped 2 of 4 lines"));
    const json all = json::parse(f.out);
    REQUIRE(all.size() == 4);
    CHECK(all[0]["embedding"].size() == 36);
    CHECK_THAT(all[1]["error"].get<std::string>(), matchers::contains("43 tokens"));
    CHECK(all[2]["text"] == "w7 w9");
    CHECK(all[3]["text"] == too_long);
    const Finished stopped = run("stop");
    CHECK(stopped.status == 3);
    CHECK(stopped.out.empty());
    CHECK_THAT(stopped.err, matchers::contains("error: stdin, line 2: 43 tokens; expected at most 32"));
}

namespace {

// g2p, whose embedding of the letter q is NaN.
void copy_with_nan(const std::filesystem::path &to) {
    std::filesystem::copy(g2p(), to, std::filesystem::copy_options::recursive);
    std::fstream file(to / "model.safetensors", std::ios::binary | std::ios::in | std::ios::out);
    uint64_t size = 0;
    file.read(reinterpret_cast<char *>(&size), sizeof size);
    std::string header(size, ' ');
    file.read(header.data(), static_cast<std::streamsize>(size));
    const json table = json::parse(header)["encoder.embedding.table"];
    const uint64_t row = table["shape"][1].get<uint64_t>() * 2; // bytes: it is in f16
    constexpr uint64_t q = 18;
    file.seekp(static_cast<std::streamoff>(sizeof size + size + table["data_offsets"][0].get<uint64_t>() + q * row));
    for (uint64_t i = 0; i < row; ++i) file.put('\x7f');
}

} // namespace

TEST_CASE("run --pairs: texts are read two by two, and a line holds two with a tab between them") {
    const WithTokenizer model("bert_score");
    const std::string path = model.path().string();
    const Finished arguments =
        run_lamina({"run", path, "--device", "cpu", "--pairs", "--json", "w7 w9", "w11", "w7", "w3"});
    REQUIRE(arguments.status == 0);
    const json expected = json::parse(arguments.out);
    REQUIRE(expected.size() == 2);
    CHECK(expected[0]["second"] == "w11");
    CHECK(expected[0]["labels"] != expected[1]["labels"]);
    const Finished lines = run_lamina({"run", path, "--device", "cpu", "--pairs", "--json", "--on-error", "skip"},
                                      {.input = "w7 w9\tw11\nw7 w9\nw7\tw3\n"});
    CHECK(lines.status == 3);
    CHECK_THAT(lines.err, matchers::contains("stdin, line 2: expected two texts with one tab between them"));
    const json found = json::parse(lines.out);
    REQUIRE(found.size() == 3);
    CHECK(found[0] == expected[0]);
    CHECK(found[2] == expected[1]);
    const Finished odd = run_lamina({"run", path, "--device", "cpu", "--pairs", "w7"});
    CHECK_THAT(odd.err, matchers::contains("--pairs: expected an even number of texts, found 1"));
}

TEST_CASE("run --pairs: a model that answers questions shows the likeliest answers") {
    const std::string path = std::string(LAMINA_SOURCE_DIR) + "/tests/architectures/answers/bert";
    const json all =
        json::parse(std::ifstream(std::string(LAMINA_SOURCE_DIR) + "/tests/architectures/answers/expected.json"));
    const std::string question = all["pairs"][0][0], text = all["pairs"][0][1];
    const Finished found =
        run_lamina({"run", path, "--device", "cpu", "--pairs", "--answers", "4", "--json", question, text});
    REQUIRE(found.status == 0);
    const json answers = json::parse(found.out)[0]["answers"];
    REQUIRE(answers.size() == 4);
    for (size_t i = 0; i < 4; ++i) CHECK(answers[i]["text"] == all["answers"]["bert"][1][0][i]["answer"]);
    const Finished shown = run_lamina({"run", path, "--device", "cpu", "--pairs"}, {.input = question + "\t" + text});
    CHECK_THAT(shown.out, matchers::contains(answers[0]["text"].get<std::string>()));
    const Finished alone = run_lamina({"run", path, "--device", "cpu", text});
    CHECK_THAT(alone.err, matchers::contains("this model finds answers: expected --pairs"));
}

TEST_CASE("run: a model of masked words shows the likeliest, and needs a mask") {
    const std::string path = std::string(LAMINA_SOURCE_DIR) + "/tests/architectures/masks/bert";
    const json all =
        json::parse(std::ifstream(std::string(LAMINA_SOURCE_DIR) + "/tests/architectures/masks/expected.json"));
    const json wanted = all["words"]["bert"][1][0];
    const Finished found = run_lamina({"run", path, "--device", "cpu", "--answers", "4", "--json", "[MASK] the cat"});
    REQUIRE(found.status == 0);
    const json mask = json::parse(found.out)[0]["masks"][0];
    CHECK(mask["begin"] == 0);
    CHECK(mask["end"] == 6);
    REQUIRE(mask["words"].size() == wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) CHECK(mask["words"][i]["word"] == wanted[i]["word"]);
    const Finished lines =
        run_lamina({"run", path, "--device", "cpu", "--on-error", "skip"}, {.input = "the cat\n[MASK] the cat\n"});
    CHECK(lines.status != 0);
    CHECK_THAT(lines.out, matchers::contains(wanted[0]["word"].get<std::string>()));
    CHECK_THAT(lines.err, matchers::contains("no word is missing; expected a text with '[MASK]' in the place of one"));
    const Finished none = run_lamina({"run", path, "--device", "cpu", "--answers", "0", "a [MASK]"});
    CHECK_THAT(none.err, matchers::contains("--answers: expected at least 1, found 0"));
    CHECK(json::parse(run_lamina({"inspect", path, "--json"}).out)["reading"]["mask"] == "[MASK]");
    const Finished measured = run_lamina({"bench", path, "--device", "cpu", "--rounds", "1", "--json"});
    CHECK(measured.status == 0);
}

TEST_CASE("run --labels: a model that says what follows shows which labels describe texts") {
    const std::string folder = std::string(LAMINA_SOURCE_DIR) + "/tests/architectures/matches";
    const json all = json::parse(std::ifstream(folder + "/expected.json"));
    const std::string path = folder + "/bert", text = all["texts"][0];
    const auto run = [&](std::vector<std::string> more, const std::string &input = "") {
        std::vector<std::string> arguments{"run", path, "--device", "cpu"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_lamina(arguments, {.input = input});
    };
    const std::string long_line(100, '!');
    const Finished found = run({"--labels", "animals, the weather, boxes", "--json", "--on-error", "skip"},
                               text + "\n" + long_line + "\n" + all["texts"][1].get<std::string>() + "\n");
    CHECK(found.status == 3);
    CHECK_THAT(found.err, matchers::contains("line 2: ") && matchers::contains("expected at most 64"));
    const json answers = json::parse(found.out), &wanted = all["cases"][0]["scores"];
    REQUIRE(answers.size() == 3);
    for (const auto &[answer, text_number] : {std::pair(0, 0), {2, 1}})
        for (const json &label : answers[answer]["labels"])
            CHECK_THAT(
                label["score"].get<double>(),
                matchers::within_abs(wanted[text_number][label["label"].get<std::string>()].get<double>(), 1e-5));
    CHECK_THAT(run({text, "--multi-label"}).err, matchers::contains("is about --labels, and none are given"));
    CHECK_THAT(run({text, text, "--labels", "a", "--pairs"}).err, matchers::contains("cannot be used with --labels"));
    CHECK_THAT(run({text, "--labels", "a", "--sentence", "none"}).err, matchers::contains("expected {}"));
}

TEST_CASE("run: a text whose scores are no numbers has an error of its own, and all others are answered") {
    const TemporaryFolder folder;
    copy_with_nan(folder.path() / "model");
    const auto run = [&](std::vector<std::string> more, const std::string &input) {
        std::vector<std::string> arguments{"run", (folder.path() / "model").string(), "--device", "cpu"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_lamina(arguments, {.input = input});
    };
    const std::string lines = "vulkan\nquick\nhello\n";
    const Finished skipped = run({"--on-error", "skip"}, lines);
    CHECK(skipped.status == 3);
    CHECK(skipped.out == "vulkan\tV AH1 L K AH0 N\nhello\tHH EH1 L OW0\n");
    CHECK_THAT(skipped.err, matchers::contains("error: stdin, line 2: graph 'decode' gave") &&
                                matchers::contains("nan for token 0 at position 0 on cpu") &&
                                matchers::contains("skipped 1 of 3 lines"));
    const Finished stopped = run({}, lines);
    CHECK(stopped.status == 1);
    CHECK(stopped.out == "vulkan\tV AH1 L K AH0 N\n");
    CHECK_THAT(stopped.err, matchers::contains("error: stdin, line 2: graph 'decode' gave"));
    const Finished arguments = run({"vulkan", "quick", "hello", "--json"}, "");
    CHECK(arguments.status == 1);
    CHECK_THAT(arguments.err, matchers::contains("error: text 2: graph 'decode' gave"));
    const json all = json::parse(arguments.out);
    CHECK(all[0]["output"] == "V AH1 L K AH0 N");
    CHECK_THAT(all[1]["error"].get<std::string>(), matchers::contains("nan for token 0"));
    CHECK(all[2]["output"] == "HH EH1 L OW0");
}

TEST_CASE("compare names the first layer that gives NaN, although its reference does, too") {
    const TemporaryFolder folder;
    copy_with_nan(folder.path() / "model");
    const Finished f = run_lamina({"compare", (folder.path() / "model").string(), "quick", "--device", "cpu"});
    CHECK(f.status == 7);
    CHECK_THAT(f.out, matchers::contains("layer 'encoder.embedding' of graph 'encode'") &&
                          matchers::contains("the reference gives NaN, too") && matchers::contains(" NaN\n"));
}

TEST_CASE("run --on-error is refused where it would change nothing") {
    const Finished f = run_lamina({"run", g2p(), "a", "--device", "cpu", "--on-error", "skip"});
    CHECK(f.status == 2);
    CHECK_THAT(f.err, matchers::contains("--on-error is about lines on stdin"));
}

TEST_CASE("run: a byte order mark before the first line is not part of it") {
    const Finished f = run_lamina({"run", g2p(), "--device", "cpu"}, {.input = "\xEF\xBB\xBFvulkan\na\n"});
    CHECK(f.status == 0);
    CHECK(lines_of(f.out).front() == "vulkan\tV AH1 L K AH0 N");
}
