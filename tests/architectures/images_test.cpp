// Image files and models that take them, compared with Pillow, torchvision and transformers. images/make.py wrote what
// they give.
#include "catch.hpp"
#include "folders.hpp"

#include "image/prepare.hpp"

#include <lamina/convert.hpp>
#include <lamina/image.hpp>
#include <lamina/inspect.hpp>
#include <lamina/tokenizer.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

using namespace lamina;
using matchers::contains;
using nlohmann::json;
using test::json_of;
using test::runtime;
using test::session_of;
namespace fs = std::filesystem;

namespace {

const fs::path here = test::architectures / "images", photo = here / "files" / "photo.png";

std::string bytes_of(const fs::path &file) {
    std::ostringstream out;
    out << std::ifstream(file, std::ios::binary).rdbuf();
    return out.str();
}

// As Pillow writes it: "P6", width and height, 255, and the pixels.
Image read_ppm(const fs::path &file) {
    std::istringstream in(bytes_of(file));
    std::string kind, most;
    Image out;
    in >> kind >> out.width >> out.height >> most;
    REQUIRE(kind == "P6");
    in.get();
    for (char c = 0; in.get(c);) out.pixels.push_back(static_cast<uint8_t>(c));
    return out;
}

int largest_difference(const Image &a, const Image &b) {
    REQUIRE(a.width == b.width);
    REQUIRE(a.height == b.height);
    REQUIRE(a.pixels.size() == b.pixels.size());
    int out = 0;
    for (size_t i = 0; i < a.pixels.size(); ++i) out = std::max(out, std::abs(int{a.pixels[i]} - int{b.pixels[i]}));
    return out;
}

// One of models/ with what it takes to read images, and with another preprocessor_config.json.
fs::path with_images(const TemporaryFolder &folder, const std::string &name, const json &config = nullptr) {
    const auto options = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
    fs::copy(test::architectures / "models" / name, folder.path(), options);
    const fs::path own = here / name;
    fs::copy(fs::exists(own) ? own : here / "vit", folder.path(), options);
    if (!config.is_null()) folder.write("preprocessor_config.json", config.dump());
    return folder.path();
}

std::vector<Image> photos(const json &expected) {
    std::vector<Image> out;
    for (const json &name : expected["photos"]) out.push_back(read_image(here / "files" / name.get<std::string>()));
    return out;
}

void check_scores(const std::vector<std::vector<LabelScore>> &found, const json &expected) {
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
        REQUIRE(found[i].size() == expected[i].size());
        CHECK(std::ranges::is_sorted(found[i], std::ranges::greater{}, &LabelScore::score));
        for (const LabelScore &each : found[i])
            CHECK_THAT(each.score, matchers::within_abs(expected[i][each.label].get<double>(), 5e-3));
    }
}

std::string refusal_of(const json &config) {
    const TemporaryFolder folder;
    return message_of([&] { (void)runtime().load(with_images(folder, "vit", config)); });
}

} // namespace

TEST_CASE("images: every format has the pixels that Pillow reads") {
    size_t count = 0;
    for (const auto &entry : fs::directory_iterator(here / "files")) {
        if (entry.path().extension() == ".ppm") continue;
        INFO(entry.path().filename().string());
        CHECK(largest_difference(read_image(entry.path()), read_ppm(entry.path().string() + ".ppm")) <= 1);
        ++count;
    }
    CHECK(count > 20);
}

TEST_CASE("images: another size has the pixels that torchvision computes, also in part") {
    const std::map<std::string, image::Filter> filters{{"bilinear", image::Filter::bilinear},
                                                       {"bicubic", image::Filter::bicubic},
                                                       {"lanczos", image::Filter::lanczos}};
    const Image whole = read_image(photo);
    size_t count = 0;
    for (const auto &entry : fs::directory_iterator(here / "resized")) {
        const std::string name = entry.path().stem().string();
        INFO(name);
        const Image wanted = read_ppm(entry.path());
        const image::Filter filter = filters.at(name.substr(0, name.find('_')));
        const Image found =
            image::resized(whole, wanted.height, wanted.width, filter, {0, 0, wanted.height, wanted.width});
        CHECK(largest_difference(found, wanted) <= 1);
        const image::Window middle{wanted.height / 3, wanted.width / 4, (wanted.height + 1) / 2,
                                   (wanted.width + 2) / 3};
        const Image part = image::resized(whole, wanted.height, wanted.width, filter, middle);
        for (int64_t y = 0; y < middle.height; ++y) {
            const auto row = found.pixels.begin() + ((y + middle.top) * found.width + middle.left) * 3;
            CHECK(std::equal(row, row + middle.width * 3, part.pixels.begin() + y * middle.width * 3));
        }
        ++count;
    }
    CHECK(count == 18);
}

TEST_CASE("images: what a model is given is what the processors of transformers give") {
    for (const json &each : json_of(here / "expected.json")["processors"]) {
        INFO(each["config"].dump());
        const TemporaryFolder folder;
        const Model model = runtime().load(with_images(folder, each["model"], each["config"]));
        const GraphRun run = image_inputs(model, {read_image(photo)});
        CHECK(run.graph == "encode_image");
        const auto found = run.inputs.at("patches").f32();
        const auto wanted = each["patches"].get<std::vector<float>>();
        REQUIRE(found.size() == wanted.size());
        // One step of 255 in a pixel.
        const auto [least, most] = std::ranges::minmax(wanted);
        const double step = each["exact"].get<bool>() ? 2e-4 : std::max(0.05, 0.005 * double{most - least});
        double worst = 0, sum = 0;
        for (size_t i = 0; i < wanted.size(); ++i) {
            worst = std::max(worst, std::abs(double{found[i]} - wanted[i]));
            sum += std::abs(double{found[i]} - wanted[i]);
        }
        CHECK(worst < step);
        CHECK(sum / static_cast<double>(wanted.size()) < step / 20);
    }
}

TEST_CASE("images: classes and descriptions have the scores of transformers' pipelines, after conversion, too") {
    const json expected = json_of(here / "expected.json");
    const std::vector<Image> images = photos(expected);
    const auto labels = expected["labels"].get<std::vector<std::string>>();
    const TemporaryFolder vit, clip, siglip, converted;
    convert(runtime(), with_images(vit, "vit"), {}).model.save(converted.path() / "vit");
    convert(runtime(), with_images(clip, "clip"), {}).model.save(converted.path() / "clip");
    convert(runtime(), with_images(siglip, "siglip"), {}).model.save(converted.path() / "siglip");
    for (const fs::path &path : {vit.path(), converted.path() / "vit"}) {
        Session session = session_of(path);
        size_t calls = 0;
        const ImageOptions by_two{.batch = 2, .progress = [&](size_t, size_t all) { calls += all; }};
        check_scores(classify_images(session, images, by_two), expected["classes"]);
        CHECK(calls == 6); // 2 of 3, 3 of 3
        CHECK_THAT(message_of([&] { (void)embed_images(session, images); }),
                   contains("does not give vectors of images but the output 'logits'"));
        CHECK_THAT(message_of([&] { (void)match_images(session, images, labels); }),
                   contains("does not compare images with texts: it gives the classes that it was trained for"));
        CHECK_THAT(message_of([&] { (void)embed(session, {"w3"}); }), contains("it turns images into classes"));
    }
    for (const fs::path &path : {siglip.path(), converted.path() / "siglip"}) {
        Session session = session_of(path);
        check_scores(match_images(session, images, labels), expected["siglip"]);
        // Whatever stands beside it, a label has the same score.
        const double alone = match_images(session, images, {labels[0]}).front().front().score;
        CHECK_THAT(alone, matchers::within_abs(expected["siglip"][0][labels[0]].get<double>(), 1e-4));
        // Texts are filled up to the length that the model was trained with, and longer ones are refused.
        std::string long_text;
        for (size_t i = 0; i < 63; ++i) long_text += "w3 ";
        CHECK(inspect(runtime().load(path)).reading.value().longest == 64);
        CHECK_THAT(message_of([&] { (void)embed(session, {long_text}); }), contains("65 tokens; expected at most 64"));
    }
    for (const fs::path &path : {clip.path(), converted.path() / "clip"}) {
        Session session = session_of(path);
        check_scores(match_images(session, images, labels), expected["scores"]);
        const auto bare = match_images(session, images, {"w7", "w9"}, {.sentence = "{}"});
        CHECK(bare.front().front().score + bare.front().back().score > 0.999);
        CHECK_THAT(message_of([&] { (void)match_images(session, images, labels, {.sentence = "A photo."}); }),
                   contains("expected {} where a label belongs, found 'A photo.'"));
        CHECK(embed_images(session, images).shape() == Shape{3, 28});
        CHECK(embed_images(session, {}).shape() == Shape{0, 0});
        CHECK(embed(session, {"w3 w4", "w9"}).shape() == Shape{2, 28});
        CHECK_THAT(message_of([&] { (void)classify_images(session, images); }),
                   contains("does not give classes of images but the output 'embedding'"));
    }
}

TEST_CASE("images: CLIP's tokenizer gives the ids that transformers gives") {
    const json expected = json_of(here / "expected.json")["tokenizer"];
    const Tokenizer tokenizer = Tokenizer::load(here / "tokenizer.json");
    for (size_t i = 0; i < expected["texts"].size(); ++i) {
        INFO(expected["texts"][i].dump());
        CHECK(tokenizer.encode(expected["texts"][i].get<std::string>()).ids ==
              expected["ids"][i].get<std::vector<int32_t>>());
    }
}

TEST_CASE("images: inspect says what a model sees") {
    const TemporaryFolder vit, clip;
    const ImageReading classes = inspect(runtime().load(with_images(vit, "vit"))).images.value();
    CHECK(classes.height == 12);
    CHECK(classes.width == 20);
    CHECK(classes.labels.size() == 5);
    CHECK_FALSE(classes.matches_texts);
    const ModelContents both = inspect(runtime().load(with_images(clip, "clip")));
    CHECK(both.images.value().matches_texts);
    CHECK(both.reading.value().longest == 16);
    CHECK_FALSE(inspect(runtime().load(test::architectures / "models" / "vit")).images); // no file says how
    // Its positions are those of square images.
    const Model any_size = runtime().load(test::architectures / "models" / "dinov2");
    CHECK(inspect(any_size).images.value().width == 20);
    Session session = runtime().session(any_size, runtime().device("cpu"));
    CHECK(embed_images(session, {read_image(photo)}).shape() == Shape{1, 36});
    // So are images of DINOv3, whose pixels stay floats when they are resized, also in a converted model.
    const TemporaryFolder converted;
    const fs::path dinov3 = test::architectures / "models" / "dinov3";
    convert(runtime(), dinov3, {}).model.save(converted.path() / "dinov3");
    CHECK(json_of(converted.path() / "dinov3" / "model.json")["images"]["resize"]["rounded"] == false);
    Session before = session_of(dinov3), after = session_of(converted.path() / "dinov3");
    const Tensor wanted = embed_images(before, {read_image(photo)}), found = embed_images(after, {read_image(photo)});
    CHECK(wanted.shape() == Shape{1, 36});
    CHECK(std::ranges::equal(wanted.f32(), found.f32()));
}

TEST_CASE("images: files that are none, or no whole ones, are refused") {
    const TemporaryFolder folder;
    const auto refused = [&](const std::string &bytes) {
        const fs::path file = folder.write("image", bytes);
        return message_of([&] { (void)read_image(file); });
    };
    CHECK_THAT(refused(""), contains("expected an image in PNG, JPEG or WebP"));
    CHECK_THAT(refused("GIF89a and more"), contains("expected an image in PNG, JPEG or WebP"));
    CHECK_THAT(message_of([&] { (void)read_image(folder.path() / "absent.png"); }), contains("No such file"));
    CHECK_THAT(message_of([&] { (void)read_image(folder.path()); }), contains(folder.path().string()));
    for (const char *name : {"photo.png", "photo.jpg", "progressive.jpg", "photo.webp", "alpha.webp", "moving.webp"}) {
        const std::string whole = bytes_of(here / "files" / name);
        for (size_t eighth = 1; eighth < 8; ++eighth) {
            INFO(name << ", " << eighth << " eighths");
            CHECK_THAT(refused(whole.substr(0, whole.size() * eighth / 8)), contains("image: "));
        }
    }
    // Sizes that are not those of what follows: more than may be, and none.
    std::string png = bytes_of(photo);
    png[16] = 0x7f;
    CHECK_THAT(refused(png), contains("cannot be read as PNG"));
    std::string jpeg = bytes_of(here / "files" / "photo.jpg");
    const size_t frame = jpeg.find("\xff\xc0");
    REQUIRE(frame != std::string::npos);
    jpeg.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
    CHECK_THAT(refused(jpeg), contains("65500 x 65500 pixels; expected at least one, and at most 134217728"));
}

TEST_CASE("images: whatever bytes are wrong, an image is read or refused") {
    const TemporaryFolder folder;
    for (const char *name : {"palette_transparent.png", "turned_6.jpg", "inks.jpg", "alpha.webp", "turned.png"}) {
        const std::string whole = bytes_of(here / "files" / name);
        for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 200) {
            std::string changed = whole;
            changed[at] = static_cast<char>(changed[at] ^ 0x55);
            const fs::path file = folder.write("image", changed);
            try {
                const Image image = read_image(file);
                CHECK(image.pixels.size() == static_cast<size_t>(image.width * image.height * 3));
            } catch (const Error &e) {
                CHECK(e.code() == ErrorCode::input);
            }
        }
    }
}

TEST_CASE("images: pixels that do not fit their size are refused") {
    const TemporaryFolder folder;
    Session session = session_of(with_images(folder, "vit"));
    for (const Image &image : {Image{}, Image{2, 2, std::vector<uint8_t>(11)}, Image{-1, -1, {1, 2, 3}},
                               Image{INT64_MAX, 3, std::vector<uint8_t>(9)}})
        CHECK_THAT(message_of([&] {
                       (void)classify_images(session, {read_image(photo), image});
                   }),
                   contains("image 2: expected 3 values for each of"));
    CHECK_THAT(message_of([&] { (void)classify_images(session, {}, {.batch = 0}); }), contains("batch"));
    CHECK(classify_images(session, {Image{1, 1, {9, 8, 7}}}).front().size() == 5);
    Image tall{1, 20000, std::vector<uint8_t>(60000, 5)};
    CHECK(classify_images(session, {tall}).front().size() == 5);
    const int64_t height = int64_t{1} << 24; // as wide as the model's images, it would take gigabytes
    Image tallest{1, height, std::vector<uint8_t>(static_cast<size_t>(3 * height))};
    CHECK_THAT(message_of([&] { (void)classify_images(session, {tallest}); }), contains("an image of 1 x 16777216"));
}

TEST_CASE("images: a text's vector is read where the tokenizer ends texts, or the files are refused") {
    const auto load = [](const json &changes) {
        const TemporaryFolder folder;
        json config = json_of(test::architectures / "models" / "clip" / "config.json");
        config["text_config"].update(changes);
        folder.write("config.json", config.dump());
        const auto options = fs::copy_options::recursive | fs::copy_options::skip_existing;
        fs::copy(test::architectures / "models" / "clip", folder.path(), options);
        fs::copy(here / "clip", folder.path(), options);
        return message_of([&] { (void)runtime().load(folder.path()); });
    };
    CHECK(load({{"eos_token_id", 52}}).empty());
    CHECK(load({{"eos_token_id", 2}}).empty()); // older files
    for (const json &wrong : {json(51), json(-1), json({52, 51})})
        CHECK_THAT(load({{"eos_token_id", wrong}}), contains("/text_config/eos_token_id"));
    CHECK_THAT(load({{"eos_token_id", 51}}), contains("expected 52, the token that texts end with, or 2"));
}

TEST_CASE("images: a preprocessor that is not supported is refused") {
    const json size = {{"height", 12}, {"width", 20}};
    CHECK_THAT(refusal_of({{"size", size}, {"image_processor_type", "SamImageProcessor"}}),
               contains("image_processor_type") && contains("'SamImageProcessor' is not supported"));
    CHECK_THAT(refusal_of({{"image_processor_type", "Qwen2VLImageProcessor"}}),
               contains("/image_size") && contains("any size, and the model takes one"));
    CHECK_THAT(refusal_of({{"size", {{"height", 16}, {"width", 20}}}}),
               contains("/image_size") &&
                   contains("expected 16 x 20 pixels, the size that the model's preprocessor gives"));
    CHECK_THAT(refusal_of({{"size", {{"shortest_edge", 12}}}}), contains("images would be of several sizes"));
    CHECK_THAT(refusal_of({{"size", {{"shortest_edge", 12}, {"longest_edge", 30}}}}), contains("longest_edge"));
    CHECK_THAT(refusal_of({{"size", size}, {"resample", 0}}), contains("/resample") && contains("bilinear"));
    CHECK_THAT(refusal_of({{"size", size}, {"do_pad", true}}), contains("do_pad"));
    CHECK_THAT(refusal_of({{"size", size}, {"image_std", {0, 1, 1}}}), contains("deviation") && contains("zero"));
    CHECK_THAT(refusal_of({{"size", size}, {"image_mean", {0.5, 0.5}}}), contains("image_mean"));
    CHECK_THAT(refusal_of({{"size", size}, {"do_magic", true}}), contains("do_magic") && contains("unknown key"));
    CHECK_THAT(refusal_of({{"size", "large"}}), contains("/size"));
    CHECK_THAT(refusal_of({{"size", -3}}), contains("/size"));
    CHECK_THAT(refusal_of(json::array()), contains("preprocessor_config.json"));
    // The newer place of the same settings comes first.
    const TemporaryFolder folder;
    folder.write("processor_config.json", json{{"image_processor", {{"size", size}, {"resample", 0}}}}.dump());
    CHECK_THAT(message_of([&] { (void)runtime().load(with_images(folder, "vit")); }),
               contains("processor_config.json: /image_processor/resample"));
}
