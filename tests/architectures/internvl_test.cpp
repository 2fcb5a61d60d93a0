// Images that are seen in tiles of a grid in their shape. seeing/make.py wrote grids.json; seeing_test.cpp compares
// answers about such images.
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

namespace internvl {
namespace {

const fs::path seeing = test::architectures / "seeing", image_files = test::architectures / "images" / "files";

fs::path talking(const TemporaryFolder &folder) {
    const auto options = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
    fs::copy(test::architectures / "models" / "internvl_sees", folder.path(), options);
    fs::copy(seeing / "talking_internvl", folder.path(), options);
    return folder.path();
}

} // namespace

// grids.json has how many tiles there may be, the side of one, width and height of an image, and rows and columns of
// its tiles.
TEST_CASE("internvl: images have the grids of tiles that transformers cuts out") {
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

TEST_CASE("internvl: a folder says what tiles are, and how a prompt has them, or is refused") {
    const TemporaryFolder folder, converted;
    const fs::path preprocessor = talking(folder) / "preprocessor_config.json", config = folder.path() / "config.json",
                   saved = converted.path() / "model";
    const auto refused = [&](const fs::path &file, const std::function<void(json &)> &change) {
        const json good = json_of(file);
        json changed = good;
        change(changed);
        std::ofstream(file) << changed.dump();
        std::string out = message_of([&] { (void)runtime().load(folder.path()); });
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

} // namespace internvl
