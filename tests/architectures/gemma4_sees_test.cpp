// What files of Gemma 4 say of images: see any_size_test.cpp, too.
#include "catch.hpp"
#include "folders.hpp"

#include <lamina/convert.hpp>
#include <lamina/image.hpp>
#include <lamina/inspect.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

using namespace lamina;
using matchers::contains;
using nlohmann::json;
using test::json_of;
using test::runtime;
namespace fs = std::filesystem;

namespace gemma4_sees {
namespace {

const fs::path seeing = test::architectures / "seeing";

fs::path talking(const TemporaryFolder &folder, const std::string &name) {
    const auto options = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
    fs::copy(test::architectures / "models" / name, folder.path(), options);
    fs::copy(seeing / "talking", folder.path(), options);
    return folder.path();
}

// Why a folder with a changed file is refused; empty: it is not.
std::string refusal(const fs::path &folder, const char *file, const std::function<void(json &)> &change) {
    const json good = json_of(folder / file);
    json changed = good;
    change(changed);
    std::ofstream(folder / file) << changed.dump();
    const std::string out = test::why_no_images(folder);
    std::ofstream(folder / file) << good.dump();
    return out;
}

} // namespace

TEST_CASE("gemma 4 sees: an image has the pixels that transformers' processor gives, times 2, minus 1") {
    const TemporaryFolder folder;
    const Model model = runtime().load(talking(folder, "gemma4_sees"));
    const Image expected = read_image(seeing / "gemma4_sees.png");
    const GraphRun run = image_inputs(model, {read_image(test::architectures / "images" / "files" / "photo.png")});
    const auto patches = run.inputs.at("patches").f32();
    const auto rows = run.inputs.at("patch_rows").i32(), columns = run.inputs.at("patch_columns").i32();
    constexpr int64_t patch = 4;
    const auto count = static_cast<size_t>(run.inputs.at("lengths").i32().front());
    REQUIRE(static_cast<int64_t>(count) * patch * patch == expected.width * expected.height);
    int64_t worst = 0;
    for (size_t i = 0; i < count; ++i)
        for (int64_t c = 0; c < 3; ++c)
            for (int64_t y = 0; y < patch; ++y)
                for (int64_t x = 0; x < patch; ++x) {
                    const float value =
                        patches[(i * 3 + static_cast<size_t>(c)) * patch * patch + static_cast<size_t>(y * patch + x)];
                    const int64_t at = (rows[i] * patch + y) * expected.width + columns[i] * patch + x;
                    const int64_t found = std::lround((value + 1) / 2 * 255),
                                  wanted = expected.pixels[static_cast<size_t>(at * 3 + c)];
                    worst = std::max(worst, std::abs(found - wanted));
                }
    CHECK(worst <= 1);
}

TEST_CASE("gemma 4 sees: without a preprocessor, texts alone are read") {
    const TemporaryFolder folder;
    const fs::path files = talking(folder, "gemma4_sees_together");
    CHECK(inspect(runtime(), files).generation->images.has_value());
    fs::remove(files / "preprocessor_config.json");
    CHECK_FALSE(inspect(runtime(), files).generation->images.has_value());
    CHECK(inspect(runtime(), files).graphs.size() == 1);
}

TEST_CASE("gemma 4 sees: a model folder says how large images become and what the decoder is given, or is refused") {
    const TemporaryFolder folder, converted;
    const fs::path saved = converted.path() / "model";
    convert(runtime(), talking(folder, "gemma4_sees"), {}).model.save(saved);
    const json images = json_of(saved / "model.json")["images"];
    CHECK(images["resize"] == json{{"multiple", 12}, {"most_pixels", 70 * 144}, {"filter", "bicubic"}});
    CHECK(images["mean"] == json{0.5, 0.5, 0.5});
    CHECK(images["deviation"] == json{0.5, 0.5, 0.5});
    CHECK(images["place"]["token"] == 50);
    CHECK(images["place"]["given"] == 3);
    CHECK(images["place"]["text"] == "w51<image>w52");
    const auto refused = [&](const std::function<void(json &)> &change) {
        return refusal(saved, "model.json", change);
    };
    CHECK(refused([](json &) {}).empty());
    CHECK_THAT(refused([](json &m) { m["images"]["resize"].erase("most_pixels"); }), contains("need each other"));
    CHECK_THAT(refused([](json &m) { m["images"]["resize"].erase("multiple"); }), contains("need each other"));
    CHECK_THAT(refused([](json &m) { m["images"].erase("rows"); }), contains("nothing gives the input 'patch_rows'"));
    CHECK_THAT(refused([](json &m) { m["images"]["columns"] = "lengths"; }), contains("/images/columns"));
    CHECK_THAT(refused([](json &m) { m["images"]["place"]["given"] = 53; }), contains("/images/place/given"));
    CHECK_THAT(refused([](json &m) { m["images"]["size"] = {12, 12}; }), contains("do not have it"));
}

TEST_CASE("gemma 4 sees: preprocessors that do not fit the model are refused") {
    const TemporaryFolder folder;
    const fs::path files = talking(folder, "gemma4_sees");
    const auto refused = [&](const std::function<void(json &)> &change) {
        return refusal(files, "preprocessor_config.json", change);
    };
    CHECK(refused([](json &p) { p["max_soft_tokens"] = 1120, p["size"] = {{"height", 224}, {"width", 224}}; }).empty());
    CHECK_THAT(refused([](json &p) { p["max_soft_tokens"] = 71; }), contains("/max_soft_tokens: expected 70, 140"));
    CHECK_THAT(refused([](json &p) { p["patch_size"] = 5; }), contains("/patch_size: expected 5, as the model's"));
    CHECK_THAT(refused([](json &p) { p["pooling_kernel_size"] = 2; }),
               contains("/pooling_kernel_size: expected 2, as"));
    CHECK_THAT(refused([](json &p) { p["pooling_kernel_size"] = 0; }), contains("expected 1 to 256, found 0"));
    CHECK_THAT(refused([](json &p) { p["patch_size"] = 200, p["max_soft_tokens"] = 1120; }), contains("pixels"));
    CHECK_THAT(refused([](json &p) { p["do_resize"] = false; }), contains("do_resize"));
    CHECK_THAT(refused([](json &p) { p["do_magic"] = 1; }), contains("do_magic"));
    for (const char *other : {"PixtralImageProcessor", "Qwen2VLImageProcessor", "ViTImageProcessor"})
        CHECK_THAT(refused([&](json &p) { p = {{"image_processor_type", other}}; }), contains("preprocessor"));
}

TEST_CASE("gemma 4 sees: settings that are not supported are refused") {
    const TemporaryFolder folder;
    const fs::path files = talking(folder, "gemma4_sees");
    const auto refused = [&](const std::function<void(json &)> &change) {
        return refusal(files, "config.json", change);
    };
    const auto refused_vision = [&](const char *key, const json &value) {
        return refused([&](json &c) { c["vision_config"][key] = value; });
    };
    CHECK(refused([](json &) {}).empty());
    CHECK_THAT(refused_vision("head_dim", 6), contains("/vision_config/head_dim: expected a multiple of 4"));
    CHECK_THAT(refused_vision("num_key_value_heads", 3), contains("a multiple of the key and value heads, 3"));
    CHECK_THAT(refused_vision("pooling_kernel_size", 1), contains("expected 2 to 16, found 1"));
    CHECK_THAT(refused_vision("rope_parameters", {{"rope_type", "linear"}, {"factor", 2.0}}), contains("axial"));
    CHECK_THAT(refused_vision("use_bidirectional_attention", "vision"), contains("use_bidirectional_attention"));
    CHECK_THAT(refused_vision("standardize", true), contains("std_scale"));
    CHECK_THAT(refused([](json &c) { c["text_config"]["pad_token_id"] = nullptr; }),
               contains("/text_config/pad_token_id") && contains("stands for images"));
    CHECK_THAT(refused([](json &c) { c["image_token_id"] = 53; }), contains("the tokenizer has no token 53"));
    CHECK(refused([](json &c) { c.erase("vision_config"); }).empty()); // transformers then has texts alone, too
}

// How likely `word` is after a prompt with an image, in whose place the decoder is given `filler`.
double likelihood(Session &session, std::vector<int32_t> ids, const Tensor &seen, int32_t filler, int32_t word) {
    const auto count = static_cast<int64_t>(ids.size()), channels = seen.shape().back();
    Tensor rows(TensorType{DType::f32, {1, count, channels}}), mask(TensorType{DType::i32, {1, count}});
    size_t row = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= 0) continue;
        const auto width = static_cast<size_t>(channels);
        std::ranges::copy(seen.f32().subspan(row++ * width, width), rows.f32().subspan(i * width).begin());
        mask.i32()[i] = 1, ids[i] = filler;
    }
    const TensorMap out = session.run("decode", {{"ids", Tensor::of({1, count}, ids)},
                                                 {"position", Tensor::of({1}, std::vector<int32_t>{0})},
                                                 {"image_rows", std::move(rows)},
                                                 {"image_mask", std::move(mask)}});
    const Tensor &logits = out.at("logits");
    const auto words = static_cast<size_t>(logits.shape().back());
    double sum = 0;
    for (const float each : logits.f32().last(words)) sum += std::exp(double{each});
    return logits.f32().last(words)[static_cast<size_t>(word)] - std::log(sum);
}

TEST_CASE("gemma 4 sees: the decoder is given padding in the place of images, whose embeddings of layers count") {
    const TemporaryFolder folder;
    const Model model = runtime().load(talking(folder, "gemma4_sees"));
    Session session = runtime().session(model, runtime().device("cpu"));
    const std::vector<Image> images{read_image(test::architectures / "images" / "files" / "photo.png")};
    const std::vector<int32_t> ids = image_prompt_ids(session, "w40 <image>w5 w41", images);
    GenerateOptions options;
    options.max_length = 1;
    const Hypothesis found = generate_from_ids(session, ids, options).front();
    const GraphRun run = image_inputs(model, images);
    const Tensor seen = session.run(run.graph, run.inputs).at("tokens");
    CHECK(std::abs(found.log_probability - likelihood(session, ids, seen, 3, found.tokens.front())) < 1e-4);
    CHECK(std::abs(found.log_probability - likelihood(session, ids, seen, 50, found.tokens.front())) > 1e-3);
}

// A model whose file has another number at a tensor of one.
TEST_CASE("gemma 4 sees: limits of products that exclude all numbers are refused") {
    const TemporaryFolder folder;
    const fs::path file = talking(folder, "gemma4_sees") / "model.safetensors";
    std::ifstream in(file, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    const json tensors = json::parse(bytes.substr(sizeof header, header));
    const std::string name = "model.vision_tower.encoder.layers.0.mlp.up_proj.input_min";
    const auto at = tensors[name]["data_offsets"][0].get<size_t>() + sizeof header + header;
    bytes[at] = 0, bytes[at + 1] = 0x44; // 4, in half precision
    std::ofstream(file, std::ios::binary) << bytes;
    CHECK_THAT(test::why_no_images(folder.path()),
               contains("up_proj.input_min' is 4.0") && contains("expected a number of at most"));
}

} // namespace gemma4_sees
