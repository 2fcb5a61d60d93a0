// Models that see images of any size, compared with transformers. seeing/make_any_size.py wrote what it answers.
#include "catch.hpp"
#include "folders.hpp"

#include <lamina/batch.hpp>
#include <lamina/convert.hpp>
#include <lamina/image.hpp>
#include <lamina/inspect.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>

using namespace lamina;
using matchers::contains;
using nlohmann::json;
using test::json_of;
using test::runtime;
using test::session_of;
namespace fs = std::filesystem;

namespace any_size {
namespace {

const fs::path seeing = test::architectures / "seeing", image_files = test::architectures / "images" / "files";
constexpr int32_t image_token = 50;

fs::path talking(const TemporaryFolder &folder, const std::string &name) {
    const auto options = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
    fs::copy(test::architectures / "models" / name, folder.path(), options);
    fs::copy(seeing / "talking", folder.path(), options);
    return folder.path();
}

std::vector<Image> images_of(const json &conversation) {
    std::vector<Image> out;
    for (const std::string file : conversation["images"]) out.push_back(read_image(image_files / file));
    return out;
}

// Of one colour, so that only their shapes differ.
Image plain(int64_t width, int64_t height) {
    return {width, height, std::vector<uint8_t>(static_cast<size_t>(3 * width * height), 90)};
}

std::vector<int32_t> prompt_of(Session &session, const json &conversation) {
    return image_prompt_ids(session, conversation["prompt"], images_of(conversation));
}

GenerateOptions greedy() {
    GenerateOptions out;
    out.max_length = 6;
    out.ignore_end = true;
    return out;
}

void check_answers(Session session, const json &conversations) {
    for (const json &each : conversations) {
        INFO(each["prompt"].get<std::string>());
        const auto answer = each["answer"].get<std::vector<int32_t>>();
        std::vector<int32_t> ids = prompt_of(session, each);
        CHECK(generate_from_ids(session, ids, greedy()).front().tokens == answer);
        GenerateOptions whole = greedy();
        whole.cached = false;
        CHECK(generate_from_ids(session, ids, whole).front().tokens == answer);
        std::ranges::replace_if(
            ids, [](int32_t id) { return id < 0; }, image_token);
        CHECK(ids == each["ids"].get<std::vector<int32_t>>());
    }
}

} // namespace

TEST_CASE("any size: answers about images are those of transformers, after conversion, too") {
    const json expected = json_of(seeing / "any_size.json");
    const std::map<std::string, int64_t> most_tokens{{"gemma4_sees", 70},
                                                     {"gemma4_sees_together", 70},
                                                     {"llava_pixtral_sees", 6 * 7},
                                                     {"mistral3_sees", 5 * 6},
                                                     {"mistral3_sees_ministral3", 5 * 6},
                                                     {"qwen2_5_vl_sees", 25},
                                                     {"qwen2_vl_sees", 25},
                                                     {"qwen3_5_moe_sees", 25},
                                                     {"qwen3_5_sees", 25},
                                                     {"qwen3_vl_moe_sees", 25},
                                                     {"qwen3_vl_sees", 25}};
    for (const auto &[name, most] : most_tokens) {
        const TemporaryFolder folder, converted;
        const Model model = runtime().load(talking(folder, name));
        for (const Device &device : runtime().devices()) {
            INFO(name << " on " << device.id);
            check_answers(runtime().session(model, device), expected[name]);
        }
        check_answers(runtime().session(model, runtime().device("reference")), expected[name]);
        if (const auto devices = runtime().devices(); devices.size() > 1)
            check_answers(runtime().session(model, runtime().device(devices.front().id + ",cpu")), expected[name]);
        convert(runtime(), folder.path(), {}).model.save(converted.path() / "model");
        const Model again = runtime().load(converted.path() / "model");
        check_answers(runtime().session(again, runtime().device("cpu")), expected[name]);
        const TextGeneration inside = inspect(again).generation.value();
        CHECK(inside.images.value().mark == "<image>");
        CHECK(inside.images.value().tokens == most);
        CHECK(inside.images.value().width == 0);
        CHECK(inspect(runtime(), folder.path()).generation->images->tokens == most);
    }
}

TEST_CASE("any size: texts with images beside each other, and guesses, give what each gives alone") {
    const std::string name = GENERATE("qwen2_5_vl_sees", "qwen3_5_sees");
    CAPTURE(name);
    const json expected = json_of(seeing / "any_size.json")[name];
    const TemporaryFolder folder;
    Session session = session_of(talking(folder, name));
    Batch batch(session, {.slots = 3, .length = 60});
    for (const size_t guesses : {size_t{0}, size_t{3}}) {
        GenerateOptions options = greedy();
        options.reuse = true;
        options.guess_ahead = guesses;
        std::map<uint64_t, std::vector<int32_t>> wanted, found;
        for (const json &each : expected)
            wanted[batch.add_ids(prompt_of(session, each), options)] = each["answer"].get<std::vector<int32_t>>();
        while (!batch.empty())
            for (const Batch::Progress &each : batch.step())
                if (each.finished) found[each.id] = each.finished->tokens;
        CHECK(found == wanted);
    }
    // Alone, so that it is guessed ahead, after its own beginning.
    GenerateOptions options = greedy();
    options.guess_ahead = 4;
    CHECK(generate_from_ids(session, prompt_of(session, expected[2]), options).front().tokens ==
          expected[2]["answer"].get<std::vector<int32_t>>());
}

TEST_CASE("any size: memories go on after images, and begin anew where another image is") {
    const TemporaryFolder folder;
    const Model model = runtime().load(talking(folder, "qwen3_5_sees"));
    Session session = runtime().session(model, runtime().device("cpu")),
            fresh = runtime().session(model, runtime().device("cpu"));
    GenerateOptions again = greedy();
    again.reuse = true;
    std::vector<int32_t> said; // with the answer to it
    const auto reused = [&](std::vector<int32_t> ids) {
        const Hypothesis found = generate_from_ids(session, ids, again).front();
        CHECK(found.tokens == generate_from_ids(fresh, ids, greedy()).front().tokens);
        said = std::move(ids);
        said.insert(said.end(), found.tokens.begin(), found.tokens.end());
        return found.reused;
    };
    const auto ids_of = [&](const std::string &prompt, const char *image) {
        const std::vector<Image> images{read_image(image_files / image)};
        std::vector<int32_t> ids = image_prompt_ids(session, prompt, images);
        CHECK(ids == image_prompt_ids(fresh, prompt, images));
        return ids;
    };
    const std::vector<int32_t> photo = ids_of("<image> w3 w4", "photo.png"), second = ids_of("<image> w9", "alpha.png"),
                               other = ids_of("<image> w3 w4", "turned.png");
    REQUIRE(photo.size() == other.size());
    CHECK(reused(photo) == 0);
    const size_t taken = said.size() - 1; // the last word of an answer was never given back
    said.insert(said.end(), second.begin(), second.end());
    CHECK(reused(said) == taken);
    CHECK(reused(other) == 0);
    CHECK(reused(photo) == 0);
}

TEST_CASE("any size: images become as many patches as in transformers") {
    const json expected = json_of(seeing / "any_size.json");
    for (const auto &[name, sizes] :
         {std::pair{"qwen2_5_vl_sees", "sizes"}, {"mistral3_sees", "limited_sizes"}, {"gemma4_sees", "filled_sizes"}}) {
        const TemporaryFolder folder;
        const Model model = runtime().load(talking(folder, name));
        for (const json &each : expected[sizes]) {
            const Image image = plain(each[0], each[1]);
            INFO(name << ": " << image.width << " x " << image.height);
            const GraphRun run = image_inputs(model, {image});
            int64_t rows = 0, columns = 0;
            const auto places = run.inputs.at("coordinates").i32();
            for (size_t i = 0; i < places.size(); i += 2) {
                rows = std::max<int64_t>(rows, places[i] + 1);
                columns = std::max<int64_t>(columns, places[i + 1] + 1);
            }
            CHECK(rows == each[2]);
            CHECK(columns == each[3]);
            CHECK(run.inputs.at("lengths").i32().front() == rows * columns);
        }
    }
}

TEST_CASE("any size: preprocessors that do not fit the model are refused") {
    const TemporaryFolder folder;
    const json good = json_of(talking(folder, "qwen2_5_vl_sees") / "preprocessor_config.json");
    const auto refused = [&](const std::function<void(json &)> &change) {
        json changed = good;
        change(changed);
        std::ofstream(folder.path() / "preprocessor_config.json") << changed.dump();
        return test::why_no_images(folder.path());
    };
    CHECK(refused([](json &) {}).empty());
    CHECK(refused([](json &p) { p.erase("size"), p["min_pixels"] = 64, p["max_pixels"] = 64; }).empty());
    CHECK_THAT(refused([](json &p) { p["patch_size"] = 5; }), contains("/patch_size: expected 5, as the model's"));
    CHECK_THAT(refused([](json &p) { p["merge_size"] = 1; }), contains("/spatial_merge_size: expected 1, as"));
    CHECK_THAT(refused([](json &p) { p["temporal_patch_size"] = 3; }), contains("/temporal_patch_size: expected 3"));
    CHECK_THAT(refused([](json &p) { p["merge_size"] = 0; }), contains("/merge_size: expected 1 to 256, found 0"));
    CHECK_THAT(refused([](json &p) { p["max_pixels"] = 63; }), contains("/max_pixels: expected 64 to 16777216"));
    CHECK_THAT(refused([](json &p) { p["min_pixels"] = 5000; }), contains("no more, found 1600 and 5000"));
    CHECK_THAT(refused([](json &p) { p["size"].erase("longest_edge"); }), contains("'longest_edge' is missing"));
    CHECK_THAT(refused([](json &p) { p["do_resize"] = false; }), contains("do_resize"));
    CHECK_THAT(refused([](json &p) { p["do_magic"] = 1; }), contains("do_magic"));
    CHECK_THAT(refused([](json &p) { p = {{"image_processor_type", "ViTImageProcessor"}}; }), contains("one size"));
}

// The same inputs without filler behind patches and windows.
TensorMap trimmed(const TensorMap &inputs) {
    const auto count = static_cast<size_t>(inputs.at("lengths").i32().front());
    const auto places = inputs.at("window_places").i32().first(count);
    const size_t area = static_cast<size_t>(inputs.at("window_rows").shape()[1]),
                 windows = static_cast<size_t>(*std::ranges::max_element(places)) / area + 1;
    TensorMap out;
    for (const auto &[name, tensor] : inputs) {
        TensorType type = tensor.type();
        const bool of_windows = name == "window_rows" || name == "window_lengths";
        if (name != "lengths") type.shape[of_windows ? 0 : 1] = static_cast<int64_t>(of_windows ? windows : count);
        out[name] = Tensor(type);
        std::ranges::copy(tensor.bytes().first(type.bytes()), out[name].bytes().begin());
    }
    return out;
}

TEST_CASE("any size: filler behind the patches of an image, and behind its windows, changes nothing") {
    const TemporaryFolder folder;
    json preprocessor = json_of(talking(folder, "qwen2_5_vl_sees") / "preprocessor_config.json");
    preprocessor["size"]["longest_edge"] = 20000;
    std::ofstream(folder.path() / "preprocessor_config.json") << preprocessor.dump();
    const Model model = runtime().load(folder.path());
    Session session = runtime().session(model, runtime().device("cpu"));
    Image image = plain(104, 100);
    for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i * i % 251);
    const GraphRun run = image_inputs(model, {image});
    const TensorMap inputs = trimmed(run.inputs);
    CHECK(inputs.at("patches").shape()[1] == 13 * 12 * 4);
    CHECK(run.inputs.at("patches").shape()[1] == 160 * 4);
    CHECK(inputs.at("window_rows").shape() == Shape{42, 16});
    CHECK(run.inputs.at("window_rows").shape() == Shape{44, 16});
    const Tensor with = session.run(run.graph, run.inputs).at("tokens"),
                 without = session.run(run.graph, inputs).at("tokens");
    REQUIRE(without.shape() == Shape{1, 13 * 12, 48});
    for (size_t i = 0; i < without.f32().size(); ++i)
        if (std::abs(with.f32()[i] - without.f32()[i]) > 1e-4F) FAIL("value " << i << " differs");
}

TEST_CASE("any size: images of the same patches in another shape are others") {
    const TemporaryFolder folder;
    Session session = session_of(talking(folder, "qwen2_5_vl_sees"));
    const auto ids = [&](int64_t width, int64_t height) {
        return image_prompt_ids(session, "<image> w3", {plain(width, height)});
    };
    const std::vector<int32_t> wide = ids(32, 16), high = ids(16, 32);
    CHECK(wide.size() == high.size());
    CHECK(wide.size() == 9);
    CHECK(std::ranges::find(high, wide.front()) == high.end());
    CHECK(ids(32, 16) == wide);
}

TEST_CASE("any size: images that no model takes are refused") {
    const TemporaryFolder folder;
    const Model model = runtime().load(talking(folder, "qwen2_5_vl_sees"));
    Session session = runtime().session(model, runtime().device("cpu"));
    const auto refused = [&](const std::vector<Image> &images, const std::string &prompt) {
        return message_of([&] { (void)image_prompt_ids(session, prompt, images); });
    };
    CHECK_THAT(refused({plain(1, 201)}, "<image> w3"),
               contains("an image of 1 x 201 pixels: expected at most 200 times as many in one direction"));
    CHECK_THAT(refused({Image{2, 2, std::vector<uint8_t>(11)}}, "<image> w3"), contains("image 1: expected 3 values"));
    CHECK_THAT(refused({plain(8, 8)}, "<image> <image>"), contains("found it 2 times"));
    CHECK_THAT(refused(std::vector<Image>(3, plain(40, 40)), "<image> <image> <image>"),
               contains("expected at most 64"));
    CHECK_THAT(message_of([&] { (void)image_inputs(model, {plain(8, 8), plain(8, 8)}); }), contains("one at a time"));
}

TEST_CASE("any size: a model folder says what its graph takes, or is refused") {
    const TemporaryFolder folder, converted;
    const fs::path saved = converted.path() / "model";
    convert(runtime(), talking(folder, "qwen2_5_vl_sees"), {}).model.save(saved);
    const json good = json_of(saved / "model.json");
    CHECK(good["images"]["resize"] ==
          json{{"multiple", 8}, {"least_pixels", 256}, {"most_pixels", 1600}, {"filter", "bicubic"}});
    CHECK(good["images"]["windows"]["side"] == 4);
    CHECK(good["generation"]["coordinates"] == "coordinates");
    const auto refused = [&](const std::function<void(json &)> &change) {
        json changed = good;
        change(changed);
        std::ofstream(saved / "model.json") << changed.dump();
        return message_of([&] { (void)runtime().load(saved); });
    };
    CHECK(refused([](json &) {}).empty());
    CHECK_THAT(refused([](json &m) { m["images"]["resize"].erase("most_pixels"); }), contains("need each other"));
    CHECK_THAT(refused([](json &m) { m["images"]["resize"]["height"] = 8; }), contains("beside \"multiple\""));
    CHECK_THAT(refused([](json &m) { m["images"]["resize"]["multiple"] = 12; }),
               contains("/images/resize/multiple") && contains("expected a multiple of 8"));
    CHECK_THAT(refused([](json &m) { m["images"]["resize"]["most_pixels"] = 63; }), contains("most_pixels"));
    CHECK_THAT(refused([](json &m) { m["images"].erase("resize"); }), contains("without a \"size\""));
    CHECK_THAT(refused([](json &m) { m["images"].erase("coordinates"); }), contains("coordinates"));
    CHECK_THAT(refused([](json &m) { m["images"]["windows"]["side"] = 3; }),
               contains("/images/windows/side") && contains("expected a multiple of \"merge\", 2"));
    CHECK_THAT(refused([](json &m) { m["images"]["windows"]["side"] = 6; }),
               contains("input 'window_rows': expected a shape of (W 16)"));
    CHECK_THAT(refused([](json &m) { m["images"]["size"] = {16, 16}; }), contains("do not have it"));
    CHECK_THAT(refused([](json &m) { m["images"]["place"]["skip"] = 1; }), contains("nothing of it skipped"));
    CHECK_THAT(refused([](json &m) { m["generation"].erase("coordinates"); }), contains("nothing gives the input"));
}

TEST_CASE("any size: a folder says which layers show images to the first layers of a decoder, or is refused") {
    const TemporaryFolder folder, converted;
    const fs::path file = talking(folder, "qwen3_vl_sees") / "config.json", saved = converted.path() / "model";
    convert(runtime(), folder.path(), {}).model.save(saved);
    const json model = json_of(saved / "model.json"), good = json_of(file);
    CHECK(model["images"]["sizes"] == "sizes");
    CHECK(model["graphs"]["decode"]["inputs"]["image_rows"]["dims"] == "B T 144"); // of words, and after two layers
    const auto refused_model = [&](const std::function<void(json &)> &change) {
        json changed = model;
        change(changed);
        std::ofstream(saved / "model.json") << changed.dump();
        return message_of([&] { (void)runtime().load(saved); });
    };
    CHECK(refused_model([](json &) {}).empty());
    CHECK_THAT(refused_model([](json &m) { m["images"].erase("sizes"); }), contains("nothing gives the input"));
    CHECK_THAT(refused_model([](json &m) { m["images"]["sizes"] = "lengths"; }), contains("/images/sizes"));
    const auto refused = [&](const std::function<void(json &)> &change) {
        json changed = good;
        change(changed);
        std::ofstream(file) << changed.dump();
        return test::why_no_images(folder.path());
    };
    CHECK(refused([](json &) {}).empty());
    CHECK_THAT(refused([](json &c) { c["vision_config"]["num_position_embeddings"] = 50; }),
               contains("/vision_config/num_position_embeddings") && contains("expected the square of a number"));
    CHECK_THAT(refused([](json &c) {
                   c["vision_config"]["deepstack_visual_indexes"] = {2, 0, 1};
               }),
               contains("deepstack_merger_list.2"));
    CHECK_THAT(refused([](json &c) {
                   c["text_config"]["rope_parameters"]["mrope_section"] = {1, 1};
               }),
               contains("mrope_section") && contains("expected three numbers"));
}

TEST_CASE("any size: a folder says how long an image's sides are and what follows its rows, or is refused") {
    const TemporaryFolder folder, converted;
    const fs::path files = talking(folder, "mistral3_sees"), saved = converted.path() / "model";
    const Model model = runtime().load(files);
    CHECK_THAT(message_of([&] { (void)image_inputs(model, {plain(41, 1)}); }), contains("nothing left"));
    convert(runtime(), files, {}).model.save(saved);
    const json good = json_of(saved / "model.json");
    CHECK(good["images"]["resize"] == json{{"multiple", 8}, {"longest_edge", 40}, {"filter", "bicubic"}});
    CHECK(good["images"]["place"]["row_end"] == 46);
    CHECK(good["images"]["place"]["last_row_end"] == 47);
    const auto refused_model = [&](const std::function<void(json &)> &change) {
        json changed = good;
        change(changed);
        std::ofstream(saved / "model.json") << changed.dump();
        return message_of([&] { (void)runtime().load(saved); });
    };
    CHECK(refused_model([](json &) {}).empty());
    CHECK_THAT(refused_model([](json &m) { m["images"]["resize"]["least_pixels"] = 9; }), contains("least_pixels"));
    CHECK_THAT(refused_model([](json &m) { m["images"]["resize"]["longest_edge"] = 8000; }),
               contains("/images/resize/longest_edge") && contains("8000 x 8000"));
    CHECK_THAT(refused_model([](json &m) { m["images"]["place"].erase("row_end"); }), contains("row_end"));
    CHECK_THAT(refused_model([](json &m) { m["images"]["place"]["last_row_end"] = 53; }),
               contains("/images/place/last_row_end"));
    const auto refused = [&](const char *file, const std::function<void(json &)> &change) {
        const json unchanged = json_of(files / file);
        json changed = unchanged;
        change(changed);
        std::ofstream(files / file) << changed.dump();
        const std::string message = test::why_no_images(files);
        std::ofstream(files / file) << unchanged.dump();
        return message;
    };
    const char *const config = "config.json", *const prompts = "processor_config.json",
                      *const images = "preprocessor_config.json";
    CHECK_THAT(refused(prompts, [](json &c) { c["patch_size"] = 5; }), contains("expected 5") && contains("found 4"));
    CHECK_THAT(refused(prompts, [](json &c) { c["spatial_merge_size"] = 1; }),
               contains("squares of 2 patches a side") && contains("these are 1"));
    CHECK(refused(prompts, [](json &c) { c.erase("spatial_merge_size"); }) == "");
    CHECK_THAT(refused(prompts, [](json &c) { c["image_break_token"] = "[IMG_BREAK]"; }),
               contains("no token '[IMG_BREAK]'"));
    fs::rename(files / prompts, files / "elsewhere.json"); // then the tokens have the usual names
    CHECK_THAT(test::why_no_images(files), contains("no token '[IMG_BREAK]'"));
    fs::rename(files / "elsewhere.json", files / prompts);
    CHECK_THAT(refused(images, [](json &c) { c["size"]["longest_edge"] = 4097; }), contains("at most 4096"));
    CHECK_THAT(refused(images,
                       [](json &c) {
                           c["size"] = {{"height", 40}, {"width", 32}};
                       }),
               contains("limits that differ"));
    CHECK_THAT(refused(images,
                       [](json &c) {
                           c = {{"image_processor_type", "ViTImageProcessor"}};
                       }),
               contains("expected that of Pixtral"));
    CHECK_THAT(refused(config, [](json &c) { c["vision_feature_layer"] = {-1, -2}; }), contains("expected one layer"));
    CHECK_THAT(refused(config, [](json &c) { c["vision_feature_layer"] = -5; }), contains("expected -4 to 3"));
    CHECK_THAT(refused(config, [](json &c) { c["vision_config"]["model_type"] = "siglip_vision_model"; }),
               contains("/vision_config") && contains("pixtral"));
    CHECK_THAT(refused(config, [](json &c) { c["vision_config"]["num_attention_heads"] = 4; }),
               contains("heads of a multiple of 4 channels"));
    CHECK_THAT(refused(config, [](json &c) { c["vision_config"]["rope_parameters"]["rope_type"] = "yarn"; }),
               contains("expected axial"));
    CHECK_THAT(refused(config, [](json &c) { c["multimodal_projector_bias"] = true; }), contains("linear_1"));
    CHECK_THAT(refused(config, [](json &c) { c["vision_config"]["num_hidden_layers"] = 4; }),
               contains("vision_tower.transformer.layers.3."));
    CHECK(refused(config, [](json &c) { c["vision_feature_layer"] = 2; }).empty());
    fs::remove_all(folder.path());
    fs::create_directory(folder.path());
    (void)talking(folder, "llava_pixtral_sees");
    CHECK_THAT(refused(config, [](json &c) { c["vision_feature_select_strategy"] = "default"; }),
               contains("expected full"));
}

} // namespace any_size
