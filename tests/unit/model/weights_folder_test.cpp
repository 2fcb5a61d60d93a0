#include "model/weights_folder.hpp"

#include "catch.hpp"
#include "model/safetensors.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"

using namespace lamina;
using namespace lamina::model;
using matchers::contains;

namespace {

// a and b in one shard, c in another.
struct Sharded : TemporaryFolder {
    Sharded() {
        shard("1.safetensors", {"a", "b"});
        shard("2.safetensors", {"c"});
        index(R"({"a": "1.safetensors", "b": "1.safetensors", "c": "2.safetensors"})");
    }
    void shard(const std::string &name, const std::vector<std::string> &tensors) const {
        std::map<std::string, Tensor, std::less<>> content;
        for (const std::string &tensor : tensors) content[tensor] = Tensor({DType::f32, {2}});
        write_safetensors(path() / name, content);
    }
    void index(const std::string &map) const {
        write("model.safetensors.index.json", R"({"metadata": {"total_size": 24}, "weight_map": )" + map + "}");
    }
    [[nodiscard]] std::string refusal() const {
        return message_of([&] { (void)open_weights_folder(path()); });
    }
};

} // namespace

TEST_CASE("weights folder: the shards that the index names are one set of weights") {
    const Sharded folder;
    const Weights weights = open_weights_folder(folder.path());
    CHECK(weights.entries().size() == 3);
    CHECK(weights.entries().contains("c"));
    CHECK(weights.file().filename() == "model.safetensors.index.json");
}

TEST_CASE("weights folder: a single file takes precedence over an index") {
    const Sharded folder;
    folder.shard("model.safetensors", {"d"});
    CHECK(open_weights_folder(folder.path()).entries().contains("d"));
}

TEST_CASE("weights folder: without weights it is an error, which says what is there instead") {
    const TemporaryFolder folder;
    const auto refusal = [&] { return message_of([&] { (void)open_weights_folder(folder.path()); }); };
    CHECK_THAT(refusal(), contains("expected model.safetensors, or model.safetensors.index.json") &&
                              contains("or either of pytorch_model.bin"));
    folder.write("tf_model.h5", "x");
    CHECK_THAT(refusal(), contains("found tf_model.h5, weights for TensorFlow or JAX"));
}

TEST_CASE("weights folder: files of PyTorch are read where there are none of safetensors") {
    const Sharded folder;
    const std::filesystem::path torch_files = LAMINA_SOURCE_DIR "/tests/unit/model/torch";
    std::filesystem::copy(torch_files / "zip.bin", folder.path() / "a.bin");
    folder.write("pytorch_model.bin.index.json", R"({"weight_map": {"matrix": "a.bin", "half": "a.bin"}})");
    CHECK(open_weights_folder(folder.path()).entries().contains("c"));
    std::filesystem::remove(folder.path() / "model.safetensors.index.json");
    const Weights sharded = open_weights_folder(folder.path());
    CHECK(sharded.at("matrix").type.shape == Shape{3, 5});
    CHECK(sharded.file().filename() == "pytorch_model.bin.index.json");
    std::filesystem::copy(torch_files / "legacy.bin", folder.path() / "pytorch_model.bin");
    CHECK(open_weights_folder(folder.path()).file().filename() == "pytorch_model.bin");
    folder.write("pytorch_model.bin.index.json", R"({"weight_map": {"matrix": "b.bin"}})");
    std::filesystem::remove(folder.path() / "pytorch_model.bin");
    CHECK_THAT(folder.refusal(), contains("/weight_map/matrix: the folder has no 'b.bin'"));
}

TEST_CASE("weights folder: index and shards must agree") {
    const Sharded folder;
    folder.index(R"({"a": "1.safetensors", "c": "3.safetensors"})");
    CHECK_THAT(folder.refusal(), contains("/weight_map/c: the folder has no '3.safetensors'"));
    folder.index(R"({"a": "1.safetensors", "z": "1.safetensors"})");
    CHECK_THAT(folder.refusal(), contains("/weight_map/z: '1.safetensors' holds no tensor 'z'"));
    folder.shard("2.safetensors", {"b", "c"});
    folder.index(R"({"a": "1.safetensors", "b": "1.safetensors", "c": "2.safetensors"})");
    CHECK_THAT(folder.refusal(), contains("2.safetensors: a tensor of another shard again"));
    CHECK_THAT(folder.refusal(), contains("a second tensor is called 'b'"));
}
