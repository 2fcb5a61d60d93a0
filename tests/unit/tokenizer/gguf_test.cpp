#include "base/file.hpp"
#include "base/json_reader.hpp"
#include "catch.hpp"
#include "places.hpp"
#include "tokenizer/base64.hpp"
#include "tokenizer/byte_characters.hpp"
#include "tokenizer/gguf.hpp"

#include <deque>

using namespace lamina;
using tokenizer::GgufVocabulary;
using tokenizer::tokenizer_of;

namespace {

std::string fixture(const std::string &name) { return LAMINA_SOURCE_DIR "/tests/unit/tokenizer/fixtures/" + name; }

std::string text_of(const std::string &file) {
    const std::vector<std::byte> bytes = read_file(file);
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

// The text in memory that is never given back, as that of a mapped file would be.
std::string_view kept(std::string text) {
    static std::deque<std::string> all;
    return all.emplace_back(std::move(text));
}

// How a GGUF file describes the tokenizer of llama3.json.
GgufVocabulary byte_level() {
    const JsonText json(text_of(fixture("llama3.json")), "llama3.json");
    const JsonView model = json.root().at("model");
    GgufVocabulary out;
    out.model = "gpt2";
    out.pre = "llama-bpe";
    out.tokens.resize(model.at("vocab").members().size());
    for (const JsonView token : model.at("vocab").members())
        out.tokens[static_cast<size_t>(token.integer(0, 1 << 20))] = kept(std::string(token.key()));
    for (const JsonView merge : model.at("merges").items()) {
        std::string pair;
        for (const JsonView token : merge.items()) pair += (pair.empty() ? "" : " ") + std::string(token.string());
        out.merges.push_back(kept(pair));
    }
    out.token_type.assign(out.tokens.size(), 1);
    out.token_type[0] = out.token_type[1] = 3;
    out.bos_token_id = 0;
    out.eos_token_id = 1;
    return out;
}

// How a GGUF file describes the tokenizer of a fixture of BERT, whose words it marks instead of what continues them.
GgufVocabulary word_piece(const char *name) {
    const JsonText json(text_of(fixture(name)), name);
    const JsonView vocabulary = json.root().at("model").at("vocab");
    GgufVocabulary out;
    out.model = "bert";
    out.tokens.resize(vocabulary.members().size());
    out.token_type.assign(out.tokens.size(), 1);
    for (const JsonView token : vocabulary.members()) {
        const auto id = static_cast<size_t>(token.integer(0, 1 << 20));
        const std::string text(token.key());
        if (id < 5) out.token_type[id] = 3;
        out.tokens[id] = kept(id < 5 ? text : text.starts_with("##") ? text.substr(2) : "▁" + text);
    }
    out.unknown_token_id = 1, out.cls_token_id = 2, out.seperator_token_id = 3;
    return out;
}

GgufVocabulary unigram() {
    const JsonText json(text_of(fixture("t5.json")), "t5.json");
    GgufVocabulary out;
    out.model = "t5";
    for (const JsonView entry : json.root().at("model").at("vocab").items()) {
        const std::vector<JsonView> both(entry.items().begin(), entry.items().end());
        out.tokens.push_back(kept(std::string(both.at(0).string())));
        out.scores.push_back(static_cast<float>(both.at(1).number()));
        out.token_type.push_back(out.tokens.size() < 3 ? 3 : out.tokens.size() == 3 ? 2 : 1);
    }
    for (const JsonView step : json.root().at("normalizer").at("normalizers").items())
        if (step.at("type").string() == "Precompiled")
            out.precompiled_charsmap = tokenizer::from_base64(step.at("precompiled_charsmap").string());
    out.unknown_token_id = 2, out.eos_token_id = 1, out.add_bos_token = false, out.add_eos_token = true;
    return out;
}

// Of all texts of the fixture.
void expect_same(const Tokenizer &gguf, const std::string &name) {
    const Tokenizer json = Tokenizer::load(fixture(name + ".json"));
    const std::string file = name + ".expected.json";
    const JsonText expected(text_of(fixture(file)), file);
    for (const JsonView each : expected.root().items()) {
        const std::string text((*each.items().begin()).string());
        CAPTURE(text);
        CHECK(gguf.encode(text) == json.encode(text));
        CHECK(gguf.decode(json.encode(text).ids) == json.decode(json.encode(text).ids));
    }
}

GgufVocabulary sentencepiece() {
    GgufVocabulary out;
    out.model = "llama";
    const auto add = [&](const std::string &token, int32_t type, float score) {
        out.tokens.push_back(kept(token));
        out.token_type.push_back(type);
        out.scores.push_back(score);
    };
    add("<unk>", 2, 0);
    add("<s>", 3, 0);
    add("</s>", 3, 0);
    for (unsigned byte = 0; byte < 256; ++byte) add(tokenizer::byte_token(static_cast<unsigned char>(byte)), 6, 0);
    float score = -1;
    for (const char *token : {"ab", "▁a", "bc", "abc", "▁ab", "▁", "a", "b", "c"}) add(token, 1, score--);
    out.bos_token_id = 1;
    out.eos_token_id = 2;
    return out;
}

std::vector<std::string> tokens(const Tokenizer &tokenizer, const std::string &text) {
    return tokenizer.encode(text).tokens;
}

using Tokens = std::vector<std::string>;

} // namespace

TEST_CASE("a byte-level tokenizer from GGUF metadata equals the one from tokenizer.json") {
    const Tokenizer gguf = tokenizer_of(byte_level());
    expect_same(gguf, "llama3");
    CHECK(gguf.encode("a", "b") == Tokenizer::load(fixture("llama3.json")).encode("a", "b"));
}

TEST_CASE("tokenizers of encoders from GGUF metadata equal those from tokenizer.json") {
    expect_same(tokenizer_of(word_piece("bert.json")), "bert");
    expect_same(tokenizer_of(unigram()), "t5");
    GgufVocabulary pairs = unigram(); // as XLM-RoBERTa has them
    pairs.add_bos_token = true, pairs.bos_token_id = 0;
    CHECK(tokens(tokenizer_of(pairs), "a") == Tokens{"<pad>", "▁", "a", "</s>"});
    CHECK(tokenizer_of(pairs).encode("a", "a").tokens == Tokens{"<pad>", "▁", "a", "</s>", "</s>", "▁", "a", "</s>"});
    GgufVocabulary cased = word_piece("bert_cased.json");
    cased.lowercase = false, cased.strip_accents = true;
    const Tokenizer json = Tokenizer::load(fixture("bert_cased.json"));
    for (const char *text : {"The Cat", "Café au lait", "unaffable!"})
        CHECK(tokenizer_of(cased).encode(text) == json.encode(text));
}

TEST_CASE("GGUF names of word splits that are the same split alike") {
    const auto ids = [](const char *pre) {
        GgufVocabulary file = byte_level();
        file.pre = pre, file.add_bos_token = false;
        std::vector<std::vector<int32_t>> out;
        for (const char *text : {"it's 12345 of\n\n them", "IT'S  a_b\t(c)\r\n", "12 345"})
            out.push_back(tokenizer_of(file).encode(text).ids);
        return out;
    };
    for (const char *name : {"modern-bert", "olmo", "phi-2", "mpt", "exaone4", "granite-docling"})
        CHECK(ids(name) == ids("gpt-2"));
    for (const char *name : {"command-r", "refact", "smollm", "codeshell"}) CHECK(ids(name) == ids("starcoder"));
    for (const char *name : {"glm4", "llama3", "falcon3"}) CHECK(ids(name) == ids("llama-bpe"));
    for (const char *name : {"smaug-bpe", "chatglm-bpe"}) CHECK(ids(name) == ids("dbrx"));
    for (const char *name : {"stablelm2", "megrez", "qwen35"}) CHECK(ids(name) == ids("qwen2"));
    CHECK(ids("gpt3-finnish") == ids("bloom"));
    CHECK(ids("gpt-2") != ids("bloom"));
    CHECK(ids("gpt-2") != ids("starcoder"));
    CHECK(ids("dbrx") != ids("qwen2"));
}

TEST_CASE("the words of Qwen3.5 have letters and their marks together") {
    GgufVocabulary file = byte_level();
    file.add_bos_token = false;
    // x and U+0331, whose bytes CC B1 stand in tokens as U+00CC and U+00B1
    for (const char *token : {"x\u00cc", "x\u00cc\u00b1"}) file.tokens.push_back(token), file.token_type.push_back(1);
    for (const char *merge : {"x \u00cc", "x\u00cc \u00b1"}) file.merges.push_back(merge);
    const auto count = [&](const char *pre) {
        file.pre = pre;
        return tokens(tokenizer_of(file), "x\u0331").size();
    };
    CHECK(count("qwen35") == 1);
    CHECK(count("qwen2") == 3);
}

TEST_CASE("the words of gpt-4o begin at capitals, and have their ends of contractions") {
    GgufVocabulary file = byte_level();
    file.add_bos_token = false;
    for (const char *token : {"aB", "b'", "b's"}) file.tokens.push_back(token), file.token_type.push_back(1);
    for (const char *merge : {"a B", "b '", "b' s"}) file.merges.push_back(merge);
    const auto found = [&](const char *pre, const char *text) {
        file.pre = pre;
        return tokens(tokenizer_of(file), text);
    };
    CHECK(found("llama-bpe", "aB") == Tokens{"aB"});
    CHECK(found("gpt-4o", "aB") == Tokens{"a", "B"});
    CHECK(found("llama-bpe", "b's") == Tokens{"b", "'", "s"});
    CHECK(found("gpt-4o", "b's") == Tokens{"b's"});
}

TEST_CASE("SentencePiece's tokens are merged by score, with bytes for unknown characters") {
    const Tokenizer tokenizer = tokenizer_of(sentencepiece());
    CHECK(tokens(tokenizer, "abc") == Tokens{"<s>", "▁", "abc"}); // "ab" before "bc", then "abc" before "▁ab"
    CHECK(tokens(tokenizer, "c bc") == Tokens{"<s>", "▁", "c", "▁", "bc"});
    CHECK(tokens(tokenizer, "é") == Tokens{"<s>", "▁", "<0xC3>", "<0xA9>"});
    CHECK(tokens(tokenizer, "a</s>a") == Tokens{"<s>", "▁a", "</s>", "▁a"});
    CHECK(tokens(tokenizer, "a</b>").size() == 6); // not a special token: a, and the bytes of '<', '/' and '>'
    for (const char *text : {"abc", "c bc", "é ab", " a"}) CHECK(tokenizer.decode(tokenizer.encode(text).ids) == text);
}

TEST_CASE("GGUF keys control the tokens around a text and the space before it") {
    GgufVocabulary file = sentencepiece();
    file.add_bos_token = false;
    file.add_eos_token = true;
    file.add_space_prefix = false;
    const Tokenizer tokenizer = tokenizer_of(file);
    CHECK(tokens(tokenizer, "ab") == Tokens{"ab", "</s>"});
    CHECK(tokenizer.decode(tokenizer.encode(" ab").ids) == " ab");
}

TEST_CASE("GGUF metadata that contradicts itself is refused, with the key") {
    const auto refusal = [](const GgufVocabulary &file) { return message_of([&] { (void)tokenizer_of(file); }); };
    GgufVocabulary file = byte_level();
    file.model = "rwkv";
    CHECK(refusal(file) == "tokenizer.ggml.model: 'rwkv' is not supported; supported: gpt2, llama, bert, t5");
    file = byte_level();
    file.pre = "tekken";
    CHECK(refusal(file).starts_with("tokenizer.ggml.pre: 'tekken' is not supported; supported: gpt-2, exaone4"));
    file = byte_level();
    file.token_type.pop_back();
    CHECK(refusal(file).starts_with("tokenizer.ggml.token_type: expected an entry for each of the "));
    file = byte_level();
    file.token_type[3] = 9;
    CHECK(refusal(file) == "tokenizer.ggml.token_type: entry 3: expected 1 to 6, found 9");
    file = byte_level();
    file.merges[2] = "ab";
    CHECK(refusal(file) == "tokenizer.ggml.merges: entry 2: expected two tokens separated by a space, found 'ab'");
    file = byte_level();
    file.merges[2] = "nowhere x";
    CHECK(refusal(file) ==
          "tokenizer.ggml.merges: entry 2: the merge of 'nowhere' and 'x': 'nowhere' is not in the vocabulary");
    file = byte_level();
    file.tokens[5] = file.tokens[4];
    CHECK(refusal(file).ends_with("the token already has the id 4"));
    file = byte_level();
    file.tokens[5] = "\xFF";
    CHECK(refusal(file) == "tokenizer.ggml.tokens: entry 5: '\\xff' is not UTF-8");
    file = byte_level();
    file.bos_token_id = 1 << 20;
    CHECK(refusal(file).starts_with("tokenizer.ggml.bos_token_id: expected the id of one of the "));
    file = sentencepiece();
    file.scores.clear();
    CHECK(refusal(file) == "tokenizer.ggml.scores: expected an entry for each of the 268 tokens, found 0");
    file = sentencepiece();
    file.unknown_token_id = -5;
    CHECK(refusal(file) == "tokenizer.ggml.unknown_token_id: expected the id of a token, found -5");
    file = word_piece("bert.json");
    file.cls_token_id.reset(); // 101, in files that do not say
    CHECK(refusal(file).empty());
    file.seperator_token_id = 1 << 20;
    CHECK(refusal(file).starts_with("tokenizer.ggml.seperator_token_id: expected the id of one of the "));
    file = unigram();
    file.precompiled_charsmap = "abc";
    CHECK(refusal(file).starts_with("tokenizer.ggml.precompiled_charsmap: "));
    file.remove_extra_whitespaces = false;
    CHECK(refusal(file) == "tokenizer.ggml.remove_extra_whitespaces: false is not supported with the model 't5'");
    file = GgufVocabulary();
    file.model = "llama";
    CHECK(refusal(file) == "tokenizer.ggml.tokens: expected at least one");
}
