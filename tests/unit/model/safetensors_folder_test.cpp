#include "model/safetensors.hpp"

#include "catch.hpp"
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
        return message_of([&] { (void)open_safetensors_folder(path()); });
    }
};

} // namespace

TEST_CASE("safetensors folder: the shards that the index names are one set of weights") {
    const Sharded folder;
    const Weights weights = open_safetensors_folder(folder.path());
    CHECK(weights.entries().size() == 3);
    CHECK(weights.entries().contains("c"));
    CHECK(weights.file().filename() == "model.safetensors.index.json");
}

TEST_CASE("safetensors folder: a single file takes precedence over an index") {
    const Sharded folder;
    folder.shard("model.safetensors", {"d"});
    CHECK(open_safetensors_folder(folder.path()).entries().contains("d"));
}

TEST_CASE("safetensors folder: without weights it is an error, which mentions pickled weights") {
    const TemporaryFolder folder;
    const auto refusal = [&] { return message_of([&] { (void)open_safetensors_folder(folder.path()); }); };
    CHECK_THAT(refusal(), contains("expected model.safetensors, or model.safetensors.index.json"));
    folder.write("pytorch_model.bin", "PK");
    CHECK_THAT(refusal(), contains("save the model again as safetensors"));
}

TEST_CASE("safetensors folder: index and shards must agree") {
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
