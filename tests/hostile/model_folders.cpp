// Broken model folders: whatever the bytes are, loading returns a model or throws lamina::Error. With
// AddressSanitizer (preset asan), a read beyond the file also fails here.
#include "model/model.hpp"
#include "model/safetensors.hpp"

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <lamina/npy.hpp>

#include <random>

#include <sys/stat.h>

using namespace lamina;
using namespace lamina::model;
using matchers::contains;

namespace {

constexpr unsigned seed = 20240613;

const char *const model_json = R"({"format": "lamina/1", "name": "m", "summary": "caf\u00e9",
 "graphs": {"decode": {
  "inputs": {"ids": {"dtype": "i32", "dims": "B T"}, "position": {"dtype": "i32", "dims": "B"}},
  "layers": [{"name": "embedding", "type": "embedding", "inputs": {"ids": "ids"}, "params": {"scale": 1.5e0}, "as": "x"},
   {"repeat": 2, "layers": [{"name": "{i}.norm", "type": "layer_norm", "inputs": {"x": "x"}, "as": "x"}]},
   {"name": "linear", "type": "linear", "weights": {"weight": "embedding.table"}}],
  "outputs": {"logits": "linear"}}},
 "generation": {"decode": "decode", "target_ids": "ids", "position": "position", "logits": "logits", "start": "<s>",
  "end": "</s>", "max_length": 8, "target": {"vocabulary": "v.txt", "split": "words"}}})";

// A folder that loads, and the contents of its files.
struct Folder : TemporaryFolder {
    std::string json = model_json, weights, vocabulary = "<s>\n</s>\nAH\n";

    Folder() {
        write("model.json", json);
        write("v.txt", vocabulary);
        write_safetensors(path() / "model.safetensors",
                          {{"embedding.table", Tensor::of({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6})},
                           {"0.norm.weight", Tensor({DType::f16, {2}})},
                           {"1.norm.bias", Tensor({DType::bf16, {2}})}},
                          {{"made by", "a test"}});
        weights = read("model.safetensors");
    }
};

// Whether it loaded; then everything in it must be readable. Otherwise the message must name the file.
bool loads(const TemporaryFolder &folder) {
    try {
        const auto model = Model::load(folder.path());
        unsigned sum = 0;
        for (const auto &[name, entry] : model->weights.entries()) {
            REQUIRE(entry.bytes().size() == entry.type.bytes());
            for (const std::byte b : entry.bytes()) sum += static_cast<unsigned>(b);
        }
        CHECK(sum < 1u << 31);
        for (const auto &[name, graph] : model->graphs) CHECK_FALSE(graph.nodes.empty());
        return true;
    } catch (const Error &e) {
        CHECK(e.code() == ErrorCode::input);
        CHECK_THAT(e.what(), contains(folder.path().string()));
        return false;
    }
}

// Tries every proper prefix of a file, and counts those that load.
size_t prefixes_that_load(const Folder &folder, const std::string &name, const std::string &bytes) {
    size_t loaded = 0;
    for (size_t length = 0; length < bytes.size(); ++length) {
        folder.write(name, bytes.substr(0, length));
        loaded += loads(folder);
    }
    return loaded;
}

// Changes one to three bytes: flips a bit, or writes a byte with a meaning in JSON, or any byte.
std::string damaged(std::string bytes, std::mt19937 &random) {
    constexpr char telling[] = "{}[]\",:0123456789-.eE\\u\xFF\x80\n <>"; // and the zero at its end
    const size_t changes = 1 + random() % 3;
    for (size_t i = 0; i < changes; ++i) {
        char &byte = bytes[random() % bytes.size()];
        switch (random() % 3) {
        case 0:
            byte = static_cast<char>(byte ^ (1 << random() % 8));
            break;
        case 1:
            byte = telling[random() % sizeof telling];
            break;
        default:
            byte = static_cast<char>(random());
            break;
        }
    }
    return bytes;
}

void damage_many_times(const std::string &name, std::string Folder::*file, int times) {
    const Folder folder;
    std::mt19937 random(seed);
    int refused = 0;
    for (int i = 0; i < times; ++i) {
        CAPTURE(seed, i);
        folder.write(name, damaged(folder.*file, random));
        refused += !loads(folder);
    }
    CHECK(refused > times / 10); // damage is noticed
    CHECK(refused < times);      // but not everything is refused
}

} // namespace

TEST_CASE("hostile: the folder that the others break loads") {
    const Folder folder;
    REQUIRE(loads(folder));
}

TEST_CASE("hostile: no weights file that is cut short loads") {
    const Folder folder;
    CHECK(prefixes_that_load(folder, "model.safetensors", folder.weights) == 0);
}

TEST_CASE("hostile: no weights file with trailing data loads") {
    const Folder folder;
    folder.write("model.safetensors", folder.weights + '\0');
    CHECK_FALSE(loads(folder));
}

TEST_CASE("hostile: no model.json that is cut short loads") {
    const Folder folder;
    CHECK(prefixes_that_load(folder, "model.json", folder.json) == 0);
}

TEST_CASE("hostile: damaged weights load or are refused") {
    damage_many_times("model.safetensors", &Folder::weights, 1500);
}

TEST_CASE("hostile: a damaged model.json loads or is refused") { damage_many_times("model.json", &Folder::json, 1500); }

TEST_CASE("hostile: a damaged vocabulary loads or is refused") {
    damage_many_times("v.txt", &Folder::vocabulary, 1000);
}

TEST_CASE("hostile: a damaged array is read or refused") {
    const TemporaryFolder folder;
    write_npy(folder.path() / "a.npy", Tensor::of({2, 3}, std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
    const std::string whole = folder.read("a.npy");
    const auto reads = [&](const std::string &bytes) {
        folder.write("a.npy", bytes);
        try {
            const Tensor array = read_npy(folder.path() / "a.npy");
            CHECK(array.bytes().size() == array.type().bytes());
            return true;
        } catch (const Error &e) {
            CHECK_THAT(e.what(), contains("a.npy: "));
            return false;
        }
    };
    REQUIRE(reads(whole));
    for (size_t length = 0; length < whole.size(); ++length) CHECK_FALSE(reads(whole.substr(0, length)));
    std::mt19937 random(seed);
    for (int i = 0; i < 1500; ++i) {
        CAPTURE(seed, i);
        (void)reads(damaged(whole, random));
    }
}

TEST_CASE("hostile: a model.json with absurd nesting or repetition is refused without cost") {
    const Folder folder;
    folder.write("model.json", std::string(8 << 20, '['));
    CHECK_FALSE(loads(folder));
    std::string deep;
    for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
    folder.write("model.json", deep);
    CHECK_FALSE(loads(folder));
    folder.write("model.json", "{\"a\":" + std::string(1 << 20, '1') + "}"); // a number of a million digits
    CHECK_FALSE(loads(folder));
}

TEST_CASE("hostile: names that are paths, devices or terminal codes do no harm") {
    Folder folder;
    const auto with = [&](const std::string &from, const std::string &to) {
        std::string text = folder.json;
        text.replace(text.find(from), from.size(), to);
        folder.write("model.json", text);
        return message_of([&] { (void)Model::load(folder.path()); });
    };
    CHECK_THAT(with("v.txt", "/dev/zero"), contains("expected the name of a file in the model folder"));
    CHECK_THAT(with("v.txt", "../../etc/passwd"), contains("expected the name of a file in the model folder"));
    const std::string message = with("\"type\": \"linear\"", "\"\\u001b[2J\": \"linear\"");
    CHECK_THAT(message, contains("\\x1b[2J"));
    CHECK(message.find('\x1b') == std::string::npos);
    std::filesystem::remove(folder.path() / "v.txt");
    std::filesystem::create_symlink("/dev/zero", folder.path() / "v.txt");
    folder.write("model.json", folder.json);
    CHECK_THAT(message_of([&] { (void)Model::load(folder.path()); }),
               contains("v.txt: is a device; expected an ordinary file"));
}

TEST_CASE("hostile: a pipe in a file's place is refused, and nothing waits for a writer") {
    for (const char *name : {"model.json", "model.safetensors", "v.txt"}) {
        CAPTURE(name);
        const Folder folder;
        std::filesystem::remove(folder.path() / name);
        REQUIRE(::mkfifo((folder.path() / name).c_str(), 0600) == 0);
        CHECK_THAT(message_of([&] { (void)Model::load(folder.path()); }), contains("expected an ordinary file"));
    }
}
