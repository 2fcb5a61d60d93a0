// Models that write what images say, compared with generate() of transformers. image_texts/make.py wrote what they
// give.
#include "catch.hpp"
#include "folders.hpp"

#include <lamina/audio.hpp>
#include <lamina/batch.hpp>
#include <lamina/convert.hpp>
#include <lamina/image.hpp>
#include <lamina/inspect.hpp>

using namespace lamina;
using matchers::contains;
using nlohmann::json;
using test::json_of;
using test::runtime;
using test::session_of;
namespace fs = std::filesystem;

namespace {

const fs::path image_texts = test::architectures / "image_texts", line_files = test::architectures / "images" / "files";

// One of models/ with what it takes to read images and to write texts.
fs::path with_files(const TemporaryFolder &folder, const std::string &name) {
    const auto options = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
    fs::copy(test::architectures / "models" / name, folder.path(), options);
    fs::copy(image_texts / name, folder.path(), options);
    return folder.path();
}

std::vector<std::vector<int32_t>> ids_of(const std::vector<Hypothesis> &hypotheses) {
    std::vector<std::vector<int32_t>> out;
    for (const Hypothesis &each : hypotheses) out.push_back(each.tokens);
    return out;
}

GenerateOptions at_most(int64_t tokens, int64_t beams) {
    GenerateOptions out;
    out.max_length = tokens, out.beams = beams, out.batch = 3;
    return out;
}

// All images at once: greedy, and with three beams.
void writes_the_same(Session session, const json &expected) {
    std::vector<Image> images;
    std::vector<std::string> names;
    for (const auto &[name, texts] : expected.items()) names.push_back(name);
    for (const std::string &name : names) images.push_back(read_image(line_files / name));
    const auto greedy = generate_from_images(session, images, at_most(12, 1));
    const auto beams = generate_from_images(session, images, at_most(9, 3));
    REQUIRE(greedy.size() == images.size());
    REQUIRE(beams.size() == images.size());
    for (size_t i = 0; i < images.size(); ++i) {
        INFO(names[i]);
        using Ids = std::vector<std::vector<int32_t>>;
        CHECK(ids_of(greedy[i]) == expected[names[i]]["greedy"].get<Ids>());
        CHECK(ids_of(beams[i]) == expected[names[i]]["beams"].get<Ids>());
    }
}

// model.json of a converted model after this change, and why it is refused.
std::string refusal_after(const std::function<void(json &)> &change) {
    const TemporaryFolder folder, converted;
    convert(runtime(), with_files(folder, "trocr"), {}).model.save(converted.path() / "trocr");
    json model = json_of(converted.path() / "trocr" / "model.json");
    change(model);
    std::ofstream(converted.path() / "trocr" / "model.json") << model.dump();
    return message_of([&] { (void)runtime().load(converted.path() / "trocr"); });
}

} // namespace

TEST_CASE("image texts: an image has the tokens that transformers generates, after conversion, too") {
    const json of_models = json_of(image_texts / "expected.json");
    for (const auto &[name, expected] : of_models.items()) {
        INFO(name);
        const TemporaryFolder folder, converted;
        convert(runtime(), with_files(folder, name), {}).model.save(converted.path() / name);
        writes_the_same(session_of(folder.path()), expected);
        writes_the_same(session_of(converted.path() / name), expected);
        writes_the_same(runtime().session(runtime().load(folder.path()), runtime().device("reference")), expected);
    }
}

TEST_CASE("image texts: a text is streamed, and cut at its maximum length") {
    const TemporaryFolder folder;
    Session session = session_of(with_files(folder, "trocr"));
    const Image photo = read_image(line_files / "photo.png");
    std::string streamed;
    GenerateOptions how = at_most(3, 1);
    how.stream = [&](size_t, std::string_view piece) { streamed += piece; };
    const auto found = generate_from_images(session, {photo}, how);
    CHECK(found.front().front().text == "w34 w16 w16");
    CHECK(found.front().front().finish == Finish::length);
    CHECK(streamed == "w34 w16 w16");
    CHECK(generate_from_images(session, {}).empty());
    CHECK_THAT(message_of([&] {
                   (void)generate_from_images(session, {photo, Image{3, 3, {}}});
               }),
               contains("image 2: expected 3 values for each of 3 x 3 pixels"));
}

TEST_CASE("image texts: inspect says what a model takes, and other functions why they do not take it") {
    const TemporaryFolder folder;
    const Model model = runtime().load(with_files(folder, "trocr"));
    const ModelContents contents = inspect(model);
    REQUIRE(contents.images);
    CHECK(contents.images->gives == ImageReading::Gives::texts);
    CHECK(contents.images->graph == "encode");
    CHECK(contents.images->width == 20);
    CHECK(contents.images->output.empty());
    CHECK(contents.generation.value().encode == "encode");
    CHECK(contents.generation.value().source.file.empty());
    CHECK(contents.generation.value().start == std::vector<std::string>{"w2"});
    CHECK_FALSE(contents.writes_of_texts());
    Session session = runtime().session(model, runtime().device("cpu"));
    const Image photo = read_image(line_files / "photo.png");
    CHECK(image_inputs(model, {photo}).graph == "encode");
    CHECK_THAT(message_of([&] { (void)session.generate({"w3"}); }),
               contains("this model takes images, not text: 'lamina run' without --tap takes image files"));
    CHECK_THAT(message_of([&] { (void)classify_images(session, {photo}); }),
               contains("does not give classes of images but texts"));
    CHECK_THAT(message_of([&] { (void)embed_images(session, {photo}); }),
               contains("does not give vectors of images but texts"));
    CHECK_THAT(message_of([&] { (void)Batch(session, {}); }), contains("a model that continues or translates texts"));
    CHECK_THAT(message_of([&] { (void)transcribe(session, {}); }), contains("does not take audio"));
    GenerateOptions timed;
    timed.timestamps = Timestamps::segments;
    CHECK_THAT(message_of([&] { (void)generate_from_images(session, {photo}, timed); }), contains("gives none"));
    const TemporaryFolder other;
    fs::copy(test::architectures / "models" / "vit", other.path(), fs::copy_options::recursive);
    fs::copy(test::architectures / "images" / "vit", other.path(), fs::copy_options::recursive);
    Session vit = session_of(other.path());
    CHECK_THAT(message_of([&] { (void)generate_from_images(vit, {photo}); }),
               contains("does not write texts of images: it turns images into classes"));
    // Without the files that say how images and texts are read, there are graphs alone.
    CHECK_FALSE(inspect(runtime().load(test::architectures / "models" / "trocr")).generation);
}

TEST_CASE("image texts: generation is as the whole says it, and else as the decoder does") {
    const TemporaryFolder folder;
    with_files(folder, "trocr");
    fs::remove(folder.path() / "generation_config.json");
    json config = json_of(folder.path() / "config.json");
    const auto generation = [&] {
        folder.write("config.json", config.dump());
        return inspect(runtime().load(folder.path())).generation.value();
    };
    config["decoder"]["decoder_start_token_id"] = 7;
    config["decoder"]["num_beams"] = 4;
    config["decoder"]["max_length"] = 21;
    CHECK(generation().start == std::vector<std::string>{"w2"});
    CHECK(generation().beams == 4);
    CHECK(generation().max_length == 20); // without the start
    config.erase("decoder_start_token_id");
    config["num_beams"] = 2;
    CHECK(generation().start == std::vector<std::string>{"w7"});
    CHECK(generation().beams == 2);
}

TEST_CASE("image texts: folders of other parts are refused, with the key") {
    const TemporaryFolder folder;
    with_files(folder, "trocr");
    const json config = json_of(folder.path() / "config.json");
    const auto refusal_with = [&](const char *pointer, const json &value) {
        json changed = config;
        changed[json::json_pointer(pointer)] = value;
        folder.write("config.json", changed.dump());
        return message_of([&] { (void)runtime().load(folder.path()); });
    };
    CHECK_THAT(refusal_with("/encoder/model_type", "swin"),
               contains("'swin' is not supported as the encoder of such a model; supported: vit, deit"));
    CHECK_THAT(refusal_with("/decoder/model_type", "bart"),
               contains("'bart' is not supported as the decoder of such a model; supported: trocr, gpt2, bert"));
    CHECK_THAT(refusal_with("/decoder/cross_attention_hidden_size", 30), contains("expected 36"));
    CHECK_THAT(refusal_with("/decoder/is_causal", false), contains("/decoder/is_causal"));
    CHECK_THAT(refusal_with("/decoder", nullptr), contains("/decoder"));
    CHECK(refusal_with("/vocab_size", 53).empty()); // as training scripts write it

    for (const char *name : {"vit_gpt2", "vit_bert"}) {
        INFO(name);
        const TemporaryFolder other;
        with_files(other, name);
        json blind = json_of(other.path() / "config.json");
        blind["decoder"]["add_cross_attention"] = false;
        other.write("config.json", blind.dump());
        CHECK_THAT(message_of([&] { (void)runtime().load(other.path()); }),
                   contains("/decoder/add_cross_attention: false is not supported"));
    }
}

TEST_CASE("image texts: BLIP's texts begin and end as its part for texts says, and its other classes are refused") {
    const TemporaryFolder folder;
    with_files(folder, "blip");
    folder.write("generation_config.json", R"({"bos_token_id": 7, "decoder_start_token_id": 8, "eos_token_id": 9})");
    const TextGeneration generation = inspect(runtime().load(folder.path())).generation.value();
    CHECK(generation.start == std::vector<std::string>{"w5"});
    CHECK(generation.end == std::vector<std::string>{"w2"});
    for (const char *name : {"BlipForQuestionAnswering", "BlipForImageTextRetrieval", "BlipModel"}) {
        json config = json_of(test::architectures / "models" / "blip" / "config.json");
        config["architectures"] = {name};
        folder.write("config.json", config.dump());
        CHECK_THAT(message_of([&] { (void)runtime().load(folder.path()); }),
                   contains("/architectures: '" + std::string(name) + "' is not supported; supported: "));
    }
    json config = json_of(test::architectures / "models" / "blip" / "config.json");
    config["text_config"]["is_decoder"] = false;
    folder.write("config.json", config.dump());
    CHECK_THAT(message_of([&] { (void)runtime().load(folder.path()); }), contains("/text_config/is_decoder"));
}

TEST_CASE("image texts: a model.json whose parts for images and generation differ is refused") {
    CHECK(refusal_after([](json &) {}).empty());
    CHECK_THAT(refusal_after([](json &model) { model.erase("images"); }),
               contains("/generation/source_patches: expected the block \"images\""));
    CHECK_THAT(refusal_after([](json &model) { model["images"]["embedding"] = "hidden"; }),
               contains("/images: the source of \"generation\" is an image"));
    CHECK_THAT(refusal_after([](json &model) {
                   model["images"]["size"] = {8, 8};
               }),
               contains("/images/size: images of this size have patches (4, 48), and 'patches' of \"generation\" takes "
                        "(15, 48)"));
    CHECK_THAT(refusal_after([](json &model) { model["generation"]["sample_rate"] = 16000; }),
               contains("/generation/sample_rate: the source is an image (source_patches); remove this key"));
    CHECK_THAT(refusal_after([](json &model) { model["generation"].erase("encode"); }),
               contains("'source_patches' needs the key 'encode' beside it"));
    CHECK_THAT(refusal_after([](json &model) { model["generation"].erase("source_patches"); }),
               contains("/generation"));
}
