// What MODEL may be, and the answers for what it may not be.
#include "catch.hpp"
#include "places.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <fstream>

namespace fs = std::filesystem;
using matchers::contains;

namespace {

const fs::path models = fs::path(LAMINA_SOURCE_DIR) / "tests" / "architectures" / "models";

Finished inspect(const std::string &model, const Surroundings &surroundings = {}) {
    return run_lamina({"inspect", model}, surroundings);
}

std::string refusal(const std::string &model, const Surroundings &surroundings = {}) {
    const Finished f = inspect(model, surroundings);
    CHECK(f.status == 3);
    CHECK(f.out.empty());
    return f.err;
}

std::string bytes_of(const fs::path &file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// A cache of Hugging Face's tools with two repositories: a folder, and one with a GGUF file.
void fill_cache(const fs::path &cache) {
    const fs::path bert = cache / "models--tiny-org--bert-1.5", gguf = cache / "models--tiny-org--llama-GGUF";
    for (const fs::path &repository : {bert, gguf}) {
        fs::create_directories(repository / "refs");
        fs::create_directories(repository / "snapshots" / "c0ffee");
        std::ofstream(repository / "refs" / "main") << "c0ffee";
    }
    fs::copy(models / "bert", bert / "snapshots" / "c0ffee", fs::copy_options::recursive);
    fs::copy(models / "gguf_llama" / "model.gguf", gguf / "snapshots" / "c0ffee" / "q8.gguf");
}

} // namespace

TEST_CASE("a name of Hugging Face is looked up in the cache of its tools") {
    const TemporaryFolder folder;
    fill_cache(folder.path() / "hub");
    fill_cache(folder.path() / ".cache" / "huggingface" / "hub");
    const std::string here = folder.path().string(), nowhere = (folder.path() / "nowhere").string();
    for (const std::map<std::string, std::string> &environment :
         {std::map<std::string, std::string>{{"HF_HUB_CACHE", here + "/hub"}, {"HF_HOME", nowhere}},
          {{"HF_HUB_CACHE", ""}, {"HF_HOME", here}},
          {{"HF_HUB_CACHE", ""}, {"HF_HOME", ""}, {"XDG_CACHE_HOME", here + "/.cache"}},
          {{"HF_HUB_CACHE", ""}, {"HF_HOME", ""}, {"XDG_CACHE_HOME", ""}, {"HOME", here}}}) {
        const Finished found = inspect("tiny-org/bert-1.5", {.environment = environment});
        INFO(found.err);
        CHECK(found.status == 0);
        CHECK_THAT(found.out, contains("bert-1.5: bert")); // and not the name of the snapshot
    }
    const Surroundings cache{.environment = {{"HF_HUB_CACHE", here + "/hub"}}};
    CHECK(inspect("tiny-org/llama-GGUF/q8.gguf", cache).status == 0);
    CHECK_THAT(refusal("tiny-org/llama-GGUF", cache), contains("found q8.gguf, a model by itself: give this file"));
    CHECK_THAT(refusal("tiny-org/bart", cache), contains(here + "/hub; 'hf download tiny-org/bart' downloads it"));
    CHECK_THAT(refusal("tiny-org/llama-GGUF/q4.gguf", cache),
               contains("'hf download tiny-org/llama-GGUF q4.gguf' downloads it"));
    CHECK_THAT(refusal("bart", cache), contains("models of Hugging Face are named ORG/NAME"));
    for (const std::string path : {"./tiny-org/bert-1.5", "../bert", "/tiny-org/bert-1.5"})
        CHECK_THAT(refusal(path, cache), contains(path + ": no such file or folder"));
}

TEST_CASE("the tokenizer of a name of Hugging Face is found as its model is") {
    const TemporaryFolder folder;
    fill_cache(folder.path() / "hub");
    const fs::path snapshot = folder.path() / "hub" / "models--tiny-org--bert-1.5" / "snapshots" / "c0ffee";
    fs::copy(fs::path(LAMINA_SOURCE_DIR) / "tests" / "unit" / "tokenizer" / "fixtures" / "bert.json",
             snapshot / "tokenizer.json", fs::copy_options::overwrite_existing);
    const Surroundings cache{.environment = {{"HF_HOME", folder.path().string()}}};
    const Finished found = run_lamina({"tokenize", "tiny-org/bert-1.5", "The fox"}, cache);
    INFO(found.err);
    CHECK(found.status == 0);
    CHECK_THAT(found.out, contains("[CLS]") && contains("0-3"));
    const Finished absent = run_lamina({"tokenize", "tiny-org/bart", "The fox"}, cache);
    CHECK(absent.status == 3);
    CHECK_THAT(absent.err, contains("'hf download tiny-org/bart' downloads it"));
    const Finished gguf = run_lamina({"tokenize", "tiny-org/llama-GGUF/q8.gguf", "The fox"}, cache);
    CHECK(gguf.status == 3);
    CHECK_THAT(gguf.err, contains("a GGUF file") && contains("expected a tokenizer.json"));
}

TEST_CASE("the folder in which the command runs has its name, whatever it is called there") {
    CHECK_THAT(inspect(".", {.folder = (models / "bert").string()}).out, contains("bert: "));
    CHECK_THAT(inspect("../bert/.", {.folder = (models / "gpt2").string()}).out, contains("bert: "));
}

TEST_CASE("control characters in a model's files do not reach the terminal") {
    const TemporaryFolder folder;
    const fs::path model = folder.path() / "model";
    fs::copy(fs::path(LAMINA_SOURCE_DIR) / "tests" / "architectures" / "sentences" / "relations", model);
    auto config = nlohmann::json::parse(bytes_of(model / "config.json"));
    for (auto &label : config.at("id2label")) label = "\x1b[31m" + label.get<std::string>() + "\x07\n";
    config.erase("label2id");
    std::ofstream(model / "config.json") << config.dump();
    const Finished f = inspect(model.string());
    CHECK(f.status == 0);
    CHECK_THAT(f.out, contains("\\x1b[31m") && contains("\\x07\\x0a"));
    CHECK(f.out.find('\x1b') == std::string::npos);
}

TEST_CASE("a folder goes before a name of Hugging Face") {
    const TemporaryFolder folder;
    fill_cache(folder.path() / "hub");
    fs::create_directories(folder.path() / "tiny-org");
    const Surroundings here{.environment = {{"HF_HOME", folder.path().string()}}, .folder = folder.path().string()};
    CHECK(inspect("tiny-org/bert-1.5", here).status == 0);
    CHECK_THAT(refusal("tiny-org/bart", here), contains("tiny-org/bart: no such file or folder\n"));
    fs::copy(models / "gpt2", folder.path() / "tiny-org" / "bert-1.5", fs::copy_options::recursive);
    CHECK_THAT(inspect("tiny-org/bert-1.5", here).out, contains("gpt2"));
}

TEST_CASE("a file or folder that is no model is answered with what it is") {
    const TemporaryFolder folder;
    const auto file = [&](const std::string &name) { return folder.write(name, "x").string(); };
    const auto folder_with = [&](const std::string &name, const std::vector<std::string> &files) {
        fs::create_directories(folder.path() / name / "onnx");
        for (const std::string &each : files) (void)folder.write(name + "/" + each, "x");
        return (folder.path() / name).string();
    };
    CHECK_THAT(refusal((models / "bert" / "model.safetensors").string()), contains("give the folder"));
    CHECK_THAT(refusal(file("m.onnx")), contains("m.onnx: an ONNX model, which Lamina does not read"));
    CHECK_THAT(refusal(file("m.pt")),
               contains("m.pt: weights of PyTorch") && contains("pytorch_model.bin in a folder"));
    CHECK_THAT(refusal(file("m.txt")), contains("m.txt: not a model; expected a folder or a GGUF file"));
    CHECK_THAT(refusal(folder_with("lora", {"adapter_config.json", "adapter_model.safetensors"})),
               contains("adapter_config.json, part of an adapter") &&
                   contains("give that model, and --lora with this folder"));
    CHECK_THAT(refusal(folder_with("none", {})),
               contains("no model in this folder; expected the config.json and model.safetensors"));
    CHECK_THAT(refusal(folder_with("gguf", {"a.gguf"})), contains("found a.gguf, a model by itself"));

    const std::string onnx = folder_with("onnx", {"onnx/model.onnx"});
    fs::copy(models / "bert" / "config.json", onnx);
    CHECK_THAT(refusal(onnx),
               contains("no weights in this folder") && contains("found onnx/model.onnx, an ONNX model"));
}

TEST_CASE("a pointer of Git LFS is answered with the command that downloads the file") {
    const TemporaryFolder folder;
    const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 12345\n";
    CHECK_THAT(refusal(folder.write("model.gguf", pointer).string()), contains("model.gguf: a pointer of Git LFS"));
    for (const std::string file : {"config.json", "model.safetensors", "tokenizer.json"}) {
        fs::create_directories(folder.path() / file);
        fs::copy(models / "bert", folder.path() / file);
        (void)folder.write(file + "/" + file, pointer);
        CHECK_THAT(refusal((folder.path() / file).string()),
                   contains(file + ": a pointer of Git LFS") && contains("'git lfs pull'"));
    }
}

TEST_CASE("a GGUF file is known by its first bytes, and a part of one says so") {
    const TemporaryFolder folder;
    const std::string whole = bytes_of(models / "gguf_llama" / "model.gguf");
    CHECK(inspect(folder.write("sha256-0123", whole).string()).status == 0);
    for (const size_t length : {size_t{0}, size_t{3}, size_t{10}, size_t{30}, whole.size() / 8, whole.size() - 64})
        CHECK_THAT(refusal(folder.write("part.gguf", whole.substr(0, length)).string()),
                   contains("part.gguf: ") && contains("which has " + std::to_string(length) +
                                                       " bytes and is cut short or damaged; download it again"));
}
