// Folders of models that see images whose part for images is missing, or is not supported.
#include "catch.hpp"
#include "folders.hpp"

#include "model/safetensors.hpp"

#include <lamina/batch.hpp>
#include <lamina/image.hpp>
#include <lamina/inspect.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

using namespace lamina;
using matchers::contains;
using test::runtime;
using test::session_of;
namespace fs = std::filesystem;

namespace texts_alone {
namespace {

fs::path talking(const TemporaryFolder &folder, const std::string &name) {
    const auto options = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
    fs::copy(test::architectures / "models" / name, folder.path(), options);
    fs::copy(test::architectures / "seeing" / "talking", folder.path(), options);
    return folder.path();
}

// As a training for texts alone leaves the files.
void remove_images(const fs::path &folder) {
    const fs::path file = folder / "model.safetensors";
    std::map<std::string, Tensor, std::less<>> tensors;
    const model::Safetensors stored = model::open_safetensors(file);
    for (const auto &[name, weight] : stored.weights.entries()) {
        if (name.find("vis") != std::string::npos || name.find("projector") != std::string::npos) continue;
        Tensor copy(weight.type);
        std::memcpy(copy.bytes().data(), weight.bytes().data(), weight.bytes().size());
        tensors[name] = std::move(copy);
    }
    fs::remove(file);
    model::write_safetensors(file, tensors);
}

// What a model says after a text.
std::vector<int32_t> answer_of(Session session) {
    GenerateOptions options;
    options.max_length = 6;
    options.ignore_end = true;
    return generate_from_ids(session, {7, 8, 9}, options).front().tokens;
}

// `whole`: the answer with the part for images.
void check_texts_alone(const fs::path &folder, const std::vector<int32_t> &whole, const std::string &why) {
    const Model model = runtime().load(folder);
    const ModelContents contents = inspect(model);
    CHECK_THAT(contents.no_images, contains(why));
    CHECK(std::ranges::any_of(contents.notes, [&](const std::string &note) {
        return note.starts_with("without images: ") && note.find(why) != std::string::npos;
    }));
    Session session = runtime().session(model, runtime().device("cpu"));
    CHECK(answer_of(runtime().session(model, runtime().device("cpu"))) == whole);
    const Image image{1, 1, {0, 0, 0}};
    CHECK_THAT(message_of([&] { (void)image_prompt_ids(session, "<image> w3", {image}); }),
               contains("takes no images in prompts") && contains(why));
}

} // namespace

TEST_CASE("A folder without the tensors that read images is read for its texts, and says so") {
    const auto [name, tensor] = GENERATE(std::pair("qwen3_5_sees", "visual.patch_embed"),
                                         std::pair("gemma4_sees", "vision_tower"), std::pair("llava", "vision_tower"));
    INFO(name);
    const TemporaryFolder folder;
    const std::vector<int32_t> whole = answer_of(session_of(talking(folder, name)));
    remove_images(folder.path());
    check_texts_alone(folder.path(), whole, tensor);
}

TEST_CASE("A folder whose images are prepared in a way that is not known is read for its texts, and says so") {
    const std::string name = GENERATE("qwen3_5_sees", "gemma4_sees", "llava");
    INFO(name);
    const TemporaryFolder folder;
    const std::vector<int32_t> whole = answer_of(session_of(talking(folder, name)));
    folder.write("preprocessor_config.json", R"({"image_processor_type": "NewImageProcessor"})");
    check_texts_alone(folder.path(), whole, "'NewImageProcessor' is not supported");
}

TEST_CASE("A folder without the tensors that read texts is refused, also if it has none that read images") {
    const TemporaryFolder folder;
    remove_images(talking(folder, "qwen3_5_sees"));
    nlohmann::json config = test::json_of(folder.path() / "config.json");
    config["text_config"]["hidden_size"] = 44;
    folder.write("config.json", config.dump());
    CHECK_THAT(message_of([&] { (void)runtime().load(folder.path()); }), contains("embed_tokens"));
}

} // namespace texts_alone
