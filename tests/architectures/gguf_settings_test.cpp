// Keys of GGUF files that would change numbers are read or refused, and what they leave out is as in llama.cpp.
#include "catch.hpp"
#include "changed_gguf.hpp"

#include "model/gguf.hpp"

#include <lamina/image.hpp>
#include <lamina/inspect.hpp>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

using namespace lamina;
using matchers::contains;
using test::runtime;
using File = test::ChangedGguf;

namespace gguf_settings {
namespace {

// The file of a model with other bytes, where a test can load it.
struct Written {
    TemporaryFolder folder{};
    std::filesystem::path file = folder.path() / "model.gguf";

    explicit Written(const std::string &bytes) { std::ofstream(file, std::ios::binary) << bytes; }
};

// The windows of layers, without those that see all tokens before them.
std::vector<double> windows(const std::filesystem::path &file) {
    std::vector<double> out;
    const ModelContents contents = inspect(runtime().load(file));
    for (const ModelLayer &each : contents.graphs.at("decode").layers)
        if (const auto window = each.params.find("window"); window != each.params.end())
            out.push_back(std::get<double>(window->second));
    return out;
}

} // namespace

TEST_CASE("GGUF: matrices behind the pooling, and none for vectors of tokens") {
    const File file("gguf_sentences_of_gemma3_dense");
    CHECK_THAT(file.with("gemma-embedding.dense_2_feat_out", uint32_t{21}),
               contains("'gemma-embedding.dense_2_feat_out'") && contains("expected 20, as 'dense_2.weight' has it"));
    CHECK_THAT(file.with("gemma-embedding.dense_3_feat_in", uint32_t{36}), contains("expected 20"));
    CHECK_THAT(file.with_key("gemma-embedding.embedding_length_out", uint32_t{20}),
               contains("expected 36, as 'dense_3.weight' has it"));
    CHECK(file.with_key("gemma-embedding.embedding_length_out", uint32_t{36}).empty());
    CHECK_THAT(file.with("gemma-embedding.pooling_type", uint32_t{0}),
               contains("a vector for each token (ColBERT)") && contains("take its Hugging Face folder"));
    CHECK_THAT(File("gguf_lfm2").with_key("lfm2.embedding_length_out", uint32_t{36}), contains("'dense_2.weight'"));
}

TEST_CASE("GGUF: a projector of Qwen may say how many pixels an image has") {
    const std::filesystem::path pair = test::architectures / "models" / "gguf_qwen3_vl_sees";
    const auto patches = [&](std::optional<std::pair<uint32_t, uint32_t>> pixels) {
        std::string bytes = test::bytes_of(pair / "mmproj.gguf");
        constexpr uint32_t u32 = 4;
        const auto entry = [&](const char *key, uint32_t number) {
            return test::entry_in_gguf(std::string("clip.vision.") + key, u32, test::number_in_gguf(number));
        };
        if (pixels)
            test::add_entries(
                bytes, entry("image_min_pixels", pixels->first) + entry("image_max_pixels", pixels->second), 2, 0);
        const Written projector(bytes);
        const Model model = runtime().load(pair / "model.gguf", {.adapters = {}, .mmproj = projector.file});
        const GraphRun run = image_inputs(model, {read_image(test::architectures / "images" / "files" / "photo.png")});
        return run.inputs.at("patches").shape().at(1);
    };
    const int64_t usual = patches(std::nullopt), few = patches(std::pair(1U, 400U));
    CHECK(few < usual);
    CHECK_THAT(message_of([&] { (void)patches(std::pair(500U, 400U)); }), contains("found 400 and 500"));
}

TEST_CASE("GGUF: words of Falcon-H1 that share the table lack a factor") {
    CHECK_THAT(File("gguf_falcon_h1_plain").without_tensor("output.weight"),
               contains("there is no tensor 'output.weight'") && contains("take the model's Hugging Face folder"));
}

TEST_CASE("GGUF: layers with a window turn like the others, unless there is a setting for it") {
    const File file("gguf_gpt_oss_mxfp4");
    const float base = static_cast<float>(model::open_gguf(test::architectures / "models/gguf_gpt_oss_mxfp4/model.gguf")
                                              .metadata.at("gpt-oss.rope.freq_base")
                                              .number());
    CHECK(file.with_key("gpt-oss.rope.freq_base_swa", base).empty());
    CHECK_THAT(file.with_key("gpt-oss.rope.freq_base_swa", 2 * base), contains("'gpt-oss.rope.freq_base_swa'"));
    CHECK(File("gguf_gemma3_plain").with("gemma3.rope.freq_base_swa", 700.0F).empty());
}

TEST_CASE("GGUF: a factor of YaRN that llama.cpp leaves out and transformers does not is refused") {
    const File file("gguf_gpt_oss_mxfp4"); // whose factor is 8
    const std::string key = "gpt-oss.rope.scaling.yarn_attn_factor";
    CHECK(file.with_key(key, 1.0F).empty());
    CHECK(file.with_key(key, 1.207944F).empty());
    CHECK_THAT(file.with_key(key, 1.5F), contains("'" + key + "'") && contains("expected 1.20794415"));
}

TEST_CASE("GGUF: YaRN extrapolates as usual") {
    const File file("gguf_gpt_oss_mxfp4");
    CHECK(file.with_key("gpt-oss.rope.scaling.yarn_ext_factor", 1.0F).empty());
    CHECK_THAT(file.with_key("gpt-oss.rope.scaling.yarn_ext_factor", 0.5F), contains("expected 1"));
}

TEST_CASE("GGUF: which layers have a window may be a number for any architecture") {
    std::string bytes = test::bytes_of(test::architectures / "models/gguf_gpt_oss_mxfp4/model.gguf");
    const Written usual(bytes);
    constexpr uint32_t u32 = 4;
    test::add_key(bytes, "gpt-oss.attention.sliding_window_pattern", u32, test::number_in_gguf(uint32_t{1}));
    const Written none(bytes);
    CHECK(windows(usual.file).size() == 2);
    CHECK(windows(none.file).empty());
}

TEST_CASE("GGUF: a window that the model cannot have is refused") {
    CHECK(File("gguf_lfm2").with_key("lfm2.attention.sliding_window", uint32_t{0}).empty());
    CHECK_THAT(File("gguf_lfm2").with_key("lfm2.attention.sliding_window", uint32_t{4}),
               contains("'lfm2.attention.sliding_window'") && contains("is not supported here"));
}

TEST_CASE("GGUF: a window that Gemma does not say is that of the first Gemma 2, and none in Gemma 3") {
    const auto unsaid = [](const std::string &architecture) {
        std::string bytes =
            test::bytes_of(test::architectures / "models" / ("gguf_" + architecture + "_plain") / "model.gguf");
        bytes.at(bytes.find(architecture + ".attention.sliding_window")) = 'X';
        const Written written(bytes);
        return windows(written.file);
    };
    CHECK(unsaid("gemma2") == std::vector<double>{4096});
    CHECK(unsaid("gemma3").empty());
}

} // namespace gguf_settings

TEST_CASE("GGUF: a file may name RWKV's chat template, as llama.cpp knows it") {
    std::string bytes = test::bytes_of(test::architectures / "models" / "gguf_llava_sees" / "model.gguf");
    const std::string key = "tokenizer.chat_template", name = "rwkv-world";
    const size_t at = bytes.find(key) + key.size() + sizeof(uint32_t);
    uint64_t size = 0;
    std::memcpy(&size, bytes.data() + at, sizeof size);
    bytes.replace(at, sizeof size + size, test::number_in_gguf(uint64_t{name.size()}) + name);
    test::add_entries(bytes, "", 0, size - name.size());
    const TemporaryFolder folder;
    const Model model = runtime().load(folder.write("model.gguf", bytes));
    CHECK(chat_prompt(model, {},
                      {{"messages", R"([{"role": "system", "content": " short "}, {"role": "user", "content": "w3\n"},
                                        {"role": "assistant", "content": "w4"}, {"role": "user", "content": "w5"}])"}}) ==
          "System: short\n\nUser: w3\n\nAssistant: w4\n\nUser: w5\n\nAssistant:");
}
