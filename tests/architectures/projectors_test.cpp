// Models in GGUF files that see with the projector beside them, compared with transformers. make_projectors.py wrote
// them.
#include "catch.hpp"
#include "folders.hpp"

#include "architectures/projector_kinds.hpp"

#include <lamina/convert.hpp>
#include <lamina/image.hpp>
#include <lamina/inspect.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <set>

using namespace lamina;
using matchers::contains;
using nlohmann::json;
using test::json_of;
using test::runtime;
namespace fs = std::filesystem;

namespace projectors {
namespace {

const fs::path models = test::architectures / "models", files = test::architectures / "images" / "files";
constexpr int32_t image_token = 50;

fs::path pair_of(const std::string &name) { return models / ("gguf_" + name + "_sees"); }

std::string bytes_of(const fs::path &file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<Image> images_of(const json &conversation) {
    std::vector<Image> out;
    for (const std::string file : conversation["images"]) out.push_back(read_image(files / file));
    return out;
}

void check_answers(const Model &model, Session session, const json &conversations) {
    GenerateOptions options;
    options.max_length = 6;
    options.ignore_end = true;
    for (const json &each : conversations) {
        INFO(each["prompt"].get<std::string>());
        const std::string prompt = chat_prompt(model, {}, {{"messages", each["messages"].dump()}});
        CHECK(prompt == each["prompt"].get<std::string>());
        std::vector<int32_t> ids = image_prompt_ids(session, prompt, images_of(each));
        CHECK(generate_from_ids(session, ids, options).front().tokens == each["answer"].get<std::vector<int32_t>>());
        std::ranges::replace_if(
            ids, [](int32_t id) { return id < 0; }, image_token);
        CHECK(ids == each["ids"].get<std::vector<int32_t>>());
    }
}

template <class Number> std::string number(Number value) {
    return {reinterpret_cast<const char *>(&value), sizeof value};
}
std::string in_file(const std::string &text) { return number(uint64_t{text.size()}) + text; }

// A model without a projector beside it, and the same with a changed projector, which is named.
class Pair {
  public:
    explicit Pair(const std::string &name)
        : model_(folder_.path() / "model.gguf"), projector_(folder_.path() / "sees.gguf"),
          bytes_(bytes_of(pair_of(name) / "mmproj.gguf")) {
        fs::copy_file(pair_of(name) / "model.gguf", model_);
    }
    [[nodiscard]] const fs::path &model() const { return model_; }
    [[nodiscard]] const fs::path &projector() const { return projector_; }
    [[nodiscard]] Model load() const { return runtime().load(model_, {.adapters = {}, .mmproj = projector_}); }
    [[nodiscard]] std::string refusal(const std::function<void(std::string &)> &change) const {
        std::string bytes = bytes_;
        change(bytes);
        std::ofstream(projector_, std::ios::binary) << bytes;
        return message_of([&] { (void)load(); });
    }
    // With one text in the place of another that is as long, wherever it is.
    [[nodiscard]] std::string with(const std::string &text, const std::string &instead) const {
        REQUIRE(text.size() == instead.size());
        return refusal([&](std::string &bytes) {
            size_t at = bytes.find(text);
            REQUIRE(at != std::string::npos);
            for (; at != std::string::npos; at = bytes.find(text, at + 1)) bytes.replace(at, text.size(), instead);
        });
    }
    // With another number, of four bytes.
    template <class Number> [[nodiscard]] std::string with_number(const std::string &key, Number value) const {
        static_assert(sizeof value == 4);
        return refusal([&](std::string &bytes) {
            const size_t at = bytes.find(key);
            REQUIRE(at != std::string::npos);
            std::memcpy(bytes.data() + at + key.size() + sizeof(uint32_t), &value, sizeof value);
        });
    }

  private:
    TemporaryFolder folder_;
    fs::path model_, projector_;
    std::string bytes_;
};

std::string refused(const fs::path &model, const fs::path &projector) {
    return message_of([&] { (void)runtime().load(model, {.adapters = {}, .mmproj = projector}); });
}

} // namespace

TEST_CASE("projectors: answers about images are those of transformers, after conversion, too") {
    const json expected = json_of(test::architectures / "seeing" / "projectors.json");
    for (const char *name : {"gemma3", "gemma4", "internvl", "llava", "llava_pixtral", "mistral3", "qwen2_5_vl",
                             "qwen2_vl", "qwen3_5", "qwen3_5_moe", "qwen3_vl", "qwen3_vl_moe", "smolvlm"}) {
        const json &answers = expected["gguf_" + std::string(name) + "_sees"];
        REQUIRE(answers.size() > 4);
        const Model model = runtime().load(pair_of(name) / "model.gguf");
        for (const Device &device : runtime().devices()) {
            INFO(name << " on " << device.id);
            check_answers(model, runtime().session(model, device), answers);
        }
        const TemporaryFolder converted;
        convert(runtime(), pair_of(name) / "model.gguf").model.save(converted.path() / "model");
        const Model again = runtime().load(converted.path() / "model");
        check_answers(again, runtime().session(again, runtime().device("cpu")), answers);
    }
}

TEST_CASE("projectors: one is beside its model, or named") {
    const json answers = json_of(test::architectures / "seeing" / "projectors.json")["gguf_llava_sees"];
    const Pair pair("llava");
    const auto sees = [](const ModelContents &contents) { return contents.generation->images.has_value(); };
    CHECK(pair.refusal([](std::string &) {}).empty());
    const Model named = pair.load();
    check_answers(named, runtime().session(named, runtime().device("cpu")), answers);
    CHECK_THAT(inspect(named).notes.at(0), contains("images are read by " + pair.projector().string()));
    CHECK(sees(inspect(runtime(), pair.model(), {.adapters = {}, .mmproj = pair.projector()})));
    CHECK(convert(runtime(), pair.model(), {.mmproj = pair.projector()}).model.json.find("\"images\"") !=
          std::string::npos);

    const auto alone = [&] { return inspect(runtime(), pair.model()); };
    CHECK(!sees(alone()));
    CHECK_THAT(alone().no_images, contains("give its projector, a file mmproj-*.gguf, with --mmproj"));
    const fs::path first = pair.model().parent_path() / "mmproj-a.gguf", second = first.parent_path() / "mmproj-b.gguf";
    fs::copy_file(pair.projector(), first);
    CHECK(sees(alone()));
    CHECK(alone().no_images.empty());
    fs::copy_file(pair.projector(), second);
    CHECK(!sees(alone()));
    CHECK_THAT(alone().no_images, contains("several projectors beside it") && contains("mmproj-a.gguf mmproj-b.gguf"));
    fs::remove(second);
    // Texts do not need one that does not fit.
    fs::copy_file(pair_of("gemma3") / "mmproj.gguf", first, fs::copy_options::overwrite_existing);
    CHECK(!sees(alone()));
    CHECK_THAT(alone().no_images, contains("mmproj-a.gguf: a projector for models of the architecture 'gemma3'"));
    CHECK_THAT(alone().notes.at(0), contains("without images: the projector beside it is not read"));
    const Model blind = runtime().load(pair.model());
    Session session = runtime().session(blind, runtime().device("cpu"));
    CHECK_THAT(message_of([&] { (void)image_prompt_ids(session, "<image> w3", {read_image(files / "photo.png")}); }),
               contains("takes no images in prompts: it continues texts; the projector beside it is not read"));
}

TEST_CASE("projectors: a session with adapters has that of its model") {
    const json conversation = json_of(test::architectures / "seeing" / "projectors.json")["gguf_llava_sees"][0];
    const Pair pair("llava");
    CHECK(pair.refusal([](std::string &) {}).empty());
    const Session session = runtime().session(pair.load(), runtime().device("cpu"));
    Session adapted = session.with_adapters({{test::architectures / "adapters" / "gguf_llama" / "adapter.gguf", 1e-6}});
    const std::vector<int32_t> ids = image_prompt_ids(adapted, conversation["prompt"], images_of(conversation));
    GenerateOptions options;
    options.max_length = 6;
    options.ignore_end = true;
    CHECK(generate_from_ids(adapted, ids, options).front().tokens ==
          conversation["answer"].get<std::vector<int32_t>>());
}

TEST_CASE("projectors: one of another model, or what is none, is refused with what to do") {
    const fs::path llava = pair_of("llava"), qwen = pair_of("qwen2_5_vl"), text = models / "gguf_llama" / "model.gguf";
    CHECK_THAT(refused(qwen / "model.gguf", llava / "mmproj.gguf"),
               contains("mmproj.gguf: its tokens have 36 channels, and those of ") && contains(" have 48") &&
                   contains("is it for another model?"));
    CHECK_THAT(refused(llava / "model.gguf", qwen / "mmproj.gguf"),
               contains("a projector for models of the architecture 'qwen2vl', and ") && contains("is of 'llama'"));
    CHECK_THAT(refused(llava / "model.gguf", text),
               contains(text.string() + ": metadata 'general.architecture': expected 'clip', found 'llama': this is no "
                                        "projector"));
    CHECK_THAT(refused(llava / "model.gguf", models / "llama" / "config.json"), contains("config.json"));
    CHECK_THAT(refused(llava / "model.gguf", "no-such-file.gguf"), contains("no-such-file.gguf"));
    CHECK_THAT(refused(models / "llama", llava / "mmproj.gguf"), contains("a folder that sees has its own part"));
    CHECK_THAT(refused(models / "gguf_sentences" / "model.gguf", llava / "mmproj.gguf"),
               contains("takes no images: it does not continue texts"));
    CHECK_THAT(message_of([&] { (void)runtime().load(llava / "mmproj.gguf"); }),
               contains("a projector, which reads images for another model: give that model, and --mmproj with this"));
}

TEST_CASE("projectors: keys that are missing, unknown or wrong are refused by name") {
    const Pair gemma("gemma3"), gemma4("gemma4"), qwen("qwen2_5_vl"), smolvlm("smolvlm");
    const std::string file = gemma.projector().string();
    const auto says = [](const std::string &message, const std::string &place, const std::string &why) {
        CHECK_THAT(message, contains(place) && contains(why));
    };
    const std::string type = std::string("gemma3"), of_other("gemma7");
    says(gemma.with("\x06" + std::string(7, '\0') + type, "\x06" + std::string(7, '\0') + of_other),
         file + ": metadata 'clip.projector_type'",
         "'gemma7' is not supported; supported: gemma3, gemma4v, idefics3, internvl, mlp, pixtral, qwen2.5vl_merger, "
         "qwen2vl_merger, qwen3vl_merger");
    says(gemma.with("clip.vision.block_count", "clip.vision.block_cOunt"), file,
         "the metadata lack the key 'clip.vision.block_count'");
    says(gemma.with("clip.vision.image_std", "clip.vision.image_sTd"), "'clip.vision.image_sTd'", "unknown key");
    says(gemma.with("clip.use_gelu", "clip.use_geLu"), "'clip.use_geLu'", "unknown key (its value is true");
    says(gemma.with_number("clip.vision.patch_size", 0), file + ": metadata 'clip.vision.patch_size'", "1");
    says(gemma.with_number("clip.vision.projector.scale_factor", 4), file,
         "6 x 6 patches, and squares of 4 x 4 become one token: see 'clip.vision.projector.scale_factor'");
    says(gemma.with_number("clip.vision.image_size", 9000), "'clip.vision.image_size'", "8192");
    says(smolvlm.with("clip.vision.projector.scale_factor", "clip.vision.projector.scale_factoR"), "scale_factoR",
         "unknown key");
    says(smolvlm.with_number("clip.vision.projector.scale_factor", 3),
         smolvlm.projector().string() + ": metadata 'clip.vision.projector.scale_factor'", "divides the 4 x 4 patches");
    says(smolvlm.with_number("clip.vision.preproc_image_size", 10000), "'clip.vision.preproc_image_size'", "8192");
    says(qwen.with_number("clip.vision.patch_size", 1 << 30), qwen.projector().string(), "expected at most 4096");
    const std::string mixed = std::string("gemma4v"), of_sound("gemma4a");
    says(gemma4.with("\x07" + std::string(7, '\0') + mixed, "\x07" + std::string(7, '\0') + of_sound),
         gemma4.projector().string() + ": metadata 'clip.vision.projector_type'", "'gemma4a' is not supported");
    says(gemma4.with_number("clip.vision.patch_size", 300), "'clip.vision.patch_size'", "expected at most 256");
    says(gemma4.with_number("clip.vision.patch_size", 5), "'v.patch_embd.weight'", "it is (32, 3, 5, 5)");
    says(gemma4.with_number("clip.vision.attention.head_count", 3), "head_count'",
         "expected a multiple of the key and value heads, 4, found 3");
    // Older files lack some.
    says(gemma.with("clip.vision.projector.scale_factor", "general.vision.projector.scale_fac"), file,
         "squares of 4 x 4");
    CHECK(smolvlm.with("clip.vision.preproc_image_size", "general.preproc_image_size____").empty());
    const json seen = json::parse(convert(runtime(), smolvlm.model(), {.mmproj = smolvlm.projector()}).model.json);
    CHECK(seen["images"]["tiles"]["longest_edge"] == 48);
    says(qwen.with_number("clip.vision.attention.layer_norm_epsilon", 1e-5F),
         "metadata 'clip.vision.attention.layer_norm_epsilon'", "expected 1e-6");
    says(qwen.with_number("clip.vision.attention.head_count", 5), "'clip.vision.attention.head_count'",
         "expected heads of a multiple of 4 channels");
    says(qwen.with_number("clip.vision.block_count", 2), "v.blk.2.", "no layer of the model uses the tensor");
    says(qwen.with_number("clip.vision.block_count", 4), "v.blk.3.", "no tensor");
}

TEST_CASE("projectors: one of LLaVA may say which layer counts") {
    const Pair pair("llava");
    const auto with_layer = [&](int32_t layer) {
        return pair.refusal([&](std::string &bytes) { // two more keys, so that tensors stay aligned
            const size_t count = 16, first = 24;
            uint64_t keys = 0;
            std::memcpy(&keys, bytes.data() + count, sizeof keys);
            bytes.replace(count, sizeof keys, number(keys + 2));
            bytes.insert(first, in_file("clip.vision.feature_layer") + number(uint32_t{9}) + number(uint32_t{5}) +
                                    number(uint64_t{1}) + number(layer) + in_file("general.pad") + number(uint32_t{8}) +
                                    in_file("twelve bytes"));
        });
    };
    const json answers = json_of(test::architectures / "seeing" / "projectors.json")["gguf_llava_sees"];
    CHECK(with_layer(2).empty()); // the last that the file has
    const Model same = pair.load();
    check_answers(same, runtime().session(same, runtime().device("cpu")), answers);
    CHECK_THAT(with_layer(3), contains("metadata 'clip.vision.feature_layer': expected -3 to 2, found 3"));
    CHECK_THAT(with_layer(1), contains("no layer of the model uses the tensor 'v.blk.1."));
}

TEST_CASE("projectors: tensors that are missing, left over or of another shape are refused by name") {
    for (const auto &[name, tensor] : {std::pair{"gemma3", "v.blk.1.ln1.weight"},
                                       {"gemma3", "mm.input_projection.weight"},
                                       {"gemma3", "mm.soft_emb_norm.weight"},
                                       {"gemma3", "v.post_ln.bias"},
                                       {"gemma4", "v.blk.1.attn_q.weight"},
                                       {"gemma4", "v.blk.1.ffn_down.output_min"},
                                       {"gemma4", "v.blk.0.attn_k_norm.weight"},
                                       {"gemma4", "v.blk.1.ffn_post_norm.weight"},
                                       {"gemma4", "v.position_embd.weight"},
                                       {"gemma4", "v.patch_embd.weight"},
                                       {"gemma4", "v.std_scale"},
                                       {"gemma4", "mm.input_projection.weight"},
                                       {"llava", "v.class_embd"},
                                       {"llava", "v.blk.1.ffn_up.weight"},
                                       {"llava", "mm.0.weight"},
                                       {"mistral3", "mm.input_norm.weight"},
                                       {"mistral3", "mm.patch_merger.weight"},
                                       {"mistral3", "v.blk.2.attn_q.weight"},
                                       {"mistral3", "v.pre_ln.weight"},
                                       {"qwen2_5_vl", "v.blk.1.attn_k.weight"},
                                       {"qwen2_5_vl", "v.patch_embd.weight.1"},
                                       {"qwen2_5_vl", "v.blk.0.ffn_gate.weight"},
                                       {"qwen3_vl", "v.blk.1.attn_qkv.bias"},
                                       {"qwen3_vl", "v.deepstack.2.fc1.weight"},
                                       {"qwen3_vl", "v.position_embd.weight"},
                                       {"smolvlm", "mm.model.fc.weight"},
                                       {"smolvlm", "v.position_embd.weight"}}) {
        INFO(name << " " << tensor);
        const Pair pair(name);
        std::string other(tensor);
        other[0] = 'x';
        CHECK_THAT(pair.with(tensor, other), contains(pair.projector().string() + ": ") && contains(tensor));
    }
    CHECK_THAT(Pair("gemma4").with("v.position_embd.weight", "x.position_embd.weight"), !contains("vision_tower"));
    const Pair gemma("gemma3");
    CHECK_THAT(
        gemma.with_number("clip.vision.feed_forward_length", 51),
        contains("the tensor 'v.blk.0.ffn_up.weight' has the shape (52, 40), but according to its metadata it is "
                 "(51, 40)"));
    CHECK_THAT(
        Pair("smolvlm").with_number("clip.vision.image_size", 18),
        contains("the tensor 'v.position_embd.weight' has the shape (16, 40), but according to its metadata it is "
                 "(36, 40)"));
}

TEST_CASE("projectors: a vocabulary has the token that images have in prompts") {
    const TemporaryFolder folder;
    const fs::path model = folder.path() / "model.gguf";
    std::string bytes = bytes_of(pair_of("smolvlm") / "model.gguf");
    const std::string token = "\x07" + std::string(7, '\0') + "<image>";
    REQUIRE(bytes.find(token) != std::string::npos);
    bytes[bytes.find(token) + 12] = 'X';
    std::ofstream(model, std::ios::binary) << bytes;
    CHECK_THAT(refused(model, pair_of("smolvlm") / "mmproj.gguf"),
               contains("model.gguf: its vocabulary has no token '<image>', which prompts need for images"));
}

TEST_CASE("projectors: a token that no text has stands for images where a vocabulary of Gemma 3 lacks theirs") {
    const TemporaryFolder folder;
    const fs::path model = folder.path() / "model.gguf";
    std::string bytes = bytes_of(pair_of("gemma3") / "model.gguf");
    const std::string theirs = in_file("<image_soft_token>"), other = in_file("<unused0>"), comment = "{#     #}";
    REQUIRE(bytes.find(theirs) != std::string::npos);
    bytes.replace(bytes.find(theirs), theirs.size(), other);
    // The template becomes as much longer, so that tensors stay where they are.
    const std::string key = "tokenizer.chat_template";
    const size_t at = bytes.find(key) + key.size() + sizeof(uint32_t);
    uint64_t size = 0;
    std::memcpy(&size, bytes.data() + at, sizeof size);
    bytes.insert(at + sizeof size + size, comment);
    size += comment.size();
    std::memcpy(bytes.data() + at, &size, sizeof size);
    std::ofstream(model, std::ios::binary) << bytes;
    const Model found = runtime().load(model, {.adapters = {}, .mmproj = pair_of("gemma3") / "mmproj.gguf"});
    check_answers(found, runtime().session(found, runtime().device("cpu")),
                  json_of(test::architectures / "seeing" / "projectors.json")["gguf_gemma3_sees"]);
}

TEST_CASE("projectors: the page about models lists exactly the kinds that are read") {
    std::set<std::string> listed, read;
    std::ifstream page(fs::path(LAMINA_SOURCE_DIR) / "docs" / "models.md");
    bool within = false;
    for (std::string line; std::getline(page, line);) {
        if (line == "| projector | models |") within = true;
        if (line.empty()) within = false;
        if (within && line.starts_with("| `")) listed.insert(line.substr(3, line.find('`', 3) - 3));
    }
    for (const architectures::ProjectorKind &each : architectures::projector_kinds()) read.emplace(each.type);
    CHECK(listed == read);
}

TEST_CASE("projectors: damaged ones are refused or read") {
    std::mt19937 random(7);
    for (const char *name : {"gemma3", "llava", "llava_pixtral", "mistral3", "qwen2_5_vl", "qwen2_vl", "qwen3_5",
                             "qwen3_5_moe", "qwen3_vl", "qwen3_vl_moe", "smolvlm"}) {
        const Pair pair(name);
        for (int i = 0; i < 40; ++i) {
            const std::string message = pair.refusal([&](std::string &bytes) {
                for (int k = 0; k < 3; ++k) bytes[random() % 6000] = static_cast<char>(random() % 256); // not the data
            });
            INFO(name << " " << i << ": " << message);
            CHECK((message.empty() || message.find(".gguf: ") != std::string::npos));
        }
    }
}

} // namespace projectors
