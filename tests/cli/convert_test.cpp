#include "catch.hpp"
#include "places.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

using nlohmann::json;

namespace {

json inspected(const std::string &path) {
    const Finished f = run_lamina({"inspect", "--json", path});
    INFO(f.err);
    REQUIRE(f.status == 0);
    return json::parse(f.out);
}

// The weights of the layers, in their order.
std::vector<json> weights_in(const std::string &path) {
    std::vector<json> out;
    for (const json &graph : inspected(path).at("graphs"))
        for (const json &layer : graph.at("layers"))
            out.insert(out.end(), layer.at("weights").begin(), layer.at("weights").end());
    return out;
}

json converted(const std::vector<std::string> &arguments) {
    std::vector<std::string> all{"convert", "--json"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Finished f = run_lamina(all);
    INFO(f.err);
    REQUIRE(f.status == 0);
    return json::parse(f.out);
}

} // namespace

TEST_CASE("convert: a model folder, a Hugging Face folder and a GGUF file become a folder with the same model") {
    const std::string models = LAMINA_SOURCE_DIR "/tests/architectures/models/";
    for (const std::string &from : {g2p(), models + "llama", models + "t5", models + "gguf_llama/model.gguf"}) {
        INFO(from);
        const TemporaryFolder folder;
        const std::string to = (folder.path() / "new" / "model").string();
        const Finished f = run_lamina({"convert", from, to});
        CHECK(f.status == 0);
        CHECK(f.out.empty()); // nothing changed
        CHECK_THAT(f.err, matchers::contains("lamina: wrote " + to + ": "));
        CHECK(inspected(from).at("graphs") == inspected(to).at("graphs"));
    }
}

TEST_CASE("convert: a converted model gives the same answers as the original") {
    const TemporaryFolder folder;
    const std::string same = (folder.path() / "same").string(), small = (folder.path() / "small").string();
    CHECK(run_lamina({"convert", g2p(), same}).status == 0);
    CHECK(run_lamina({"convert", g2p(), small, "--weights", "q8_0"}).status == 0);
    const std::string answer = run_lamina({"run", "--device", "cpu", g2p(), "hello"}).out;
    CHECK(answer == "hello\tHH EH1 L OW0\n");
    CHECK(run_lamina({"run", "--device", "cpu", same, "hello"}).out == answer);
    CHECK(run_lamina({"run", "--device", "cpu", small, "hello"}).out == answer);
}

TEST_CASE("convert --weights: matrices get the dtype, vectors keep theirs, and the error is reported") {
    const TemporaryFolder folder;
    double before = 0;
    for (const std::string dtype : {"q8_0", "q5_0", "q4_0"}) {
        INFO(dtype);
        const json made = converted({g2p(), (folder.path() / dtype).string(), "--weights", dtype});
        CHECK(made.at("bytes") < made.at("bytes_before"));
        double error = 0;
        for (const json &weight : made.at("weights")) {
            const bool matrix = weight.at("shape").size() > 1;
            CHECK(weight.at("to") == (matrix ? json(dtype) : weight.at("from")));
            CHECK((weight.at("error") > 0) == matrix);
            CHECK(weight.at("worst") >= weight.at("error"));
            error = std::max(error, weight.at("error").get<double>());
        }
        CHECK(error > before); // fewer bits, more error
        CHECK(error < 0.2);
        before = error;
        for (const json &weight : weights_in((folder.path() / dtype).string()))
            CHECK((weight.at("dtype") == dtype) == (weight.at("shape").size() > 1));
    }
}

TEST_CASE("convert --weights: rows that are not a multiple of 256 values get a format with blocks of 32") {
    const TemporaryFolder folder;
    const Finished f = run_lamina({"convert", g2p(), (folder.path() / "m").string(), "--weights", "q4_k"});
    CHECK(f.status == 0);
    CHECK_THAT(f.out, matchers::contains("ERROR") && matchers::contains("WORST") && matchers::contains("q5_0"));
}

TEST_CASE("convert: existing files are not touched, and a failure leaves nothing behind") {
    const TemporaryFolder folder;
    const std::string to = (folder.path() / "there").string();
    std::filesystem::create_directory(to);
    folder.write("there/note.txt", "mine");
    const Finished there = run_lamina({"convert", g2p(), to});
    CHECK(there.status == 2);
    CHECK_THAT(there.err, matchers::contains("not empty; choose another folder"));
    CHECK(folder.read("there/note.txt") == "mine");

    const Finished absent = run_lamina({"convert", (folder.path() / "absent").string(), to + "2"});
    CHECK(absent.status == 3);
    CHECK_THAT(absent.err, matchers::contains("no such file or folder"));
    CHECK_FALSE(std::filesystem::exists(to + "2"));
    const Finished dtype = run_lamina({"convert", g2p(), to + "2", "--weights", "q9"});
    CHECK(dtype.status == 2);
    CHECK_FALSE(std::filesystem::exists(to + "2"));
}
