#include "tokenizer/gguf_words.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>

namespace lamina::tokenizer {
namespace {

// The regular expressions are those of the models' own tokenizer.json, of which llama.cpp has equivalents
// (llama-vocab.cpp, llm_tokenizer_bpe).
constexpr auto gpt2_words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr auto one_digit = R"(\p{N})";
constexpr auto three_digits = R"(\p{N}{1,3})";
constexpr auto llama3_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr auto minicpm5_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr auto jais2_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|)"
    R"(\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr auto qwen2_words = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
                             R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr auto ufakzeka_words = R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr auto qwen35_words = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
                              R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr auto seed_coder_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr auto exaone_moe_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr auto bailing_words =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr auto gpt4o_words =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr auto kimi_words =
    R"([\p{Han}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr auto youtu_words =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr auto youtu_cjk =
    "[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f"
    "\ufe30-\ufe4f]+|[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+";
constexpr auto tekken_words = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
                              R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
                              R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr auto thousands = R"(\d{1,3}(?=(?:\d{3})*\b))";
constexpr auto deepseek_cjk = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+";
constexpr auto deepseek_words =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr auto spark_words = R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
                             R"( ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)";
constexpr auto line_break = R"([\r\n])", lines = R"([^\n]+|[\n]+)";
constexpr auto early_cjk = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"; // of DeepSeek's first models, as their letters
constexpr auto cased_letters =
    "\\s?["
    "A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373"
    "\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f"
    "\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77"
    "\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d"
    "\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb"
    "\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128"
    "\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4"
    "\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf"
    "\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3"
    "\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943"
    "]+";
constexpr auto wide_punctuation = "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+";
constexpr auto bloom_words = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+";

const std::vector<GgufWords> &all_words() {
    static const std::vector<GgufWords> all{
        {{"gpt-2", "a.x-4.0", "exaone4", "gigachat", "granite-docling", "jais", "jina-de", "jina-es", "jina-v2-de",
          "jina-v2-es", "mellum", "modern-bert", "mpt", "olmo", "phi-2", "trillion"},
         {gpt2_words}},
        {{"jina-v1-en", "jina-v2-code", "roberta-bpe"}, {gpt2_words}, false, false, false, true},
        {{"bloom", "gpt3-finnish", "poro-chat"}, {bloom_words}},
        {{"viking"}, {bloom_words, one_digit}},
        {{"codeshell", "command-r", "exaone", "mellum2", "minerva-7b", "refact", "smollm", "starcoder"},
         {one_digit, gpt2_words}},
        {{"default", ""}, {R"([\p{P}\$\+<=>\^~\|]+)", gpt2_words, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
        {{"falcon"}, {R"([\p{P}\$\+<=>\^~\|`]+)", gpt2_words, "[0-9][0-9][0-9]"}},
        {{"chameleon"},
         {"<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", R"([\t\n]|    |  )", one_digit, R"([\p{P}!-/:-@\[-`{-~])",
          gpt2_words},
         false,
         false,
         true},
        {{"falcon-h1", "falcon3", "jina-v5-nano", "lfm2", "llama-bpe", "llama-v3", "llama3", "midm-2.0", "pixtral"},
         {llama3_words},
         false,
         true,
         true},
        {{"chatglm-bpe", "dbrx", "smaug-bpe"}, {llama3_words}},
        {{"glm4", "glm5"}, {llama3_words}, false, true},
        {{"minicpm5"}, {three_digits, minicpm5_words}, false, true},
        {{"jais-2"}, {jais2_words}},
        {{"gpt-4o", "granite-embed-multi-97m", "llama4"}, {gpt4o_words}, false, true},
        {{"kanana2", "minimax-m2", "talkie"}, {gpt4o_words}},
        {{"kimi-k2"}, {kimi_words}},
        {{"cohere2moe", "tiny_aya"}, {thousands, gpt4o_words}},
        {{"youtu"}, {youtu_cjk, youtu_words}, false, true},
        {{"tekken"}, {tekken_words}, false, true, true},
        {{"deepseek-r1-qwen", "f2llmv2", "qwen2"}, {qwen2_words}, true},
        {{"qwen35"}, {qwen35_words}, true},
        {{"grok-2", "hunyuan", "kormo", "megrez", "solar-open", "stablelm2"}, {qwen2_words}},
        {{"laguna"}, {lines, qwen2_words}},
        {{"ufakzeka"}, {ufakzeka_words}},
        {{"seed-coder"}, {seed_coder_words}},
        {{"exaone-moe"}, {exaone_moe_words}},
        {{"bailingmoe", "bailingmoe2", "llada-moe"}, {bailing_words}},
        {{"deepseek-v3", "hunyuan-dense", "hy_v4", "joyai-llm"}, {three_digits, deepseek_cjk, deepseek_words}},
        {{"spark2_5"}, {three_digits, deepseek_cjk, spark_words, one_digit}},
        {{"deepseek-llm"}, {line_break, cased_letters, wide_punctuation, R"(\s+$)", early_cjk, R"(\p{N}+)"}},
        {{"deepseek-coder"}, {line_break, R"(\s?\p{L}+)", R"(\s?\p{P}+)", early_cjk, one_digit}},
    };
    return all;
}

} // namespace

const GgufWords &gguf_words(const std::string &name) {
    std::string known;
    for (const GgufWords &each : all_words()) {
        if (std::ranges::find(each.names, name) != each.names.end()) return each;
        for (const std::string_view other : each.names)
            if (!other.empty()) known += (known.empty() ? "" : ", ") + std::string(other);
    }
    throw Error(ErrorCode::input, in_quotes(name) + " is not supported; supported: " + known);
}

} // namespace lamina::tokenizer
