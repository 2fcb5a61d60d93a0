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

// That of SentencePiece with a list of merges, as of Gemma 4.
GgufVocabulary merging() {
    const JsonText json(text_of(fixture("gemma.json")), "gemma.json");
    const JsonView model = json.root().at("model");
    GgufVocabulary out;
    out.model = "gemma4";
    out.tokens.resize(model.at("vocab").members().size());
    out.token_type.assign(out.tokens.size(), 1);
    for (const JsonView token : model.at("vocab").members()) {
        const auto id = static_cast<size_t>(token.integer(0, 1 << 20));
        out.tokens[id] = kept(std::string(token.key()));
        if (token.key().starts_with("<0x")) out.token_type[id] = 6;
    }
    for (const JsonView merge : model.at("merges").items()) {
        std::string pair;
        for (const JsonView token : merge.items()) pair += (pair.empty() ? "" : " ") + std::string(token.string());
        out.merges.push_back(kept(pair));
    }
    out.token_type[0] = 2, out.token_type[1] = out.token_type[2] = 3;
    out.unknown_token_id = 0, out.bos_token_id = 1;
    return out;
}

// Of all texts of the fixture.
// `begins`: what is before each text that the fixture does not put there.
void expect_same(const Tokenizer &gguf, const std::string &name, const std::vector<int32_t> &begins = {}) {
    const Tokenizer json = Tokenizer::load(fixture(name + ".json"));
    const std::string file = name + ".expected.json";
    const JsonText expected(text_of(fixture(file)), file);
    for (const JsonView each : expected.root().items()) {
        const std::string text((*each.items().begin()).string());
        CAPTURE(text);
        if (begins.empty()) CHECK(gguf.encode(text) == json.encode(text));
        std::vector<int32_t> ids = json.encode(text).ids;
        ids.insert(ids.begin(), begins.begin(), begins.end());
        CHECK(gguf.encode(text).ids == ids);
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
    expect_same(tokenizer_of(merging()), "gemma", {1});
    for (const char *pre : {"gemma4", "granite-embed-multi-311m"}) {
        GgufVocabulary file = merging();
        file.add_bos_token = false, file.model = "gpt2",
        file.pre = pre; // a text begins with it, whatever the file says
        expect_same(tokenizer_of(file), "gemma", {1});
    }
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
    for (const char *name :
         {"a.x-4.0", "exaone4", "granite-docling", "jina-v1-en", "jina-v2-es", "modern-bert", "mpt", "olmo", "phi-2"})
        CHECK(ids(name) == ids("gpt-2"));
    for (const char *name : {"command-r", "refact", "smollm", "codeshell", "mellum2"})
        CHECK(ids(name) == ids("starcoder"));
    for (const char *name : {"glm4", "glm5", "llama3", "falcon3", "falcon-h1", "lfm2", "midm-2.0", "jina-v5-nano"})
        CHECK(ids(name) == ids("llama-bpe"));
    for (const char *name : {"smaug-bpe", "chatglm-bpe"}) CHECK(ids(name) == ids("dbrx"));
    for (const char *name : {"stablelm2", "megrez", "qwen35", "kormo", "f2llmv2", "hunyuan", "grok-2", "solar-open"})
        CHECK(ids(name) == ids("qwen2"));
    for (const char *name : {"gpt3-finnish", "poro-chat"}) CHECK(ids(name) == ids("bloom"));
    for (const char *name : {"hunyuan-dense", "joyai-llm", "hy_v4"}) CHECK(ids(name) == ids("deepseek-v3"));
    for (const char *name : {"llama4", "kanana2", "minimax-m2"}) CHECK(ids(name) == ids("gpt-4o"));
    CHECK(ids("bailingmoe2") == ids("bailingmoe"));
    CHECK(ids("cohere2moe") == ids("tiny_aya"));
    CHECK(ids("") == ids("default"));
    CHECK(ids("gpt-2") != ids("bloom"));
    CHECK(ids("gpt-2") != ids("starcoder"));
    CHECK(ids("dbrx") != ids("qwen2"));
}

TEST_CASE("GGUF names of word splits split as llama.cpp does") {
    const auto words = [](const char *pre, const std::string &text) {
        GgufVocabulary file = byte_level();
        file.pre = pre, file.add_bos_token = false;
        const Encoding found = tokenizer_of(file).encode(text, {.offsets = EncodeOptions::Unit::bytes});
        Tokens out;
        for (size_t i = 0, begin = 0; i < found.size(); ++i) {
            if (i == 0 || found.words[i] != found.words[i - 1]) out.emplace_back(), begin = found.offsets[i].begin;
            out.back() = text.substr(begin, found.offsets[i].end - begin);
        }
        return out;
    };
    CHECK(words("default", "it's 1234$5") == Tokens{"it", "'", "s", " ", "123", "4", "$", "5"});
    CHECK(words("default", "a`b") == Tokens{"a", "`", "b"});
    CHECK(words("default", "?`") == Tokens{"?", "`"});
    CHECK(words("falcon", "?`") == Tokens{"?`"});
    CHECK(words("falcon", " 12 1234") == Tokens{" 12", " ", "123", "4"});
    CHECK(words("tekken", "aBc'd 12") == Tokens{"a", "Bc", "'d", " ", "1", "2"});
    CHECK(words("gpt-4o", "aBc'd 12") == Tokens{"a", "Bc'd", " ", "12"});
    CHECK(words("kimi-k2", "aBc'd 1234\u4e2d\u6587x!\n\n") ==
          Tokens{"a", "Bc'd", " ", "123", "4", "\u4e2d\u6587", "x", "!\n\n"});
    CHECK(words("kimi-k2", " \u4e2d\u3042") == Tokens{" ", "\u4e2d", "\u3042"});
    CHECK(words("youtu", "aBc'd 12\uac00\u3105") == Tokens{"a", "Bc'd", " ", "1", "2", "\uac00", "\u3105"});
    CHECK(words("tiny_aya", "1234567 x") == Tokens{"1", "234", "567", " x"});
    CHECK(words("deepseek-llm", "Hi, you 123\n\n") == Tokens{"Hi", ",", " you", " ", "123", "\n", "\n"});
    CHECK(words("deepseek-llm", "\u00fcx\u05d0\u3001\u4e2d") == Tokens{"\u00fc", "x", "\u05d0", "\u3001", "\u4e2d"});
    CHECK(words("deepseek-coder", "Hi, you 12\n") == Tokens{"Hi", ",", " you", " ", "1", "2", "\n"});
    CHECK(words("seed-coder", "a12?\n\n") == Tokens{"a", "1", "2", "?", "\n\n"});
    CHECK(words("bailingmoe", "a?\n\n") == Tokens{"a", "?\n\n"});
    CHECK(words("bailingmoe", " \n\n") == Tokens{" \n\n"});
    CHECK(words("exaone-moe", "ab cd 12?\n\n") == Tokens{"ab cd", " ", "1", "2", "?\n", "\n"});
    CHECK(words("viking", "ab 12") == Tokens{"ab", " ", "1", "2"});
    CHECK(words("ufakzeka", "a's") == Tokens{"a", "'s"});
    CHECK(words("ufakzeka", "a'de") == Tokens{"a", "'de"});
    CHECK(words("hunyuan", "a'de") == Tokens{"a", "'d", "e"});
    CHECK(words("laguna", "a \n b") == Tokens{"a", " ", "\n", " b"});
    CHECK(words("minicpm5", "a1234") == Tokens{"a", "123", "4"});
    CHECK(words("spark2_5", "a12?\n") == Tokens{"a", "1", "2", "?", "\n"});
    CHECK(words("jais-2", "a" + std::string(7, ' ')) == Tokens{"a", std::string(4, ' '), std::string(2, ' '), " "});
    CHECK(words("chameleon", "IMGIMGABZ\t12") == Tokens{"IMGIMGABZ", "\t", "1", "2"});
}

TEST_CASE("GGUF names of word splits say whether words need merges, and which tokens are around texts") {
    GgufVocabulary file = byte_level();
    file.tokens.emplace_back("zqz"), file.token_type.push_back(1);
    const auto found = [&](const char *pre) {
        file.pre = pre;
        return tokens(tokenizer_of(file), "zqz");
    };
    const Tokens begin{std::string(file.tokens[0])}, whole{begin.front(), "zqz"};
    for (const char *name : {"lfm2", "tekken", "llama-bpe", "falcon-h1", "midm-2.0"}) CHECK(found(name) == whole);
    for (const char *name : {"glm5", "llama4", "minicpm5"}) CHECK(found(name) == Tokens{"zqz"});
    for (const char *name : {"default", "falcon", "seed-coder", "hunyuan"}) CHECK(found(name).size() == 3);
    CHECK(found("chameleon").size() == 4);
    file.add_bos_token = file.add_eos_token = true;
    const std::string end(file.tokens[1]);
    file.pre = "roberta-bpe";
    CHECK(tokenizer_of(file).encode("x", "x").tokens == Tokens{begin.front(), "x", end, end, "x", end});
    file.pre = "gpt-2";
    CHECK(tokenizer_of(file).encode("x", "x").tokens == Tokens{begin.front(), "x", end, begin.front(), "x", end});
    file.pre = "modern-bert"; // as BERT
    CHECK(tokenizer_of(file).encode("x", "x").tokens == Tokens{begin.front(), "x", end, "x", end});
    file.bos_token_id.reset(), file.eos_token_id.reset(); // llama.cpp then takes 11
    CHECK(tokens(tokenizer_of(file), "x") == Tokens{std::string(file.tokens[11]), "x", std::string(file.tokens[11])});
    GgufVocabulary pieces = sentencepiece();
    pieces.bos_token_id.reset(), pieces.eos_token_id.reset(), pieces.add_eos_token = true;
    CHECK(tokens(tokenizer_of(pieces), "ab") == Tokens{"<s>", "▁ab", "</s>"});
    GgufVocabulary words = unigram();
    words.add_bos_token.reset(), words.add_eos_token.reset(), words.eos_token_id.reset();
    CHECK(tokens(tokenizer_of(words), "a") == Tokens{"▁", "a", "</s>"});
    words.add_bos_token = true;
    CHECK(message_of([&] { (void)tokenizer_of(words); }) ==
          "tokenizer.ggml.bos_token_id: is missing: expected the id of a token");
}

TEST_CASE("a token of a GGUF file that is called like an end is one token of a text, whatever its type") {
    GgufVocabulary file = byte_level();
    file.add_bos_token = false;
    for (const char *token : {"<|im_end|>", "<|im_other|>"})
        file.tokens.emplace_back(token), file.token_type.push_back(1);
    const auto end = static_cast<int32_t>(file.tokens.size() - 2);
    const Encoding found = tokenizer_of(file).encode("x<|im_end|>x");
    REQUIRE(found.size() == 3);
    CHECK(found.ids[1] == end);
    CHECK(tokenizer_of(file).is_special(end));
    CHECK(tokenizer_of(file).encode("x<|im_other|>x").size() > 3);
}

TEST_CASE("GGUF names of models say which tokens take white space") {
    GgufVocabulary file = sentencepiece();
    for (const char *token : {"<|user|>", "<|end|>", "<|endoftext|>", "<mask>"})
        file.tokens.emplace_back(token), file.token_type.push_back(3), file.scores.push_back(0);
    const auto named = [](const GgufVocabulary &vocabulary, const std::string &text) {
        Tokens out;
        for (const int32_t id : tokenizer_of(vocabulary).encode(text).ids)
            out.emplace_back(vocabulary.tokens[static_cast<size_t>(id)]);
        return out;
    };
    const auto found = [&](const std::string &text) { return named(file, text); };
    const Tokens plain{"<s>", "<|user|>", "▁", "<0x0A>", "ab"}, stripped{"<s>", "<|user|>", "▁ab"};
    CHECK(found("<|user|>\nab") == plain);
    file.architecture = "phi3";
    CHECK(found("<|user|>\nab") == stripped);
    CHECK(found("ab</s> \n ab") == Tokens{"<s>", "▁ab", "</s>", "▁ab"});
    for (const char *token : {"<s>", "<|endoftext|>"})
        CHECK(found(std::string(token) + "\nab") == Tokens{"<s>", token, "▁", "<0x0A>", "ab"});
    file.architecture = "phimoe", file.name = "Phi-3.5 MoE";
    CHECK(found("<|user|>\nab") == stripped);
    file.name = "My phi3 tune";
    CHECK(found("<|user|>\nab") == stripped);
    file.name = "Phi 4";
    CHECK(found("<|user|>\nab") == plain);
    CHECK(found("ab \n<mask>") == Tokens{"<s>", "▁ab", "▁", "<0x0A>", "<mask>"});
    file.architecture = "nomic-bert-moe";
    CHECK(found("ab \n<mask>\nab") == Tokens{"<s>", "▁ab", "<mask>", "▁", "<0x0A>", "ab"});

    GgufVocabulary bert = byte_level();
    for (const char *token : {"[MASK]", "<mask>"}) bert.tokens.emplace_back(token), bert.token_type.push_back(3);
    bert.add_bos_token = false;
    const auto masked = [&](const char *pre, const std::string &mask) {
        bert.pre = pre;
        return named(bert, "x  " + mask) == Tokens{"x", mask};
    };
    CHECK(masked("modern-bert", "[MASK]"));
    CHECK(masked("jina-v2-code", "<mask>"));
    CHECK_FALSE(masked("jina-v2-code", "[MASK]"));
    CHECK_FALSE(masked("gpt-2", "[MASK]"));
    bert.name = "Modern-BERT base";
    CHECK(masked("gpt-2", "[MASK]"));
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
    file.model = "plamo2";
    CHECK(refusal(file) ==
          "tokenizer.ggml.model: 'plamo2' is not supported; supported: gpt2, llama, bert, t5, gemma4, rwkv");
    file = byte_level();
    file.pre = "afmoe";
    CHECK(refusal(file).starts_with("tokenizer.ggml.pre: 'afmoe' is not supported; supported: gpt-2, a.x-4.0"));
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
