// What the command says about models and texts that do not go together.
#include "catch.hpp"
#include "places.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using matchers::contains;

namespace {

std::string model(const std::string &name) {
    return (fs::path(LAMINA_SOURCE_DIR) / "tests" / "architectures" / "models" / name).string();
}

// A model of another format, which has no model.json, with a tokenizer of words.
std::string with_tokenizer(const TemporaryFolder &folder, const std::string &name) {
    const fs::path path = folder.path() / name;
    fs::copy(model(name), path, fs::copy_options::recursive);
    (void)folder.write(name + "/tokenizer.json",
                       R"({"pre_tokenizer": {"type": "Whitespace"}, "model": {"type": "WordLevel",)"
                       R"( "vocab": {"[UNK]": 0, "a": 1, "b": 2}, "unk_token": "[UNK]"}})");
    return path.string();
}

} // namespace

TEST_CASE("a model without a tokenizer says so, and no message names a model.json that there is not") {
    for (const char *name : {"bert", "llama", "gguf_llama/model.gguf"}) {
        const Finished f = run_lamina({"run", model(name), "a", "--device", "cpu"});
        CHECK(f.status == 3);
        CHECK_THAT(f.err, contains("there is no tokenizer with it") && contains("--input NAME=FILE.npy") &&
                              !contains("model.json"));
    }
    const TemporaryFolder folder;
    fs::copy(model("bert"), folder.path() / "wrong", fs::copy_options::recursive);
    const std::string config = folder.read("wrong/config.json");
    const size_t at = config.find("\"max_position_embeddings\": ") + 27;
    (void)folder.write("wrong/config.json",
                       config.substr(0, at) + "31" + config.substr(config.find_first_not_of("0123456789", at)));
    const Finished wrong = run_lamina({"inspect", (folder.path() / "wrong").string()});
    CHECK(wrong.status == 3);
    CHECK_THAT(wrong.err, contains("the tensor 'bert.embeddings") && !contains("model.json"));
}

TEST_CASE("a model that gives vectors does not chat, and says what it does") {
    const TemporaryFolder folder;
    const Finished f = run_lamina({"chat", with_tokenizer(folder, "sentences"), "a"});
    CHECK(f.status == 2);
    CHECK_THAT(f.err, contains("has no chat template") && contains("turns texts into vectors") &&
                          !contains("continues texts"));
}

TEST_CASE("of lines that a model cannot read, the error has the number") {
    const TemporaryFolder folder;
    const Finished f =
        run_lamina({"run", with_tokenizer(folder, "sentences"), "--device", "cpu"}, {.input = "a b\na\xff\n"});
    CHECK(f.status == 3);
    CHECK_THAT(f.err, contains("stdin, line 2: ") && contains("invalid UTF-8"));
    std::string longer;
    for (int i = 0; i < 40; ++i) longer += "a b ";
    const Finished too_long = run_lamina({"run", (folder.path() / "sentences").string(), longer, "--device", "cpu"});
    CHECK(too_long.status == 3);
    CHECK_THAT(too_long.err, contains("80 tokens") && contains("--truncate"));
}

TEST_CASE("the name of an audio file or image is no text") {
    for (const char *command : {"run", "chat"})
        for (const char *name : {"speech.wav", "a/b.FLAC", "cat.png"}) {
            const Finished f = run_lamina({command, g2p(), name, "--device", "cpu"});
            CHECK(f.status == 2);
            CHECK_THAT(f.err, contains(name) && contains("this model takes text"));
        }
    CHECK_THAT(run_lamina({"run", g2p(), "--truncate", "a", "--device", "cpu"}).err,
               contains("--truncate is for models"));
}

TEST_CASE("lines are answered in their order, also those before one that cannot be") {
    const std::string line(400, 'a');
    const Finished all = run_lamina({"run", g2p(), "--device", "cpu", "--max-length", "2"},
                                    {.input = "b\n" + line + "\n" + line + "\n0\n", .environment = {}});
    CHECK(all.status == 3); // of the last line
    REQUIRE(lines_of(all.out).size() == 3);
    CHECK_THAT(lines_of(all.out)[0], contains("b\t"));
    CHECK(lines_of(all.out)[1] == lines_of(all.out)[2]);
    CHECK_THAT(all.err, contains("stdin, line 4"));
}

TEST_CASE("chat --help has the defaults of chat") {
    const std::string help = run_lamina({"chat", "--help"}).out;
    CHECK_THAT(help, contains("default: as the model") && contains("[default: 4096]"));
    CHECK_THAT(run_lamina({"run", "--help"}).out, !contains("[default: 4096]"));
}
