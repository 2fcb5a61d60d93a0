// Folders of sharded weights whose index or files are wrong.
#include "catch.hpp"
#include "model/safetensors.hpp"
#include "model/weights_folder.hpp"
#include "temporary_folder.hpp"

#include <sys/stat.h>

using namespace lamina;
using namespace lamina::model;
using matchers::contains;

namespace {

struct Folder : TemporaryFolder {
    Folder() { write_safetensors(path() / "1.safetensors", {{"a", Tensor({DType::f32, {2}})}}); }
    // The error for an index with this text.
    [[nodiscard]] std::string refusal(const std::string &index) const {
        write("model.safetensors.index.json", index);
        std::string message = message_of([&] { (void)open_weights_folder(path()); });
        if (!message.empty()) CHECK_THAT(message, contains(path().string()));
        return message;
    }
    [[nodiscard]] std::string refusal_of_file(const std::string &file) const {
        return refusal(R"({"weight_map": {"a": )" + file + "}}");
    }
};

} // namespace

TEST_CASE("hostile: the index that the others break is read") {
    CHECK(Folder().refusal_of_file("\"1.safetensors\"").empty());
}

TEST_CASE("hostile: an index of shards is a JSON object with a map of names") {
    const Folder folder;
    CHECK_THAT(folder.refusal(""), contains("not JSON"));
    CHECK_THAT(folder.refusal("[]"), contains("expected an object"));
    CHECK_THAT(folder.refusal("{}"), contains("the key 'weight_map' is missing"));
    CHECK_THAT(folder.refusal(R"({"weight_map": []})"), contains("/weight_map: expected an object"));
    CHECK_THAT(folder.refusal(R"({"weight_map": {}})"), contains("expected the names of tensors, found none"));
    CHECK_THAT(folder.refusal(R"({"weight_map": {"a": "1.safetensors", "a": "1.safetensors"}})"),
               contains("the key 'a' appears twice here"));
    CHECK_THAT(folder.refusal(std::string(1 << 20, '[')), contains("model.safetensors.index.json"));
}

TEST_CASE("hostile: shards are files of the same folder") {
    const Folder folder;
    for (const char *file :
         {"\"\"", "\"..\"", "\"/dev/zero\"", "\"../1.safetensors\"", "\"x/1.safetensors\"", "\"1\\u0000\""})
        CHECK_THAT(folder.refusal_of_file(file),
                   contains("/weight_map/a: expected the name of a file in the same folder"));
    CHECK_THAT(folder.refusal_of_file("7"), contains("/weight_map/a: expected a string"));
    CHECK_THAT(folder.refusal_of_file("\"2.safetensors\""), contains("the folder has no '2.safetensors'"));
    REQUIRE(::mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
    CHECK_THAT(folder.refusal_of_file("\"pipe\""), contains("expected an ordinary file"));
    std::filesystem::create_directory(folder.path() / "sub");
    CHECK_THAT(folder.refusal_of_file("\"sub\""), contains("expected an ordinary file"));
    std::filesystem::create_symlink("/dev/zero", folder.path() / "zero");
    CHECK_THAT(folder.refusal_of_file("\"zero\""), contains("expected an ordinary file"));
}

TEST_CASE("hostile: a shard that is damaged is named") {
    const Folder folder;
    const std::string whole = folder.read("1.safetensors");
    folder.write("1.safetensors", whole.substr(0, whole.size() - 1));
    CHECK_THAT(folder.refusal_of_file("\"1.safetensors\""), contains("1.safetensors: the header describes 8 bytes"));
    folder.write("1.safetensors", "");
    CHECK_THAT(folder.refusal_of_file("\"1.safetensors\""), contains("1.safetensors: not a safetensors file: 0 bytes"));
}
