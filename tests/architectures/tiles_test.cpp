// Large images that are seen in tiles, and preprocessors that say so. seeing/make.py wrote tiles.json and grids.json;
// seeing_test.cpp compares answers about such images.
#include "catch.hpp"
#include "folders.hpp"

#include "image/tiles.hpp"

#include <lamina/convert.hpp>
#include <lamina/image.hpp>
#include <lamina/inspect.hpp>

#include <fstream>
#include <functional>

using namespace lamina;
using matchers::contains;
using nlohmann::json;
using test::json_of;
using test::runtime;
namespace fs = std::filesystem;

namespace tiles {
namespace {

const fs::path seeing = test::architectures / "seeing", image_files = test::architectures / "images" / "files";

// `words`: the folder of its tokenizer.
fs::path talking(const TemporaryFolder &folder, const std::string &name, const std::string &words) {
    const auto options = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
    fs::copy(test::architectures / "models" / name, folder.path(), options);
    fs::copy(seeing / words, folder.path(), options);
    return folder.path();
}

void change(const fs::path &file, const std::function<void(json &)> &how) {
    json changed = json_of(file);
    how(changed);
    std::ofstream(file) << changed.dump();
}

} // namespace

// grids.json has how many tiles there may be, the side of one, width and height of an image, and rows and columns of
// its tiles.
TEST_CASE("tiles: images have the grids of tiles that transformers cuts out") {
    for (const json &each : json_of(seeing / "grids.json")) {
        INFO(each.dump());
        const image::Tiling tiling{.side = each[2], .fewest = each[0], .most = each[1]};
        const image::TileGrid grid = image::grid_of(Image{each[3], each[4], {}}, tiling);
        CHECK(grid.rows == each[5].get<int64_t>());
        CHECK(grid.columns == each[6].get<int64_t>());
        CHECK(grid.tiles() <= image::most_tiles(tiling));
    }
    const image::Tiling tiling{.side = 10, .fewest = 1, .most = 6};
    const std::vector<Image> tiles = image::tiles_of(read_image(image_files / "photo.png"), tiling);
    CHECK(tiles.size() == 7); // 2 rows of 3, for 37 x 23 pixels, and the whole
    for (const Image &tile : tiles) CHECK((tile.width == 10 && tile.height == 10 && tile.pixels.size() == 300));
    CHECK(image::tiles_of(read_image(image_files / "photo.png"), {.side = 10, .fewest = 1, .most = 1}).size() == 1);
}

TEST_CASE("tiles: a folder of a grid says what tiles are, and how a prompt has them, or is refused") {
    const TemporaryFolder folder, converted;
    const fs::path preprocessor = talking(folder, "internvl_sees", "talking_internvl") / "preprocessor_config.json",
                   config = folder.path() / "config.json", saved = converted.path() / "model";
    const auto refused = [&](const fs::path &file, const std::function<void(json &)> &change) {
        const json good = json_of(file);
        json changed = good;
        change(changed);
        std::ofstream(file) << changed.dump();
        std::string out = test::why_no_images(folder.path());
        std::ofstream(file) << good.dump();
        return out;
    };
    CHECK(refused(preprocessor, [](json &p) { p["crop_to_patches"] = true; }).empty()); // always, whatever it says
    CHECK_THAT(refused(preprocessor, [](json &p) { p["min_patches"] = 7; }), contains("/max_patches"));
    CHECK_THAT(refused(preprocessor, [](json &p) { p["size"]["width"] = 15; }), contains("/size"));
    CHECK_THAT(refused(config, [](json &c) { c["downsample_ratio"] = 0.3; }), contains("/downsample_ratio"));
    CHECK_THAT(refused(config, [](json &c) { c["downsample_ratio"] = 0.125; }), contains("/downsample_ratio"));
    CHECK_THAT(refused(config, [](json &c) { c["vision_feature_layer"] = 4; }), contains("expected -4 to 3"));
    CHECK_THAT(refused(config, [](json &c) { c["vision_feature_layer"] = 0; }), contains("/vision_feature_layer"));
    CHECK_THAT(refused(config, [](json &c) { c["vision_feature_select_strategy"] = "full"; }),
               contains("expected 'default'"));
    CHECK_THAT(refused(config, [](json &c) { c["vision_config"]["norm_type"] = "batch_norm"; }),
               contains("/norm_type"));
    CHECK_THAT(refused(config, [](json &c) { c["vision_config"]["num_attention_heads"] = 3; }),
               contains("/num_attention_heads"));
    convert(runtime(), folder.path(), {}).model.save(saved);
    const json good = json_of(saved / "model.json");
    CHECK(good["images"]["tiles"] == json{{"fewest", 1}, {"most", 6}});
    CHECK(good["images"]["place"] == json{{"token", 50},
                                          {"mark", "<IMG_CONTEXT>"},
                                          {"tile", "<IMG_CONTEXT>"},
                                          {"before", "<img>"},
                                          {"text", "<IMG_CONTEXT></img>"},
                                          {"lines", false}});
    CHECK(inspect(runtime().load(saved)).generation.value().images.value().tokens == 4 * 7);
    const auto refused_model = [&](const std::function<void(json &)> &change) {
        json changed = good;
        change(changed["images"]);
        std::ofstream(saved / "model.json") << changed.dump();
        return message_of([&] { (void)runtime().load(saved); });
    };
    CHECK_THAT(refused_model([](json &i) { i["tiles"]["fewest"] = 7; }), contains("/images/tiles/fewest"));
    CHECK_THAT(refused_model([](json &i) { i["tiles"]["longest_edge"] = 7; }), contains("/images/tiles/longest_edge"));
    CHECK_THAT(refused_model([](json &i) { i["tiles"].erase("most"); }), contains("need each other"));
    CHECK_THAT(refused_model([](json &i) { i["tiles"]["most"] = 1024; }), contains("/images/tiles/most"));
    CHECK_THAT(refused_model([](json &i) { i["place"]["before"] = 1; }), contains("/images/place/before"));
    CHECK_THAT(refused_model([](json &i) { i["place"]["lines"] = 1; }), contains("/images/place/lines"));
}

// tiles.json has the longest side, that of a tile, width and height of an image, and rows and columns of its tiles.
TEST_CASE("tiles: large images have the tiles that transformers cuts out") {
    for (const json &each : json_of(seeing / "tiles.json")) {
        INFO(each.dump());
        const image::Tiling tiling{.longest = each[0], .side = each[1]};
        const image::TileGrid grid = image::grid_of(Image{each[2], each[3], {}}, tiling);
        CHECK(grid.rows == each[4].get<int64_t>());
        CHECK(grid.columns == each[5].get<int64_t>());
        CHECK(grid.tiles() <= image::most_tiles(tiling));
    }
    const image::Tiling tiling{.longest = 30, .side = 10};
    const std::vector<Image> tiles = image::tiles_of(read_image(image_files / "photo.png"), tiling);
    CHECK(tiles.size() == 7); // 30 x 19 pixels, then 30 x 20
    for (const Image &tile : tiles) CHECK((tile.width == 10 && tile.height == 10 && tile.pixels.size() == 300));
}

TEST_CASE("tiles: a preprocessor says what tiles are, or is refused") {
    const TemporaryFolder folder, converted;
    const fs::path file = talking(folder, "idefics3_sees", "talking_idefics3") / "preprocessor_config.json",
                   saved = converted.path() / "m";
    const json good = json_of(file);
    const auto refused = [&](const std::function<void(json &)> &change) {
        json changed = good;
        change(changed);
        std::ofstream(file) << changed.dump();
        return test::why_no_images(folder.path());
    };
    CHECK_THAT(refused([](json &p) { p["do_resize"] = false; }), contains("/do_resize"));
    CHECK_THAT(refused([](json &p) { p["size"] = {{"height", 8}, {"width", 8}}; }), contains("/size"));
    CHECK_THAT(refused([](json &p) { p["size"]["longest_edge"] = 5000; }), contains("longest_edge"));
    CHECK_THAT(refused([](json &p) { p["size"]["longest_edge"] = 384; }),
               contains("an image may have 1025 tiles of") && contains("expected at most 1024"));
    CHECK_THAT(refused([](json &p) { p["max_image_size"]["longest_edge"] = 24; }), contains("/image_size"));
    CHECK(refused([](json &) {}).empty());
    // In a model folder.
    convert(runtime(), folder.path(), {}).model.save(saved);
    const json model = json_of(saved / "model.json");
    CHECK(model["images"]["tiles"] == json{{"longest_edge", 36}});
    const auto refused_model = [&](const std::function<void(json &)> &change) {
        json changed = model;
        change(changed["images"]);
        std::ofstream(saved / "model.json") << changed.dump();
        return message_of([&] { (void)runtime().load(saved); });
    };
    CHECK_THAT(refused_model([](json &i) { i.erase("tiles"); }), contains("need each other"));
    CHECK_THAT(refused_model([](json &i) { i["tiles"]["split"] = 0; }), contains("/images/tiles/split"));
    CHECK_THAT(refused_model([](json &i) { i["place"].erase("tile"); }), contains("need each other"));
    CHECK_THAT(refused_model([](json &i) { i["place"]["tile"] = ""; }), contains("/images/place/tile"));
    CHECK_THAT(refused_model([](json &i) { i.erase("resize"); }), contains("/images/tiles: only images in prompts"));
    CHECK(refused_model([](json &) {}).empty());
}

TEST_CASE("tiles: the whole alone is seen where the file says so, after conversion, too") {
    for (const auto &[name, tokens] : {std::pair("idefics3_sees", 4), {"smolvlm_sees", 1}}) {
        INFO(name);
        const TemporaryFolder folder, converted;
        change(talking(folder, name, "talking_idefics3") / "preprocessor_config.json",
               [](json &p) { p["do_image_splitting"] = false; });
        const Model model = runtime().load(folder.path());
        convert(runtime(), folder.path(), {}).model.save(converted.path() / "model");
        for (const Model &each : {model, runtime().load(converted.path() / "model")}) {
            Session session = runtime().session(each, runtime().device("cpu"));
            CHECK(inspect(each).generation.value().images.value().tokens == tokens);
            GenerateOptions options;
            options.max_length = 6;
            options.ignore_end = true;
            for (const json &expected : json_of(seeing / "whole.json")[name]) {
                INFO(expected["prompt"].get<std::string>());
                std::vector<Image> images;
                for (const std::string file : expected["images"]) images.push_back(read_image(image_files / file));
                const auto ids = image_prompt_ids(session, expected["prompt"], images);
                CHECK(ids.size() == expected["ids"].size());
                CHECK(generate_from_ids(session, ids, options).front().tokens ==
                      expected["answer"].get<std::vector<int32_t>>());
            }
        }
    }
}

TEST_CASE("tiles: what a processor does whatever its file says, and what it is called, change nothing") {
    const TemporaryFolder gemma, qwen;
    change(talking(gemma, "gemma3_sees", "talking_gemma3") / "preprocessor_config.json",
           [](json &p) { p["do_pan_and_scan"] = true; });
    CHECK(inspect(runtime().load(gemma.path())).generation.value().images.value().tokens == 9);
    for (const char *called : {"Qwen2_5_VLImageProcessor", "Qwen2VLImageProcessorFast"}) {
        change(talking(qwen, "qwen2_5_vl_sees", "talking") / "preprocessor_config.json",
               [&](json &p) { p["image_processor_type"] = called; });
        CHECK(inspect(runtime().load(qwen.path())).generation.value().images.value().tokens == 25);
    }
}

} // namespace tiles
