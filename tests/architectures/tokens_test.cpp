// The tokens that generation starts with, ends at and never returns, as given in published files.
#include "catch.hpp"
#include "changed_gguf.hpp"
#include "with_tokenizer.hpp"

#include "architectures/gguf_ends.hpp"
#include "architectures/open.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

using namespace lamina;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

using Ids = std::vector<int32_t>;
using Start = std::vector<Ids>;

const fs::path token_models = test::architectures / "models";

// The tokens of one of models/ with these settings in generation_config.json; with none, in a folder without the file.
model::OutputTokens tokens(const std::string &name, const json &generation, const json &more_config = {}) {
    const TemporaryFolder folder;
    json config = test::json_of(token_models / name / "config.json");
    if (!more_config.empty()) config.update(more_config);
    folder.write("config.json", config.dump());
    fs::copy(token_models / name / "model.safetensors", folder.path());
    if (!generation.empty()) folder.write("generation_config.json", generation.dump());
    return architectures::open(folder.path())->tokens;
}

std::string refusal(const std::string &name, const json &generation) {
    try {
        (void)tokens(name, generation);
        return "";
    } catch (const Error &e) {
        return e.what();
    }
}

} // namespace

TEST_CASE("output tokens: generation_config.json takes precedence over config.json") {
    const model::OutputTokens of_file = tokens("t5", {{"decoder_start_token_id", 7}, {"eos_token_id", {1, 5}}});
    CHECK(of_file.start == Start{{7}});
    CHECK(of_file.end == Ids{1, 5});
    const model::OutputTokens of_config = tokens("t5", {});
    CHECK(of_config.start == Start{{0}});
    CHECK(of_config.end == Ids{1});
    CHECK(tokens("llama", {}).end == Ids{2});
    CHECK(tokens("llama", {}).start.empty()); // it begins with the prompt
}

TEST_CASE("output tokens: GGUF files say which are suppressed") {
    const fs::path file = token_models / "gguf_qwen2" / "model.gguf";
    CHECK(architectures::open(file)->tokens.suppress.empty());
    std::string bytes = test::bytes_of(file);
    constexpr uint32_t i32 = 5, list = 9;
    test::add_key(bytes, "tokenizer.ggml.suppress_tokens", list,
                  test::number_in_gguf(i32) + test::number_in_gguf(uint64_t{2}) + test::number_in_gguf(int32_t{46}) +
                      test::number_in_gguf(int32_t{5}));
    const TemporaryFolder folder;
    const fs::path changed = folder.path() / "model.gguf";
    std::ofstream(changed, std::ios::binary) << bytes;
    CHECK(architectures::open(changed)->tokens.suppress == Ids{46, 5});
}

TEST_CASE("output tokens: bad_words_ids are suppressed") {
    const json settings{{"bad_words_ids", {{46}, {3}}}, {"suppress_tokens", {5}}, {"begin_suppress_tokens", {4}}};
    CHECK(tokens("marian", settings).suppress == Ids{5, 46, 3});
    CHECK(tokens("marian", settings).begin_suppress == Ids{4});
    CHECK(tokens("marian", {}, settings).suppress == Ids{5, 46, 3});
    CHECK(tokens("marian", {{"bad_words_ids", {{46, 3}, {2}, {8}}}, {"eos_token_id", 2}, {"forced_bos_token_id", 8}})
              .suppress.empty()); // of several tokens, of an end, and of one that is forced
}

TEST_CASE("output tokens: a config.json of release 4 forces the begin token, a generation_config.json does not") {
    const json old{{"force_bos_token_to_be_generated", true}, {"bos_token_id", 8}, {"forced_bos_token_id", 9}};
    const auto forced = [](const json &config, const json &generation = {}) {
        const WithTokenizer model("marian", config);
        fs::remove(model.path() / "generation_config.json");
        if (!generation.empty()) model.write("generation_config.json", generation.dump());
        return architectures::open(model.path())->generation->decoding.forced_bos_token_id;
    };
    CHECK(forced(old) == 8);
    json without = old;
    without["force_bos_token_to_be_generated"] = false;
    CHECK(forced(without) == 9);
    without = old;
    without["bos_token_id"] = nullptr;
    CHECK(forced(without) == 9);
    CHECK_FALSE(forced(old, {{"force_bos_token_to_be_generated", true}, {"bos_token_id", 8}}).has_value());

    json suppressed = old;
    suppressed.update({{"bad_words_ids", {{9}, {8}}}, {"eos_token_id", 2}});
    CHECK(tokens("marian", {}, suppressed).suppress == Ids{9}); // what is forced is not suppressed
}

TEST_CASE("output tokens: Whisper's output begins with a language, a task and \"no timestamps\"") {
    const json several{{"decoder_start_token_id", 3},
                       {"lang_to_id", {{"<|de|>", 21}, {"<|en|>", 20}, {"<|fr|>", 22}}},
                       {"task_to_id", {{"transcribe", 30}, {"translate", 31}}},
                       {"no_timestamps_token_id", 32},
                       {"forced_decoder_ids", {{1, nullptr}, {2, 30}}}};
    CHECK(tokens("whisper", several).start == Start{{3}, {21, 20, 22}, {30}, {32}});
    json german = several;
    german.update({{"language", "de"}, {"task", "translate"}});
    CHECK(tokens("whisper", german).start == Start{{3}, {21}, {31}, {32}});
    json forced = several;
    forced["forced_decoder_ids"] = {{1, 22}, {2, 31}};
    CHECK(tokens("whisper", forced).start == Start{{3}, {22}, {31}, {32}});
    german["language"] = "<|fr|>";
    CHECK(tokens("whisper", german).start == Start{{3}, {22}, {31}, {32}});
    german["language"] = "latin";
    CHECK_THAT(refusal("whisper", german), matchers::contains("/language: 'latin' is not supported"));

    const json english{{"decoder_start_token_id", 3}, {"no_timestamps_token_id", 32}};
    CHECK(tokens("whisper", english).start == Start{{3}, {32}});
    const json older{{"decoder_start_token_id", 3}, {"forced_decoder_ids", {{1, 20}, {2, 30}, {3, 32}}}};
    CHECK(tokens("whisper", {}, older).start == Start{{3}, {20}, {30}, {32}});
    const json untimed{
        {"decoder_start_token_id", 3}, {"no_timestamps_token_id", 32}, {"forced_decoder_ids", {{1, 20}, {2, 30}}}};
    CHECK(tokens("whisper", untimed).start == Start{{3}, {20}, {30}, {32}});
}

TEST_CASE("output tokens: GGUF gives the end tokens") {
    CHECK(architectures::open(token_models / "gguf_llama" / "model.gguf")->tokens.end == Ids{2});
}

namespace {

std::vector<int64_t> ends(const std::vector<std::string_view> &tokens, std::optional<int32_t> named,
                          const std::vector<int32_t> &types = {}) {
    model::GgufMetadata metadata("made", nullptr);
    const auto add = [&](const char *key, model::GgufType type, bool list, std::span<const std::byte> bytes,
                         const std::vector<std::string_view> &strings) {
        REQUIRE(metadata.add(key, model::GgufValue(key, type, list, bytes, strings)));
    };
    const std::array<int32_t, 1> id{named.value_or(0)};
    if (named) add("tokenizer.ggml.eos_token_id", model::GgufType::i32, false, std::as_bytes(std::span(id)), {});
    if (!types.empty())
        add("tokenizer.ggml.token_type", model::GgufType::i32, true, std::as_bytes(std::span(types)), {});
    add("tokenizer.ggml.model", model::GgufType::string, false, {}, {"llama"});
    add("tokenizer.ggml.tokens", model::GgufType::string, true, {}, tokens);
    std::vector<int64_t> out = architectures::end_tokens_of(metadata);
    std::ranges::sort(out);
    return out;
}

} // namespace

TEST_CASE("GGUF: a turn ends with the tokens that are called so, also where the file names the end of a text alone") {
    using Found = std::vector<int64_t>;
    CHECK(ends({"<pad>", "<eos>", "<bos>", "a", "<start_of_turn>", "<end_of_turn>"}, 1) == Found{1, 5}); // Gemma
    CHECK(ends({"a", "<|endoftext|>", "<|user|>", "<|end|>"}, 1) == Found{1, 3});                        // Phi-3
    CHECK(ends({"a", "<|return|>", "<|call|>", "<|end|>"}, 1) == Found{1, 2});                           // gpt-oss
    CHECK(ends({"a", "b", "</s>", "<h1>"}, 1, {1, 1, 1, 1}) == Found{1}); // a word of HTML
    CHECK(ends({"a", "b", "</s>", "<h1>"}, 1, {1, 1, 3, 1}) == Found{1, 2});
    // Qwen Coder, whose middle of a text ends where another file begins; a word of that name is none.
    CHECK(ends({"a", "<|fim_pad|>", "<|file_sep|>", "<|repo_name|>", "b"}, 4, {1, 4, 3, 4, 1}) == Found{1, 2, 3, 4});
    CHECK(ends({"a", "<PAD>", "<|file_sep|>", "<fim_pad>", "b"}, 4, {1, 1, 1, 3, 1}) == Found{3, 4});
    CHECK(ends({"a", "b", "c"}, std::nullopt) == Found{2}); // as in llama.cpp
}
