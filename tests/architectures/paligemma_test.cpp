// Models all tokens of whose prompts see each other, compared with transformers. seeing/make.py wrote what it answers.
#include "catch.hpp"
#include "folders.hpp"

#include "api/access.hpp"
#include "api/image_prompts.hpp"

#include <lamina/batch.hpp>
#include <lamina/convert.hpp>
#include <lamina/image.hpp>
#include <lamina/inspect.hpp>

#include <algorithm>
#include <fstream>
#include <functional>

using namespace lamina;
using matchers::contains;
using nlohmann::json;
using test::json_of;
using test::runtime;
namespace fs = std::filesystem;

namespace paligemma {
namespace {

const fs::path seeing = test::architectures / "seeing", image_files = test::architectures / "images" / "files";
constexpr std::array names{"paligemma_sees", "paligemma2_sees"};

fs::path continuing(const TemporaryFolder &folder, const std::string &name) {
    const auto options = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
    fs::copy(test::architectures / "models" / name, folder.path(), options);
    fs::copy(seeing / "talking_paligemma", folder.path(), options);
    return folder.path();
}

std::vector<Image> images_of(const json &prompt) {
    std::vector<Image> out;
    for (const std::string file : prompt["images"]) out.push_back(read_image(image_files / file));
    return out;
}

// As `lamina run` writes it.
std::string marked(const json &prompt) {
    const std::string text = prompt["prompt"];
    return text.starts_with("<image>") ? text : "<image>" + text;
}

std::vector<int32_t> ids_of(Session &session, const json &prompt) {
    return image_prompt_ids(session, marked(prompt), images_of(prompt), true);
}

std::vector<int32_t> answer_of(const json &prompt) { return prompt["answer"].get<std::vector<int32_t>>(); }

GenerateOptions greedy() {
    GenerateOptions out;
    out.max_length = 6;
    out.ignore_end = true;
    return out;
}

void check_answers(Session session, const json &prompts) {
    for (const json &each : prompts) {
        INFO(each["prompt"].get<std::string>());
        const std::vector<int32_t> ids = ids_of(session, each);
        CHECK(ids.size() == each["ids"].size());
        CHECK(ids.back() < 0);
        CHECK(generate_from_ids(session, ids, greedy()).front().tokens == answer_of(each));
        GenerateOptions options = greedy();
        options.cached = false;
        CHECK(generate_from_ids(session, ids, options).front().tokens == answer_of(each));
    }
}

} // namespace

TEST_CASE("paligemma: what follows prompts with images is that of transformers, after conversion, too") {
    const json expected = json_of(seeing / "prompts.json");
    for (const char *name : names) {
        const TemporaryFolder folder, converted;
        const Model model = runtime().load(continuing(folder, name));
        for (const Device &device : runtime().devices()) {
            INFO(name << " on " << device.id);
            check_answers(runtime().session(model, device), expected[name]);
        }
        check_answers(runtime().session(model, runtime().device("reference")), expected[name]);
        convert(runtime(), folder.path(), {}).model.save(converted.path() / "model");
        const Model again = runtime().load(converted.path() / "model");
        check_answers(runtime().session(again, runtime().device("cpu")), expected[name]);
        for (const json &each : expected[name]) // also of prompts without a token that begins them
            for (const bool special : {false, true})
                CHECK(api::with_places(*detail::Access::model(model), marked(each), images_of(each), special).ids ==
                      each["ids"].get<std::vector<int32_t>>());
    }
}

TEST_CASE("paligemma: prompts beside each other, in turn and again give what each gives alone") {
    for (const char *name : names) {
        INFO(name);
        const TemporaryFolder folder;
        const json expected = json_of(seeing / "prompts.json")[name];
        const Model model = runtime().load(continuing(folder, name));
        Session session = runtime().session(model, runtime().device("cpu"));
        for (const size_t slots : {size_t{1}, size_t{2}, size_t{4}}) {
            INFO(slots << " slots");
            Batch batch(session, {.slots = slots, .length = 60});
            std::map<uint64_t, size_t> places;
            std::map<size_t, Hypothesis> found;
            const auto step = [&] {
                for (const Batch::Progress &each : batch.step())
                    if (each.finished) found[places.at(each.id)] = *each.finished;
            };
            for (const size_t round : {size_t{0}, size_t{1}})
                for (size_t i = 0; i < expected.size(); ++i) {
                    GenerateOptions options = greedy();
                    options.reuse = true;
                    const uint64_t number = 1 + i + round * expected.size();
                    places[batch.add_ids(ids_of(session, expected[i]), options,
                                         {.client = number, .request = number})] = i;
                    step(); // the others come while it is written, and are read in parts
                }
            while (!batch.empty()) step();
            for (size_t i = 0; i < expected.size(); ++i) CHECK(found[i].tokens == answer_of(expected[i]));
        }
        // The same prompt is known but for its last token; one with another text shares nothing with it.
        Batch batch(session, {.slots = 1, .length = 60});
        const auto written = [&](const json &prompt, const std::string &text) {
            GenerateOptions options = greedy();
            options.reuse = true;
            batch.add_ids(image_prompt_ids(session, text, images_of(prompt)), options);
            Hypothesis out;
            while (!batch.empty())
                for (const Batch::Progress &each : batch.step())
                    if (each.finished) out = *each.finished;
            return out;
        };
        CHECK(written(expected[0], marked(expected[0])).reused == 0);
        const Hypothesis again = written(expected[0], marked(expected[0]));
        CHECK(again.reused == expected[0]["ids"].size() - 1);
        CHECK(again.tokens == answer_of(expected[0]));
        CHECK(written(expected[0], "<image>w38 w19 w6").reused == 0);
        CHECK(written(expected[3], marked(expected[3])).tokens == answer_of(expected[3]));
        // Beams, and texts without images, whose tokens see none that come later.
        GenerateOptions options = greedy();
        options.beams = 3;
        const std::vector<int32_t> ids = ids_of(session, expected[4]),
                                   best = generate_from_ids(session, ids, options).front().tokens;
        options.cached = false;
        CHECK(generate_from_ids(session, ids, options).front().tokens == best);
        CHECK(image_prompt_ids(session, "w3 w4", {}, true) == std::vector<int32_t>{1, 3, 4});
    }
}

// Windows limit what tokens of a prompt see here, and not in transformers.
TEST_CASE("paligemma: no text is longer than a window") {
    const TemporaryFolder folder;
    const fs::path file = continuing(folder, "paligemma2_sees") / "config.json";
    json config = json_of(file);
    config["text_config"]["sliding_window"] = 20;
    std::ofstream(file) << config.dump();
    const json prompts = json_of(seeing / "prompts.json")["paligemma2_sees"];
    Session session = runtime().session(runtime().load(folder.path()), runtime().device("cpu"));
    CHECK(ids_of(session, prompts[3]).size() == prompts[3]["ids"].size());
    CHECK_THAT(message_of([&] { (void)ids_of(session, prompts[2]); }), contains("20"));
}

TEST_CASE("paligemma: folders and prompts that do not fit are refused") {
    const TemporaryFolder folder, converted;
    const fs::path file = continuing(folder, "paligemma_sees") / "config.json", saved = converted.path() / "model";
    const Model model = runtime().load(folder.path());
    Session session = runtime().session(model, runtime().device("cpu"));
    const json prompts = json_of(seeing / "prompts.json")["paligemma_sees"];
    std::vector<int32_t> ids = ids_of(session, prompts[0]);
    ids.pop_back();
    CHECK_THAT(message_of([&] { (void)generate_from_ids(session, ids, greedy()); }),
               contains("the tokens of a prompt see each other, so expected all of its 14"));
    convert(runtime(), folder.path(), {}).model.save(saved);
    const json good = json_of(saved / "model.json");
    CHECK(good["images"]["place"] == json{{"mark", "<image>"},
                                          {"text", "<image>"},
                                          {"token", 50},
                                          {"behind", "<bos>"},
                                          {"end", "\n"},
                                          {"together", true}});
    const auto refused_model = [&](const std::function<void(json &)> &change) {
        json changed = good;
        change(changed);
        std::ofstream(saved / "model.json") << changed.dump();
        return message_of([&] { (void)runtime().load(saved); });
    };
    CHECK(refused_model([](json &) {}).empty());
    CHECK_THAT(refused_model([](json &m) { m["images"]["place"]["together"] = 1; }),
               contains("/images/place/together"));
    CHECK_THAT(refused_model([](json &m) { m["images"]["place"]["behind"] = 1; }), contains("/images/place/behind"));
    const auto refused = [&](const std::function<void(json &)> &change) {
        json changed = json_of(test::architectures / "models" / "paligemma_sees" / "config.json");
        change(changed);
        std::ofstream(file) << changed.dump();
        return test::why_no_images(folder.path());
    };
    CHECK(refused([](json &) {}).empty());
    CHECK_THAT(refused([](json &c) { c["projection_dim"] = 40; }),
               contains("/projection_dim") && contains("expected 36"));
    CHECK_THAT(refused([](json &c) { c["vision_config"]["model_type"] = "clip_vision_model"; }),
               contains("/vision_config"));
}

} // namespace paligemma
