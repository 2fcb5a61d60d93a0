// Models that see and talk, compared with transformers. seeing/make.py wrote what it answers.
#include "catch.hpp"
#include "folders.hpp"

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
using test::session_of;
namespace fs = std::filesystem;

namespace {

const fs::path seeing = test::architectures / "seeing", image_files = test::architectures / "images" / "files";
constexpr int32_t image_token = 50;

fs::path talking(const TemporaryFolder &folder, const std::string &name) {
    const auto options = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
    fs::copy(test::architectures / "models" / name, folder.path(), options);
    const std::string type = json_of(folder.path() / "config.json")["model_type"];
    fs::copy(seeing / (type == "gemma3"     ? "talking_gemma3"
                       : type == "llava"    ? "talking"
                       : type == "internvl" ? "talking_internvl"
                                            : "talking_idefics3"),
             folder.path(), options);
    return folder.path();
}

std::vector<Image> images_of(const json &conversation) {
    std::vector<Image> out;
    for (const std::string file : conversation["images"]) out.push_back(read_image(image_files / file));
    return out;
}

std::map<std::string, std::string> variables_of(const json &conversation) {
    return {{"messages", conversation["messages"].dump()}};
}

GenerateOptions greedy() {
    GenerateOptions out;
    out.max_length = 6;
    out.ignore_end = true;
    return out;
}

void check_seen(const Model &model, Session session, const json &conversations) {
    for (const json &each : conversations) {
        INFO(each["prompt"].get<std::string>());
        const std::string prompt = chat_prompt(model, {}, variables_of(each));
        CHECK(prompt == each["prompt"].get<std::string>());
        std::vector<int32_t> ids = image_prompt_ids(session, prompt, images_of(each));
        const std::vector<Hypothesis> found = generate_from_ids(session, ids, greedy());
        CHECK(found.front().tokens == each["answer"].get<std::vector<int32_t>>());
        std::ranges::replace_if(
            ids, [](int32_t id) { return id < 0; }, image_token);
        CHECK(ids == each["ids"].get<std::vector<int32_t>>());
    }
}

} // namespace

TEST_CASE("seeing: answers about images are those of transformers, after conversion, too") {
    const json expected = json_of(seeing / "expected.json");
    for (const char *name : {"llava", "llava_full", "gemma3_sees", "gemma3_sees_all", "idefics3_sees", "smolvlm_sees",
                             "internvl_sees", "internvl_sees_all"}) {
        const TemporaryFolder folder, converted;
        const Model model = runtime().load(talking(folder, name));
        for (const Device &device : runtime().devices()) {
            INFO(name << " on " << device.id);
            check_seen(model, runtime().session(model, device), expected[name]);
        }
        check_seen(model, runtime().session(model, runtime().device("reference")), expected[name]);
        convert(runtime(), folder.path(), {}).model.save(converted.path() / "model");
        const Model again = runtime().load(converted.path() / "model");
        check_seen(again, runtime().session(again, runtime().device("cpu")), expected[name]);
    }
    const TemporaryFolder folder;
    const TextGeneration inside = inspect(runtime().load(talking(folder, "llava"))).generation.value();
    CHECK(inside.images.value().mark == "<image>");
    CHECK(inside.images.value().tokens == 9);
    CHECK(inside.images.value().width == 12);
}

TEST_CASE("seeing: prompts that differ by their images alone share nothing of them, and the same images are known") {
    const TemporaryFolder folder;
    Session session = session_of(talking(folder, "llava"));
    const json expected = json_of(seeing / "expected.json")["llava"];
    const std::string prompt = expected[0]["prompt"];
    const std::vector<Image> one = images_of(expected[0]), other = images_of(expected[1]);
    const std::vector<int32_t> first = image_prompt_ids(session, prompt, one),
                               second = image_prompt_ids(session, prompt, other);
    CHECK(first == image_prompt_ids(session, prompt, one));
    CHECK(first.size() == second.size());
    CHECK(first[1] < 0);
    CHECK(std::ranges::find_if(second, [&](int32_t id) { return id < 0 && std::ranges::count(first, id) != 0; }) ==
          second.end());
    // Caches are used again up to the image, or beyond it if it is the same.
    Batch batch(session, {.slots = 1, .length = 40});
    GenerateOptions options = greedy();
    options.reuse = true;
    const auto written = [&](const std::vector<int32_t> &ids) {
        batch.add_ids(ids, options);
        Hypothesis out;
        while (!batch.empty())
            for (const Batch::Progress &each : batch.step())
                if (each.finished) out = *each.finished;
        return out;
    };
    CHECK(written(first).tokens == expected[0]["answer"].get<std::vector<int32_t>>());
    const Hypothesis of_other = written(second);
    CHECK(of_other.tokens == expected[1]["answer"].get<std::vector<int32_t>>());
    CHECK(of_other.reused == 1);
    const Hypothesis again = written(second);
    CHECK(again.tokens == of_other.tokens);
    CHECK(again.reused == second.size() - 1);
    // Penalties for repetition and guesses know that these are no words.
    options.repetition_penalty = 1.3, options.guess_ahead = 4, options.dry_multiplier = 0.8;
    CHECK(written(first).tokens.size() == 6);
}

TEST_CASE("seeing: long conversations lose the images of the turns that are left out") {
    const TemporaryFolder folder;
    const Model model = runtime().load(talking(folder, "llava"));
    Session session = runtime().session(model, runtime().device("cpu"));
    const json conversation = json_of(seeing / "expected.json")["llava"][2]; // an image in each of two turns
    const std::vector<Image> images = images_of(conversation);
    const auto variables = variables_of(conversation);
    const ShortenedChat whole = shortened_chat_prompt(model, session, {}, images, 60, 10, variables);
    CHECK(whole.left_out == 0);
    CHECK(whole.ids.size() == conversation["ids"].size());
    const ShortenedChat rest = shortened_chat_prompt(model, session, {}, images, 30, 10, variables);
    CHECK(rest.left_out == 2);
    CHECK(rest.prompt == "w40 <image> w16 w6 w41");
    CHECK(rest.ids == image_prompt_ids(session, rest.prompt, {images[1]}));
    // The same, said in messages.
    const std::vector<ChatMessage> said{{"user", "w11", 1}, {"assistant", "w9 w10"}, {"user", "w16 w6", 1}};
    CHECK(shortened_chat_prompt(model, session, said, images, 30, 10).ids == rest.ids);
    CHECK(chat_prompt(model, said) == conversation["prompt"].get<std::string>());
}

// Wherever blocks and parts of prompts would end, and whatever is computed beside them.
TEST_CASE("seeing: images whose tokens see each other are computed as a whole") {
    for (const char *name : {"gemma3_sees", "gemma3_sees_all"}) {
        INFO(name);
        const TemporaryFolder folder;
        const json expected = json_of(seeing / "expected.json")[name];
        Session session = session_of(talking(folder, name));
        for (const size_t slots : {size_t{1}, size_t{2}, size_t{4}}) {
            INFO(slots << " slots");
            Batch batch(session, {.slots = slots, .length = 60});
            std::map<uint64_t, size_t> places;
            std::vector<Hypothesis> found(expected.size());
            const auto step = [&] {
                for (const Batch::Progress &each : batch.step())
                    if (each.finished) found[places.at(each.id)] = *each.finished;
            };
            for (const size_t i : {size_t{4}, size_t{2}, size_t{5}, size_t{0}, size_t{3}, size_t{1}}) {
                const auto ids = image_prompt_ids(session, expected[i]["prompt"], images_of(expected[i]));
                GenerateOptions options = greedy();
                options.reuse = true;
                places[batch.add_ids(ids, options, {.client = i + 1, .request = i + 1})] = i;
                step(); // the others come while it is written, and are read in parts
            }
            while (!batch.empty()) step();
            for (size_t i = 0; i < found.size(); ++i) {
                INFO(expected[i]["prompt"].get<std::string>());
                CHECK(found[i].tokens == expected[i]["answer"].get<std::vector<int32_t>>());
            }
        }
        // Beams, and whole texts without caches.
        const auto ids = image_prompt_ids(session, expected[5]["prompt"], images_of(expected[5]));
        GenerateOptions options = greedy();
        options.cached = false;
        CHECK(generate_from_ids(session, ids, options).front().tokens ==
              expected[5]["answer"].get<std::vector<int32_t>>());
        options = greedy();
        options.beams = 3;
        const std::vector<int32_t> best = generate_from_ids(session, ids, options).front().tokens;
        options.cached = false;
        CHECK(generate_from_ids(session, ids, options).front().tokens == best);
    }
}

// The first part of a prompt that comes while another text is written has 32 tokens.
TEST_CASE("seeing: parts of prompts do not end within images whose tokens see each other") {
    const TemporaryFolder folder;
    Session session = session_of(talking(folder, "gemma3_sees_all"));
    const std::vector<Image> photo{read_image(image_files / "photo.png")};
    for (size_t words = 14; words < 30; words += 3) {
        INFO(words << " words before the image");
        std::string prompt;
        for (size_t i = 0; i < words; ++i) prompt += "w" + std::to_string(3 + i % 7) + " ";
        const std::vector<int32_t> ids = image_prompt_ids(session, prompt + "<start_of_image> w38 w41", photo);
        const double alone = generate_from_ids(session, ids, greedy()).front().log_probability;
        Batch batch(session, {.slots = 2, .length = 60});
        batch.add_ids({3, 4}, greedy(), {.client = 1, .request = 1});
        (void)batch.step();
        const uint64_t id = batch.add_ids(ids, greedy(), {.client = 2, .request = 2});
        while (!batch.empty())
            for (const Batch::Progress &each : batch.step())
                if (each.finished && each.id == id)
                    CHECK_THAT(each.finished->log_probability, matchers::within_abs(alone, 1e-4));
    }
}

// The block of an image is filled up beyond 256 tokens, which is what the caches of both texts have room for.
TEST_CASE("seeing: a prompt that joins a text leaves its caches alone, wherever the block of an image ends") {
    const TemporaryFolder folder;
    const fs::path file = talking(folder, "gemma3_sees") / "config.json";
    json config = json_of(file);
    config["text_config"]["max_position_embeddings"] = 2048;
    std::ofstream(file) << config.dump();
    const Model model = runtime().load(folder.path());
    const auto words = [](size_t count, int32_t first) {
        std::vector<int32_t> out;
        for (size_t i = 0; i < count; ++i) out.push_back(first + static_cast<int32_t>(i % 7));
        return out;
    };
    const std::vector<int32_t> text = words(100, 3), beginning = words(240, 11);
    GenerateOptions many = greedy(), few = greedy();
    many.max_length = 20, few.max_length = 1;
    many.reuse = few.reuse = true;
    for (const Device &device : runtime().devices()) {
        INFO(device.id);
        Session session = runtime().session(model, device);
        std::vector<int32_t> prompt = beginning;
        for (const int32_t id : image_prompt_ids(session, "<start_of_image>", {read_image(image_files / "photo.png")}))
            if (id < 0) prompt.push_back(id);
        prompt.insert(prompt.end() - 9, {3, 4, 5});
        prompt.push_back(6);
        const double text_alone = generate_from_ids(session, text, many).front().log_probability,
                     prompt_alone = generate_from_ids(session, prompt, few).front().log_probability;
        Batch batch(session, {.slots = 2, .length = 1024});
        std::map<uint64_t, Hypothesis> found;
        const auto step = [&] {
            for (const Batch::Progress &each : batch.step())
                if (each.finished) found[each.id] = *each.finished;
        };
        batch.add_ids(beginning, few);
        while (!batch.empty()) step();
        const uint64_t of_text = batch.add_ids(text, many);
        step();
        const uint64_t of_prompt = batch.add_ids(prompt, few);
        while (!batch.empty()) step();
        CHECK(found[of_prompt].reused == beginning.size());
        CHECK_THAT(found[of_prompt].log_probability, matchers::within_abs(prompt_alone, 1e-4));
        CHECK_THAT(found[of_text].log_probability, matchers::within_abs(text_alone, 1e-4));
    }
}

TEST_CASE("seeing: of an image whose tokens see each other, a prompt has all") {
    const TemporaryFolder folder;
    const Model model = runtime().load(talking(folder, "gemma3_sees"));
    Session session = runtime().session(model, runtime().device("cpu"));
    const std::vector<Image> photo{read_image(image_files / "photo.png")};
    const std::vector<int32_t> ids = image_prompt_ids(session, "w3 <start_of_image> w4", photo);
    const auto refused = [&](const std::vector<int32_t> &some) {
        return message_of([&] { (void)generate_from_ids(session, some, greedy()); });
    };
    const auto first = std::ranges::find_if(ids, [](int32_t id) { return id < 0; });
    const auto behind = std::find_if(first, ids.end(), [](int32_t id) { return id >= 0; });
    CHECK(refused(ids).empty());
    CHECK_THAT(refused({ids.begin(), behind}), contains("see each other, so expected all of its 9, and one of text"));
    CHECK_THAT(refused({first + 1, ids.end()}), contains("token 0: the tokens of an image"));
    std::vector<int32_t> twice(ids.begin(), behind);
    twice.insert(twice.end(), first, ids.end());
    CHECK_THAT(refused(twice), contains("token 3: the tokens of an image"));
    Batch batch(session, {.slots = 1, .length = 40});
    CHECK_THAT(message_of([&] { (void)batch.add_ids({ids.begin(), behind}, greedy()); }), contains("one of text"));
    const TextGeneration inside = inspect(model).generation.value();
    CHECK(inside.images.value().mark == "<start_of_image>");
    CHECK(inside.images.value().tokens == 9);
}

TEST_CASE("seeing: images that do not fit their prompt are refused") {
    const TemporaryFolder folder, blind;
    Session session = session_of(talking(folder, "llava"));
    const Image photo = read_image(image_files / "photo.png");
    const auto refused = [&](const std::string &prompt, const std::vector<Image> &images) {
        return message_of([&] { (void)image_prompt_ids(session, prompt, images); });
    };
    CHECK_THAT(refused("w3", {photo}), contains("expected '<image>' in the prompt for each of 1 image, and nowhere "
                                                "else; found it 0 times"));
    CHECK_THAT(refused("<image> <image> w3", {photo}), contains("found it 2 times"));
    CHECK(refused("<image> w3", {}).empty()); // a word like any other
    CHECK_THAT(refused("<image> w3", {Image{2, 2, std::vector<uint8_t>(11)}}), contains("image 1: expected 3 values"));
    std::string many;
    for (size_t i = 0; i < 8; ++i) many += "<image> ";
    CHECK_THAT(refused(many, std::vector<Image>(8, photo)), contains("72 tokens; expected at most 64"));
    CHECK_THAT(message_of([&] {
                   (void)generate_from_ids(session, {3, -500000});
               }),
               contains("the image of the token -500000 is not known"));
    CHECK_THAT(message_of([&] { (void)embed_images(session, {photo}); }), contains("does not take images"));
    // A model that only continues texts.
    fs::copy(test::architectures / "models" / "llama", blind.path(), fs::copy_options::recursive);
    fs::copy(seeing / "talking", blind.path(), fs::copy_options::recursive);
    Session of_words = session_of(blind.path());
    CHECK_THAT(message_of([&] { (void)image_prompt_ids(of_words, "<image> w3", {photo}); }),
               contains("takes no images in prompts: it continues texts"));
    CHECK_THAT(message_of([&] {
                   (void)generate_from_ids(of_words, {3, -500000});
               }),
               contains("expected an id from 0 to"));
}

TEST_CASE("seeing: a model folder says how images get into prompts, or is refused") {
    const TemporaryFolder folder, converted;
    const fs::path saved = converted.path() / "model";
    convert(runtime(), talking(folder, "llava"), {}).model.save(saved);
    const json good = json_of(saved / "model.json");
    CHECK(good["images"]["place"] == json{{"mark", "<image>"}, {"text", "<image>"}, {"token", 50}, {"skip", 1}});
    const auto refused = [&](const std::function<void(json &)> &change) {
        json changed = good;
        change(changed);
        std::ofstream(saved / "model.json") << changed.dump();
        return message_of([&] { (void)runtime().load(saved); });
    };
    CHECK_THAT(refused([](json &m) { m["images"].erase("place"); }),
               contains("/images") && contains("need each other"));
    CHECK_THAT(refused([](json &m) { m["images"]["embedding"] = "tokens"; }), contains("expected one of the keys"));
    CHECK_THAT(refused([](json &m) { m["images"]["place"]["token"] = 53; }), contains("/images/place/token"));
    CHECK_THAT(refused([](json &m) { m["images"]["place"]["mark"] = ""; }), contains("/images/place/mark"));
    CHECK_THAT(refused([](json &m) { m["images"]["place"]["skip"] = 10; }),
               contains("/images/tokens") && contains("with N above 10, found (2, 10, 36)"));
    CHECK_THAT(refused([](json &m) { m["generation"].erase("image_mask"); }),
               contains("'image_rows' needs the key 'image_mask'"));
    CHECK_THAT(refused([](json &m) { m["generation"].erase("image_mask"), m["generation"].erase("image_rows"); }),
               contains("nothing gives the input"));
    CHECK_THAT(refused([](json &m) { m["graphs"]["decode"]["inputs"]["image_rows"]["dims"] = "B T C"; }),
               contains("/generation/image_rows") && contains("expected a fixed number as size 2"));
    CHECK_THAT(refused([](json &m) { m["images"]["merge"] = 2; }),
               contains("/images/merge") && contains("expected a number that divides the image's patches") &&
                   contains("3 x 3"));
    CHECK_THAT(refused([](json &m) {
                   for (const char *key : {"image_mask", "image_rows"}) m["generation"].erase(key);
                   m["generation"]["image_ahead"] = "ids";
               }),
               contains("/generation/image_ahead") && contains("only a model that takes images"));
    CHECK(refused([](json &) {}).empty());
}
