#include "catch.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

using nlohmann::json;

namespace {

// lamina init FOLDER/NAME with a model small enough for tests, and more options.
Finished init(const TemporaryFolder &folder, const std::string &name, const std::vector<std::string> &more) {
    std::vector<std::string> arguments{"init", (folder.path() / name).string()};
    const std::map<std::string, std::string> sizes{{"--d-model", "8"}, {"--heads", "2"}, {"--layers", "2"}};
    for (const auto &[option, value] : sizes)
        if (std::ranges::find(more, option) == more.end()) arguments.insert(arguments.end(), {option, value});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_lamina(arguments);
}

json model_of(const TemporaryFolder &folder, const std::string &name) {
    return json::parse(folder.read(name + "/model.json"));
}

} // namespace

TEST_CASE("init: each architecture is written, reported on stderr, and loads") {
    const TemporaryFolder folder;
    for (const std::string arch : {"encoder", "decoder", "encoder-decoder"}) {
        INFO(arch);
        const Finished f = init(folder, arch, {"--arch", arch, "--vocab", "11"});
        CHECK(f.status == 0);
        CHECK(f.out.empty());
        CHECK(lines_of(f.err).size() == 1);
        CHECK_THAT(f.err, matchers::contains("lamina: wrote " + (folder.path() / arch).string() + ": "));
        CHECK_THAT(f.err, matchers::contains(" parameters, "));
        const json model = model_of(folder, arch);
        CHECK(model.at("name") == arch);
        CHECK(model.at("graphs").contains("encode") == (arch != "decoder"));
        CHECK(model.at("graphs").contains("decode") == (arch != "encoder"));
        CHECK(run_lamina({"inspect", (folder.path() / arch).string()}).status == 0);
    }
}

TEST_CASE("init: every spelling of a folder's path works, and gives the model its name") {
    const TemporaryFolder folder;
    for (const std::string name : {"here", "real"}) std::filesystem::create_directory(folder.path() / name);
    std::filesystem::create_directory_symlink(folder.path() / "real", folder.path() / "link");
    const auto made = [&](const std::string &path, const std::string &name) {
        const Finished f = run_lamina(
            {"init", path, "--arch", "encoder", "--vocab", "5", "--d-model", "8", "--heads", "2", "--layers", "1"},
            {.folder = folder.path() / "here"});
        INFO(path << ": " << f.err);
        CHECK(f.status == 0);
        CHECK(model_of(folder, name).at("name") == name);
    };
    made(".", "here");
    made("../new/.", "new");
    made("../deep/../other/", "other");
    made("../link", "link");
    CHECK(std::filesystem::is_symlink(folder.path() / "link"));
    CHECK(std::filesystem::exists(folder.path() / "real" / "model.json"));
    for (const auto &entry : std::filesystem::directory_iterator(folder.path()))
        CHECK(entry.path().extension() != ".tmp");
}

TEST_CASE("init: --json reports what was written") {
    const TemporaryFolder folder;
    const Finished f = init(folder, "m", {"--arch", "encoder", "--vocab", "5", "--json", "--quiet"});
    REQUIRE(f.status == 0);
    CHECK(f.err.empty());
    const json found = json::parse(f.out);
    CHECK(found.at("name") == "m");
    // 2 layers of attention 4 * (8 * 8 + 8), feed-forward 2 * 8 * 32 + 32 + 8 and norms 2 * 16; a norm; the table
    CHECK(found.at("parameters") == 2 * (288 + 552 + 32) + 16 + 40);
    CHECK(found.at("bytes") == 4 * found.at("parameters").get<int>());
}

TEST_CASE("init: another seed gives other weights") {
    const TemporaryFolder folder;
    for (const std::string seed : {"1", "2"}) REQUIRE(init(folder, seed, {"--vocab", "5", "--seed", seed}).status == 0);
    CHECK(folder.read("1/model.safetensors") != folder.read("2/model.safetensors"));
}

TEST_CASE("init: a model of 8-bit weights runs and agrees with its reference") {
    const TemporaryFolder folder;
    REQUIRE(init(folder, "m",
                 {"--arch", "decoder", "--target-vocab", folder.write("tokens.txt", "<s>\n</s>\na\n").string(),
                  "--d-model", "64", "--ffn", "96", "--layers", "1", "--dtype", "q8_0"})
                .status == 0);
    const Finished inspected = run_lamina({"inspect", (folder.path() / "m").string(), "--weights"});
    CHECK_THAT(inspected.out, matchers::contains("q8_0"));
    CHECK(run_lamina({"compare", (folder.path() / "m").string(), "--device", "cpu"}).status == 0);
    CHECK_THAT(init(folder, "n", {"--arch", "decoder", "--vocab", "7", "--d-model", "40", "--dtype", "q8_0"}).err,
               matchers::contains("cannot be q8_0, which stores 32 values of a row together"));
}

TEST_CASE("init: options reach the model") {
    const TemporaryFolder folder;
    REQUIRE(init(folder, "m", {"--arch",      "encoder",      "--vocab", "5",
                               "--post-norm", "--activation", "gelu",    "--ffn",
                               "24",          "--dropout",    "0.25",    "--max-len",
                               "77",          "--eps",        "1e-3",    "--sequence-first",
                               "--mask",      "keep",         "--dtype", "f16",
                               "--positions", "halves",       "--seed",  "1"})
                .status == 0);
    const json encode = model_of(folder, "m").at("graphs").at("encode");
    CHECK(encode.at("inputs").at("source").at("dims") == "S B");
    CHECK(encode.at("inputs").at("source_mask").at("dims") == "B S S");
    const json &layers = encode.at("layers");
    CHECK(layers.at(1).at("params") == json{{"max_len", 77}, {"layout", "halves"}, {"batch_first", false}});
    CHECK(layers.at(2).at("params").at("p") == 0.25);
    const json &copy = layers.at(3).at("layers");
    CHECK(copy.at(0).at("name") == "encoder.{i}.attention.query"); // not a norm
    CHECK(copy.at(6).at("params").at("eps") == 1e-3);
    CHECK(copy.at(7).at("params").at("activation") == "gelu");
    CHECK_THAT(folder.read("m/model.safetensors"), matchers::contains("\"dtype\":\"F16\""));
}

TEST_CASE("init: with vocabularies the model takes and gives text") {
    const TemporaryFolder folder;
    const std::string source = folder.write("source.txt", "a\nb\nc\n").string();
    const std::string target = folder.write("target.txt", "<s>\n</s>\nx\ny\n").string();
    REQUIRE(init(folder, "m", {"--source-vocab", source, "--target-vocab", target, "--max-length", "4"}).status == 0);
    CHECK(folder.read("m/source.txt") == "a\nb\nc\n");
    const Finished f = run_lamina({"run", (folder.path() / "m").string(), "a b c", "--device", "cpu"});
    CHECK(f.status == 0);
    CHECK_THAT(f.out, matchers::contains("a b c\t"));

    REQUIRE(init(folder, "writer", {"--arch", "decoder", "--target-vocab", target}).status == 0);
    CHECK(run_lamina({"run", (folder.path() / "writer").string(), "x", "--device", "cpu"}).status == 0);
}

TEST_CASE("init: a folder that is not empty is left alone without --force") {
    const TemporaryFolder folder;
    REQUIRE(init(folder, "m", {"--vocab", "5"}).status == 0);
    folder.write("m/notes.txt", "mine");
    const std::string before = folder.read("m/model.json");
    const Finished f = init(folder, "m", {"--vocab", "6"});
    CHECK(f.status == 2);
    CHECK_THAT(f.err, matchers::contains("not empty; choose another folder, or give --force"));
    CHECK(folder.read("m/model.json") == before);
    CHECK(init(folder, "m", {"--arch", "decoder", "--vocab", "6", "--force"}).status == 0);
    CHECK(model_of(folder, "m").at("graphs").size() == 1);
    CHECK(folder.read("m/notes.txt") == "mine");
}

TEST_CASE("init: errors name the wrong setting, and nothing is written") {
    const TemporaryFolder folder;
    const auto refusal = [&](const std::vector<std::string> &options) {
        const Finished f = init(folder, "m", options);
        CHECK(f.status == 2);
        CHECK_FALSE(std::filesystem::exists(folder.path() / "m"));
        return f.err;
    };
    CHECK_THAT(refusal({}), matchers::contains("the number of tokens is missing: give --vocab N"));
    CHECK_THAT(refusal({"--vocab", "5", "--dropout", "1.5"}), matchers::contains("dropout is 1.5"));
    CHECK_THAT(refusal({"--vocab", "5", "--arch", "encodr"}), matchers::contains("did you mean 'encoder'?"));
    CHECK_THAT(refusal({"--vocab", "5", "--dtype", "f8"}),
               matchers::contains("--dtype: expected one of f32, f16, bf16"));
    CHECK_THAT(refusal({"--vocab", "5", "--post-norm", "--norm-first"}), matchers::contains("--norm-first"));
    CHECK_THAT(refusal({"--vocab", "0"}), matchers::contains("--vocab"));
    CHECK_THAT(refusal({"--vocab", "5", "--arch", "decoder", "--target-vocab", "words.txt"}),
               matchers::contains("--vocab cannot be used with files"));
    CHECK_THAT(refusal({"--arch", "encoder", "--target-vocab", "x.txt"}),
               matchers::contains("--target-vocab cannot be used with --arch encoder"));
    const std::string tokens = folder.write("tokens.txt", "a\nb\n").string();
    CHECK_THAT(refusal({"--source-vocab", tokens}),
               matchers::contains("--source-vocab and --target-vocab must be given together"));
    CHECK_THAT(refusal({"--arch", "decoder", "--target-vocab", tokens}),
               matchers::contains("'<s>' is not in the target"));
}

TEST_CASE("init: options that do not apply to the model are refused") {
    const TemporaryFolder folder;
    const std::string target = folder.write("target.txt", "<s>\n</s>\nx\n").string();
    const auto refusal = [&](const std::vector<std::string> &options) {
        const Finished f = init(folder, "m", options);
        CHECK(f.status == 2);
        CHECK_FALSE(std::filesystem::exists(folder.path() / "m"));
        return f.err;
    };
    CHECK_THAT(refusal({"--arch", "encoder", "--vocab", "5", "--generator", "logits"}),
               matchers::contains("--generator cannot be used with --arch encoder"));
    for (const auto &[option, value] : std::map<std::string, std::string>{
             {"--split", "words"}, {"--start", "x"}, {"--end", "x"}, {"--max-length", "5"}})
        for (const char *arch : {"encoder", "decoder", "encoder-decoder"})
            CHECK_THAT(refusal({"--arch", arch, "--vocab", "5", option, value}),
                       matchers::contains(option + " is about text"));
    CHECK_THAT(refusal({"--arch", "decoder", "--vocab", "5", "--mask", "keys"}),
               matchers::contains("--mask keys cannot be used with --arch decoder"));
}

TEST_CASE("init: errors about text settings name the command's options") {
    const TemporaryFolder folder;
    const std::string tokens = folder.write("tokens.txt", "<s>\n</s>\nx\n").string();
    const auto refusal = [&](std::vector<std::string> options) {
        options.insert(options.end(), {"--target-vocab", tokens});
        const Finished f = init(folder, "m", options);
        CHECK(f.status != 0);
        CHECK_FALSE(std::filesystem::exists(folder.path() / "m"));
        return f.err;
    };
    CHECK_THAT(refusal({"--source-vocab", folder.write("none.txt", "")}),
               matchers::contains("none.txt: empty; expected"));
    CHECK_THAT(refusal({"--source-vocab", tokens, "--sequence-first"}),
               matchers::contains("--sequence-first cannot be used"));
    CHECK_THAT(refusal({"--source-vocab", tokens, "--mask", "keep"}), matchers::contains("expected lengths"));
    CHECK_THAT(refusal({"--arch", "decoder", "--sequence-first"}),
               matchers::contains("--sequence-first cannot be used"));
    CHECK_THAT(refusal({"--arch", "decoder", "--mask", "keep"}), matchers::contains("--mask keep cannot be used"));
    CHECK_THAT(refusal({"--arch", "decoder", "--end", "<s>"}), matchers::contains("--start and --end are both '<s>'"));
}

TEST_CASE("init: a token that no text can contain is refused with its line, unless it is special") {
    const TemporaryFolder folder;
    const auto result = [&](const std::string &tokens, const std::string &split) {
        return init(folder, "m",
                    {"--arch", "decoder", "--split", split, "--force", "--start", "BOS", "--target-vocab",
                     folder.write("tokens.txt", tokens).string()});
    };
    const Finished blank = result("BOS\n</s>\nNew York\n", "words");
    CHECK(blank.status == 3);
    CHECK_THAT(blank.err, matchers::contains("tokens.txt: line 3: 'New York' contains a blank"));
    const Finished several = result("BOS\n</s>\n\u00e9\nab\n", "characters");
    CHECK(several.status == 3);
    CHECK_THAT(several.err, matchers::contains("tokens.txt: line 4: 'ab' has several characters"));
    CHECK(result("BOS\n</s>\n<pad>\n[UNK]\n\u00e9\n \n", "characters").status == 0);
    CHECK(result("BOS\n</s>\nNew\nYork\n", "words").status == 0);
}

TEST_CASE("init: the number of generated tokens is limited by the number of positions") {
    const TemporaryFolder folder;
    const std::string target = folder.write("target.txt", "<s>\n</s>\nx\n").string();
    const auto result = [&](const std::string &max_len, const std::vector<std::string> &more) {
        std::vector<std::string> options{"--arch",    "decoder", "--target-vocab", target,
                                         "--max-len", max_len,   "--force"};
        options.insert(options.end(), more.begin(), more.end());
        return init(folder, "m", options);
    };
    const auto max_length = [&] { return model_of(folder, "m").at("generation").at("max_length").get<int>(); };
    CHECK(result("10", {}).status == 0);
    CHECK(max_length() == 9);
    CHECK(result("5000", {}).status == 0);
    CHECK(max_length() == 64);
    const Finished more = result("10", {"--max-length", "10"});
    CHECK(more.status == 2);
    CHECK_THAT(more.err, matchers::contains("--max-length 10: expected at most 9"));
    CHECK_THAT(result("1", {}).err, matchers::contains("--max-len 1: expected 2 or more"));
}

TEST_CASE("init --force: the old model's vocabularies are removed with it, and nothing else") {
    const TemporaryFolder folder;
    const std::string source = folder.write("source.txt", "a\nb\n").string();
    const std::string target = folder.write("target.txt", "<s>\n</s>\nx\n").string();
    REQUIRE(init(folder, "m", {"--source-vocab", source, "--target-vocab", target}).status == 0);
    for (const char *name : {"m/notes.txt", "m/other.txt"}) folder.write(name, "mine");
    REQUIRE(init(folder, "m", {"--arch", "decoder", "--target-vocab", target, "--force"}).status == 0);
    CHECK_FALSE(std::filesystem::exists(folder.path() / "m/source.txt"));
    CHECK(std::filesystem::exists(folder.path() / "m/target.txt"));

    // Files outside of the folder, and folders, are not removed.
    json model = model_of(folder, "m");
    model["generation"]["source"] = {{"vocabulary", "../source.txt"}};
    model["generation"]["target"]["vocabulary"] = "kept";
    folder.write("m/model.json", model.dump());
    std::filesystem::create_directory(folder.path() / "m/kept");
    REQUIRE(init(folder, "m", {"--vocab", "5", "--force"}).status == 0);
    for (const char *name : {"m/notes.txt", "m/other.txt", "m/kept", "source.txt"})
        CHECK(std::filesystem::exists(folder.path() / name));

    folder.write("m/model.json", "no model");
    CHECK(init(folder, "m", {"--vocab", "5", "--force"}).status == 0);
}

TEST_CASE("init: files that cannot be read or written have exit statuses of their own") {
    const TemporaryFolder folder;
    const std::string repeated = folder.write("repeated.txt", "a\na\n").string();
    const Finished bad = init(folder, "m", {"--arch", "decoder", "--target-vocab", repeated});
    CHECK(bad.status == 3);
    CHECK_THAT(bad.err, matchers::contains("repeated.txt: line 2: 'a' is already in line 1"));
    CHECK(init(folder, "m", {"--arch", "decoder", "--target-vocab", "/nowhere.txt"}).status == 3);
    const Finished blocked = init(folder, "repeated.txt/m", {"--vocab", "5"});
    CHECK(blocked.status == 1);
    CHECK_THAT(blocked.err, matchers::contains("cannot be written"));
}
