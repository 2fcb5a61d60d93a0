// lamina embed and lamina search: the lines of a file as vectors, and those that are near a query.
#include "catch.hpp"
#include "places.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <lamina/npy.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/stat.h>
#include <thread>

namespace fs = std::filesystem;
using lamina::Shape;
using lamina::Tensor;
using matchers::contains;
using nlohmann::json;

namespace {

const std::string sentences = LAMINA_SOURCE_DIR "/tests/architectures/sentences/";
const std::string encoder = sentences + "older"; // its default prompt is that of queries

std::vector<std::string> texts_of(size_t count) {
    const std::vector<std::string> some{"a fox", "the dog ran to the tree", "lazy dogs", "the cat sat on the mat",
                                        "five dozen liquor jugs"};
    std::vector<std::string> out;
    for (size_t i = 0; i < count; ++i)
        out.push_back(some[i % 5] + (i % 7 < 3 ? " fox" : "") + (i % 11 < 5 ? " dog" : ""));
    return out;
}

std::string lines_with(const std::vector<std::string> &texts) {
    std::string out;
    for (const std::string &each : texts) out += each + "\n";
    return out;
}

std::vector<std::string> on_cpu(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--device", "cpu"});
    return arguments;
}

// The vectors that `lamina run` finds.
std::vector<std::vector<float>> vectors_of(const std::vector<std::string> &texts, const std::string &prompt) {
    std::vector<std::string> arguments{"run", encoder, "--json", "--prompt", prompt};
    arguments.insert(arguments.end(), texts.begin(), texts.end());
    std::vector<std::vector<float>> out;
    for (const json &each : json::parse(run_lamina(on_cpu(arguments)).out))
        out.push_back(each.at("embedding").get<std::vector<float>>());
    return out;
}

void check_vectors(const fs::path &file, const std::vector<std::vector<float>> &expected) {
    const Tensor found = lamina::read_npy(file);
    const auto width = static_cast<int64_t>(expected.front().size());
    REQUIRE(found.shape() == Shape{static_cast<int64_t>(expected.size()), width});
    for (size_t i = 0; i < found.f32().size(); ++i)
        CHECK_THAT(found.f32()[i],
                   matchers::within_abs(expected[i / expected.front().size()][i % expected.front().size()], 1e-5));
}

// Whether it comes true within a while.
bool comes_true(const std::function<bool()> &something) {
    for (int i = 0; i < 600; ++i) {
        if (something()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
}

} // namespace

TEST_CASE("embed: a sparse vector is shown as its heaviest words, and compared by products") {
    const std::string model = sentences + "sparse";
    const std::vector<std::string> texts{"the quick brown fox", "a dog"};
    const std::vector<std::string> arguments{"run", model, texts[0], texts[1]};
    auto with_json = on_cpu(arguments);
    with_json.emplace_back("--json");
    const json found = json::parse(run_lamina(with_json).out);
    REQUIRE(found.size() == 2);
    double before = 1e9, square = 0;
    for (const json &each : found[1].at("words")) {
        const double weight = each.at("weight");
        CHECK(weight > 0);
        CHECK(weight <= before);
        before = weight, square += weight * weight;
    }
    const json &heaviest = found[1].at("words")[0];
    const std::string text = run_lamina(on_cpu(arguments)).out;
    CHECK_THAT(text, contains(heaviest.at("word").get<std::string>() + " "));
    CHECK_THAT(text, contains("... (" + std::to_string(found[1].at("words").size()) + ")"));
    CHECK_THAT(text, contains("PRODUCT"));
    std::array<char, 32> product{};
    std::snprintf(product.data(), product.size(), "%.3f", square);
    CHECK_THAT(text, contains(product.data()));
    const TemporaryFolder folder;
    (void)folder.write("texts", "a fox\na dog\n");
    const std::string vectors = folder.path() / "v.npy", lines = folder.path() / "texts";
    CHECK(run_lamina(on_cpu({"embed", model, lines, "-o", vectors, "--prompt", ""})).status == 0);
    const json near =
        json::parse(run_lamina(on_cpu({"search", model, vectors, lines, "a dog", "--prompt", "", "--json"})).out);
    CHECK(near.size() == 2);
    for (const json &each : near)
        if (each.at("line") == 2) CHECK_THAT(each.at("score").get<double>(), matchers::within_abs(square, 1e-4));
}

TEST_CASE("embed: a text that is too long is read in windows, if that is wanted, and others as they are") {
    const TemporaryFolder folder;
    const std::vector<std::string> texts{"a fox", "lazy dogs"};
    std::string longer;
    for (int i = 0; i < 30; ++i) longer += "the cat sat on the mat ";
    const std::string file = folder.write("texts", lines_with(texts)),
                      both = folder.write("both", longer + "\na fox\n");
    const std::string output = folder.path() / "v.npy";
    const auto embed = [&](const std::string &of, const std::vector<std::string> &how) {
        std::vector<std::string> arguments{"embed", encoder, of, "-o", output, "--force", "--prompt", ""};
        arguments.insert(arguments.end(), how.begin(), how.end());
        return run_lamina(on_cpu(arguments));
    };
    CHECK(embed(file, {"--windows"}).status == 0);
    check_vectors(output, vectors_of(texts, ""));
    CHECK_THAT(embed(both, {}).err, contains("line 1: "));
    REQUIRE(embed(both, {"--truncate"}).status == 0);
    const Tensor cut = lamina::read_npy(output);
    REQUIRE(embed(both, {"--windows"}).status == 0);
    const Tensor whole = lamina::read_npy(output);
    const auto width = static_cast<std::ptrdiff_t>(whole.shape()[1]);
    CHECK(!std::equal(cut.f32().begin(), cut.f32().begin() + width, whole.f32().begin()));
    CHECK(std::equal(cut.f32().begin() + width, cut.f32().end(), whole.f32().begin() + width,
                     [](float a, float b) { return std::abs(a - b) < 1e-5; }));
    CHECK_THAT(embed(both, {"--windows", "--truncate"}).err, contains("--windows cannot be used with --truncate"));
}

TEST_CASE("embed: row N is the vector of line N, with the prompt of documents, whatever form the lines have") {
    const TemporaryFolder folder;
    const std::vector<std::string> texts = texts_of(70);
    std::string objects, words;
    for (const std::string &each : texts) {
        objects += json{{"id", 1}, {"text", each}, {"body", "not this"}}.dump() + "\n";
        words += json{{"title", each}}.dump() + "\n";
    }
    const auto expected = vectors_of(texts, "document");
    const std::string output = folder.path() / "v.npy";
    const std::vector<std::pair<std::vector<std::string>, std::string>> forms{
        {{folder.write("a.jsonl", objects)}, ""},
        {{folder.write("a.txt", lines_with(texts))}, ""},
        {{folder.write("b.txt", words), "--field", "title"}, ""},
        {{"-"}, lines_with(texts)}};
    for (const auto &[form, input] : forms) {
        std::vector<std::string> arguments{"embed", encoder, "--batch", "2", "--force", "-o", output};
        arguments.insert(arguments.end(), form.begin(), form.end());
        const Finished f = run_lamina(on_cpu(arguments), {.input = input});
        INFO(f.err);
        REQUIRE(f.status == 0);
        CHECK(f.out == output + ": 70 x " + std::to_string(expected.front().size()) + "\n");
        check_vectors(output, expected);
    }
    CHECK(folder.entries() == 4); // three inputs and the output: nothing is left behind

    const std::vector<std::string> few{"a fox", "lazy dogs"};
    const std::string queries = folder.write("queries.txt", lines_with(few));
    const Finished f =
        run_lamina(on_cpu({"embed", encoder, queries, "-o", output, "--force", "--prompt", "query", "--json"}));
    CHECK(json::parse(f.out) ==
          json{{"file", output}, {"vectors", 2}, {"width", expected.front().size()}, {"resumed", 0}});
    check_vectors(output, vectors_of(few, "query"));
}

TEST_CASE("embed: a run that was interrupted is gone on with, and gives what it would have given") {
    const TemporaryFolder folder;
    const std::vector<std::string> texts = texts_of(100);
    const fs::path output = folder.path() / "v.npy";
    const auto embed = [&](const std::string &file) {
        return std::vector<std::string>{"embed", encoder, file, "--batch", "1", "-o", output, "--json"};
    };
    Running first(on_cpu(embed("-")));
    first.write(lines_with({texts.begin(), texts.begin() + 40}));
    CHECK(comes_true([&] {
        std::ifstream state(output.string() + ".part.json");
        const json found = json::parse(state, nullptr, false);
        return found.is_object() && found.at("rows") == 32;
    }));
    CHECK(first.finish(SIGINT) == 128 + SIGINT);
    CHECK_FALSE(fs::exists(output));

    std::vector<std::string> others = texts;
    others[31] = "another text";
    const Finished of_others = run_lamina(on_cpu(embed(folder.write("others.txt", lines_with(others)))));
    CHECK(of_others.status == 2);
    CHECK_THAT(of_others.err, contains("v.npy.part") && contains("the first 32 lines of") && contains("remove it"));
    std::vector<std::string> with_prompt = embed(folder.write("texts.txt", lines_with(texts)));
    with_prompt.insert(with_prompt.end(), {"--prompt", "query"});
    CHECK_THAT(run_lamina(on_cpu(with_prompt)).err, contains("prompt: expected 'query', found 'document'"));
    const Finished shorter = run_lamina(on_cpu(embed("-")), {.input = lines_with({texts.begin(), texts.begin() + 5})});
    CHECK_THAT(shorter.err, contains("has only 5 lines"));

    const Finished rest = run_lamina(on_cpu(embed(folder.path() / "texts.txt")));
    REQUIRE(rest.status == 0);
    CHECK(json::parse(rest.out).at("resumed") == 32);
    CHECK_THAT(rest.err, contains("going on after line 32"));
    check_vectors(output, vectors_of(texts, "document"));
    CHECK(folder.entries() == 3);
}

TEST_CASE("embed: what earlier runs have left of other texts, and a whole output, are replaced only with --force") {
    const TemporaryFolder folder;
    const std::string output = folder.path() / "v.npy";
    const std::string bad =
        folder.write("bad.txt", lines_with(texts_of(40)) + std::string(5000, 'x') + " " + std::string(500, '.') + "\n");
    const std::vector<std::string> embed{"embed", encoder, bad, "--batch", "1", "-o", output};
    const Finished f = run_lamina(on_cpu(embed));
    CHECK(f.status == 3);
    CHECK_THAT(f.err, contains("bad.txt, line 41: ") && contains("tokens; expected at most"));
    CHECK(fs::exists(output + ".part"));
    const std::string good = folder.write("good.txt", lines_with(texts_of(5)));
    CHECK(run_lamina(on_cpu({"embed", encoder, good, "-o", output})).status == 2);
    REQUIRE(run_lamina(on_cpu({"embed", encoder, good, "-o", output, "--force"})).status == 0);
    check_vectors(output, vectors_of(texts_of(5), "document"));
    CHECK(folder.entries() == 3);

    const std::string before = folder.read("v.npy");
    const Finished again = run_lamina(on_cpu({"embed", encoder, good, "-o", output}));
    CHECK(again.status == 2);
    CHECK_THAT(again.err, contains("v.npy is there already; --force replaces it"));
    CHECK(folder.read("v.npy") == before);
    CHECK(run_lamina(on_cpu({"embed", encoder, bad, "-o", output, "--force", "--truncate"})).status == 0);
    CHECK(lamina::read_npy(output).shape().front() == 41);
}

TEST_CASE("embed: lines that are no texts are refused with their number, and nothing is left") {
    const TemporaryFolder folder;
    const std::string output = folder.path() / "v.npy";
    const auto refusal = [&](const std::string &name, const std::string &lines) {
        const Finished f = run_lamina(on_cpu({"embed", encoder, folder.write(name, lines), "-o", output}));
        CHECK(f.status == 3);
        return f.err;
    };
    CHECK_THAT(refusal("a.jsonl", "{\"text\": \"a\"}\n{\"txt\": \"b\"}\n"),
               contains("a.jsonl, line 2: ") && contains("text"));
    CHECK_THAT(refusal("a.jsonl", "{\"text\": \"a\"}\n{\"text\": 5}\n"),
               contains("a.jsonl, line 2: /text: expected a string"));
    CHECK_THAT(refusal("a.jsonl", "\"a fox\"\nfox\n"), contains("a.jsonl, line 2: "));
    CHECK_THAT(refusal("a.txt", "a fox\na\xff\n"), contains("a.txt, line 2: ") && contains("UTF-8"));
    CHECK_THAT(refusal("a.txt", ""), contains("a.txt: expected a text on each line, found none"));
    CHECK(folder.entries() == 2);
    CHECK_THAT(run_lamina(on_cpu({"embed", encoder, folder.path() / "no.txt", "-o", output})).err,
               contains("no.txt: "));
    CHECK_THAT(run_lamina(on_cpu({"embed", encoder, folder.path(), "-o", output})).err, contains("found a folder"));
    CHECK_THAT(run_lamina(on_cpu({"embed", g2p(), folder.path() / "a.txt", "-o", output})).err,
               contains("does not turn texts into vectors"));
    CHECK_THAT(run_lamina({"embed", encoder, "-", "-o", "v.svg"}).err, contains("what is written is npy, not svg"));
    CHECK_THAT(run_lamina({"embed", encoder, "-", "-o", folder.path()}).err,
               contains("expected a file, found a folder"));
    CHECK(run_lamina({"embed", encoder, "-"}).status == 2);
}

TEST_CASE("search: the nearest lines come first, found with the prompt of queries") {
    const TemporaryFolder folder;
    const std::vector<std::string> texts = texts_of(30);
    const std::string lines = folder.write("a.txt", lines_with(texts)), output = folder.path() / "v.npy";
    REQUIRE(run_lamina(on_cpu({"embed", encoder, lines, "-o", output})).status == 0);
    const auto vectors = vectors_of(texts, "document");
    const auto score = [&](const std::vector<float> &a, const std::vector<float> &b) {
        double ab = 0, aa = 0, bb = 0;
        for (size_t i = 0; i < a.size(); ++i) ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
        return ab / std::sqrt(aa * bb);
    };
    const std::vector<float> query = vectors_of({"the lazy dog"}, "query").front();
    std::vector<double> all;
    for (const auto &each : vectors) all.push_back(score(each, query));
    std::ranges::sort(all, std::ranges::greater{});

    const Finished f = run_lamina(on_cpu({"search", encoder, output, lines, "the lazy dog", "--top", "7", "--json"}));
    INFO(f.err);
    REQUIRE(f.status == 0);
    const json found = json::parse(f.out);
    REQUIRE(found.size() == 7);
    for (size_t i = 0; i < found.size(); ++i) {
        const size_t line = found[i].at("line");
        CHECK(found[i].at("text") == texts[line - 1]);
        CHECK_THAT(found[i].at("score").get<double>(), matchers::within_abs(all[i], 1e-5));
        CHECK_THAT(score(vectors[line - 1], query), matchers::within_abs(all[i], 1e-5));
    }
    const Finished table = run_lamina(on_cpu({"search", encoder, output, lines, "the lazy dog"}));
    const std::vector<std::string> shown = lines_of(table.out);
    REQUIRE(shown.size() == 6);
    CHECK_THAT(shown[1], contains(found[0].at("text").get<std::string>()));
    CHECK(
        json::parse(run_lamina(on_cpu({"search", encoder, output, lines, "a", "--top", "99", "--json"})).out).size() ==
        30);
}

TEST_CASE("search: vectors that are not those of the lines, or not of the model, are refused") {
    const TemporaryFolder folder;
    const std::string lines = folder.write("a.txt", "a fox\na dog\n"), output = folder.path() / "v.npy";
    REQUIRE(run_lamina(on_cpu({"embed", encoder, lines, "-o", output})).status == 0);
    const auto refusal = [&](const std::string &vectors, const std::string &texts) {
        const Finished f = run_lamina(on_cpu({"search", encoder, vectors, texts, "a fox"}));
        CHECK(f.status == 3);
        return f.err;
    };
    CHECK_THAT(refusal(output, folder.write("b.txt", "a fox\na dog\na\n")),
               contains("b.txt: expected 2 lines, one for each vector of") && contains("found 3"));
    lamina::write_npy(folder.path() / "w.npy", Tensor::of({2, 3}, std::vector<float>(6, 1.0f)));
    CHECK_THAT(refusal(folder.path() / "w.npy", lines), contains("w.npy: expected vectors of") && contains("found 3"));
    lamina::write_npy(folder.path() / "w.npy", Tensor::of({2, 3}, std::vector<int32_t>(6, 1)));
    CHECK_THAT(refusal(folder.path() / "w.npy", lines), contains("expected a vector of floats in each row"));
    CHECK_THAT(refusal(folder.path() / "no.npy", lines), contains("no.npy"));
}

TEST_CASE("embed: a link goes on leading to the vectors, and a pipe is not replaced") {
    const TemporaryFolder folder;
    const std::string texts = folder.write("texts.txt", lines_with(texts_of(3)));
    const fs::path link = folder.path() / "link.npy", pipe = folder.path() / "pipe";
    fs::create_symlink("vectors.npy", link);
    REQUIRE(run_lamina(on_cpu({"embed", encoder, texts, "-o", link.string()})).status == 0);
    CHECK(fs::is_symlink(link));
    CHECK(lamina::read_npy(folder.path() / "vectors.npy").shape().front() == 3);
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    const Finished f = run_lamina(on_cpu({"embed", encoder, texts, "-o", pipe.string(), "--force"}));
    CHECK(f.status == 2);
    CHECK_THAT(f.err, contains("is no ordinary file"));
    CHECK(fs::is_fifo(pipe));
}
