#include "tokenizer/gguf.hpp"

#include "base/utf8.hpp"
#include "tokenizer/bpe.hpp"
#include "tokenizer/byte_characters.hpp"
#include "tokenizer/gguf_words.hpp"
#include "tokenizer/parts.hpp"
#include "tokenizer/python_text.hpp"
#include "tokenizer/unicode.hpp"
#include "tokenizer/word_models.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace lamina::tokenizer {
namespace {

enum TokenType { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

constexpr uint64_t most_bytes_of_parts = uint64_t{1} << 31; // a vocabulary of 256,000 tokens has 2^25

constexpr std::string_view blank_mark = "\xE2\x96\x81"; // U+2581, which stands for a space in SentencePiece's tokens

// Of some family each (llama.cpp, llama-vocab.cpp).
constexpr std::array<std::string_view, 19> names_of_ends{
    "<|eot_id|>",
    "<|eom_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<turn|>",
    "<|tool_response>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",
};

[[noreturn]] void refuse_key(const std::string &key, const std::string &why) {
    throw Error(ErrorCode::input, "tokenizer.ggml." + key + ": " + why);
}

// Returns make(), and adds the key to its errors.
template <class Make> decltype(auto) at_key(const std::string &key, const Make &make) {
    try {
        return make();
    } catch (const Error &error) {
        refuse_key(key, error.what());
    }
}

// A token that is called like an end is one, whatever the file says: only so does a prompt hold it as one token.
TokenType type_of(const GgufVocabulary &file, size_t id) {
    const auto type = file.token_type.empty() ? normal : static_cast<TokenType>(file.token_type[id]);
    return type == normal && is_called_an_end(file.tokens[id]) ? control : type;
}

void check_lists(const GgufVocabulary &file) {
    const auto check = [&](const char *key, size_t size) {
        if (size != file.tokens.size())
            refuse_key(key, "expected an entry for each of the " + std::to_string(file.tokens.size()) +
                                " tokens, found " + std::to_string(size));
    };
    if (file.tokens.empty()) refuse_key("tokens", "expected at least one");
    if (!file.token_type.empty()) check("token_type", file.token_type.size());
    if (file.model == "llama" || file.model == "t5") check("scores", file.scores.size());
    for (size_t id = 0; id < file.scores.size(); ++id)
        if (!std::isfinite(file.scores[id]))
            refuse_key("scores", "entry " + std::to_string(id) + ": expected a finite number");
    for (size_t id = 0; id < file.token_type.size(); ++id)
        if (file.token_type[id] < normal || file.token_type[id] > byte)
            refuse_key("token_type", "entry " + std::to_string(id) + ": expected 1 to 6, found " +
                                         std::to_string(file.token_type[id]));
}

Vocabulary vocabulary_of(const GgufVocabulary &file) {
    Vocabulary out;
    size_t bytes = 0;
    for (const std::string_view token : file.tokens) bytes += token.size();
    out.reserve(file.tokens.size(), bytes);
    for (size_t id = 0; id < file.tokens.size(); ++id) {
        if (first_invalid_utf8(file.tokens[id]) != file.tokens[id].size())
            refuse_key("tokens", "entry " + std::to_string(id) + ": " + in_quotes(file.tokens[id]) + " is not UTF-8");
        at_key("tokens", [&] { out.add(file.tokens[id], static_cast<int64_t>(id)); });
    }
    return out;
}

// Flags of tokenizer.json that no key of a GGUF file stands for. They follow from names (llama.cpp, llama-vocab.cpp);
// Phi-3.5's name says less than its architecture.
class Strips {
  public:
    explicit Strips(const GgufVocabulary &file) {
        std::string name = file.name;
        for (char &c : name)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        const auto named = [&](const char *part) { return name.find(part) != std::string::npos; };
        phi3_ = named("phi-3") || named("phi3") || (file.architecture == "phi3" && file.model == "llama");
        if (file.pre == "modern-bert" || named("modern-bert"))
            mask_ = "[MASK]";
        else if (file.pre.starts_with("jina-v2-") || file.architecture == "nomic-bert-moe")
            mask_ = "<mask>";
    }

    // Whether the token takes the white space before it, and behind it.
    [[nodiscard]] bool left(std::string_view token) const { return token == mask_; }
    [[nodiscard]] bool right(std::string_view token) const {
        return phi3_ && token != "<unk>" && token != "<s>" && token != "<|endoftext|>";
    }

  private:
    bool phi3_ = false;
    std::string_view mask_ = {}; // the token for a missing word, if it takes white space
};

// Control tokens and user-defined tokens are matched verbatim in a text. Unigram's unknown token is a control token.
AddedTokens added_tokens_of(const GgufVocabulary &file) {
    const Strips strips(file);
    std::vector<AddedToken> out;
    for (size_t id = 0; id < file.tokens.size(); ++id)
        if (const TokenType type = type_of(file, id);
            type == control || type == user_defined || (type == unknown && file.model == "t5")) {
            AddedToken token{static_cast<int32_t>(id), std::string(file.tokens[id])};
            token.normalized = false;
            token.special = type != user_defined;
            token.lstrip = strips.left(token.content);
            token.rstrip = strips.right(token.content);
            out.push_back(token);
        }
    return at_key("tokens", [&] { return AddedTokens(std::move(out), [](Text &) {}); });
}

std::vector<Merge> merges_of(const GgufVocabulary &file, const Vocabulary &vocabulary) {
    std::vector<Merge> out;
    out.reserve(file.merges.size());
    for (const std::string_view each : file.merges) {
        const std::string key = "merges: entry " + std::to_string(out.size());
        const size_t blank = each.find(' ', 1); // the first token is not empty, and may begin with a space
        if (blank == std::string::npos)
            refuse_key(key, "expected two tokens separated by a space, found " + in_quotes(each));
        at_key(key, [&] {
            out.push_back(merge_of(vocabulary, each.substr(0, blank), each.substr(blank + 1),
                                   static_cast<uint32_t>(out.size()), ""));
        });
    }
    return out;
}

// SentencePiece's BPE has no list of merges: any two tokens whose concatenation is a token may merge, and the result
// with the highest score goes first.
std::vector<Merge> merges_by_score(const GgufVocabulary &file, const Vocabulary &vocabulary) {
    std::vector<float> scores = file.scores;
    std::sort(scores.begin(), scores.end(), std::greater<>());
    scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
    std::vector<Merge> out;
    uint64_t read = 0; // bytes, of all parts of all tokens
    for (size_t id = 0; id < file.tokens.size(); ++id) {
        const TokenType type = type_of(file, id);
        if (type != normal && type != user_defined) continue;
        if (read += uint64_t{file.tokens[id].size()} * file.tokens[id].size(); read > most_bytes_of_parts)
            refuse_key("tokens", "entry " + std::to_string(id) +
                                     ": the tokens are too long, so that it would take too long to split them in all "
                                     "possible ways; expected tokens of 10 bytes, say");
        const auto rank = static_cast<uint32_t>(
            std::lower_bound(scores.begin(), scores.end(), file.scores[id], std::greater<>()) - scores.begin());
        const std::string_view token = file.tokens[id];
        for (size_t at = 0; at < token.size();) {
            at += character_at(token, at).length;
            const auto left = vocabulary.id(token.substr(0, at)), right = vocabulary.id(token.substr(at));
            if (at < token.size() && left && right) out.push_back({*left, *right, static_cast<int32_t>(id), rank});
        }
    }
    return out;
}

// A token that has a meaning: of the first of these keys that the file has, or else with this id.
SpecialToken special_of(const GgufVocabulary &file,
                        std::initializer_list<std::pair<const char *, std::optional<int32_t>>> keys,
                        int32_t otherwise) {
    const auto given = std::find_if(keys.begin(), keys.end(), [](const auto &key) { return key.second.has_value(); });
    const int32_t id = given != keys.end() ? *given->second : otherwise;
    if (id < 0 || static_cast<size_t>(id) >= file.tokens.size())
        refuse_key(given != keys.end() ? given->first : keys.begin()->first,
                   "expected the id of one of the " + std::to_string(file.tokens.size()) + " tokens, found " +
                       std::to_string(id));
    return {std::string(file.tokens[static_cast<size_t>(id)]), id};
}

// What llama.cpp takes where a file does not say.
struct Ends {
    bool begins = false, ends = false; // a text gets a token that begins it, or one that ends it
    std::optional<int32_t> bos = {}, eos = {};
    bool separates = false;   // two texts that begin and end are as RoBERTa has them
    bool begins_once = false; // the second of two texts has nothing before it
};

// Adds the tokens that begin and end a text.
PostProcessor ends_of(const GgufVocabulary &file, const Ends &usual) {
    const auto token = [&](const char *key, const std::optional<int32_t> &id, const std::optional<int32_t> &otherwise) {
        if (!id && !otherwise) refuse_key(key, "is missing: expected the id of a token");
        return special_of(file, {{key, id}}, otherwise.value_or(0));
    };
    std::optional<SpecialToken> begin, end;
    if (file.add_bos_token.value_or(usual.begins)) begin = token("bos_token_id", file.bos_token_id, usual.bos);
    if (file.add_eos_token.value_or(usual.ends)) end = token("eos_token_id", file.eos_token_id, usual.eos);
    if (usual.separates && begin && end) return roberta_processing(*begin, *end);
    std::vector<TemplatePiece> single, pair;
    for (const int32_t type : {0, 1}) {
        std::vector<TemplatePiece> text;
        if (begin && (type == 0 || !usual.begins_once)) text.push_back({0, {*begin}, type});
        text.push_back({static_cast<size_t>(type), {}, type});
        if (end) text.push_back({0, {*end}, type});
        pair.insert(pair.end(), text.begin(), text.end());
        if (type == 0) single = std::move(text);
    }
    return template_processing(std::move(single), std::move(pair));
}

Tokenizer::Parts byte_level_parts(const GgufVocabulary &file) {
    const GgufWords &words = at_key("pre", [&]() -> const GgufWords & { return gguf_words(file.pre); });
    Tokenizer::Parts out;
    if (words.composes) out.normalizer = normal_form(NormalForm::nfc);
    std::vector<PreTokenizer> steps;
    for (const std::string_view pattern : words.patterns)
        steps.push_back(split_by(Regex(std::string(pattern)), Delimiter::isolated, false));
    steps.push_back(byte_level({.add_prefix_space = false, .trim_offsets = false, .use_regex = false}));
    out.pre_tokenizer = sequence(std::move(steps));
    Vocabulary vocabulary = vocabulary_of(file);
    const std::vector<Merge> merges = merges_of(file, vocabulary);
    BpeOptions options;
    options.ignore_merges = words.ignore_merges;
    out.model = bpe(std::move(vocabulary), merges, std::move(options));
    out.post_processor = ends_of(file, {.begins = words.begins_text,
                                        .ends = false,
                                        .bos = 11,
                                        .eos = 11,
                                        .separates = words.separates,
                                        .begins_once = file.pre == "modern-bert"});
    out.decoder = decode_byte_level();
    return out;
}

Tokenizer::Parts sentencepiece_parts(const GgufVocabulary &file) {
    Tokenizer::Parts out;
    const bool prefixed = file.add_space_prefix.value_or(true);
    std::vector<Normalizer> steps;
    if (prefixed) steps.push_back(prepend(std::string(blank_mark)));
    steps.push_back(replace(Pattern(" "), std::string(blank_mark)));
    out.normalizer = sequence(std::move(steps));
    Vocabulary vocabulary = vocabulary_of(file);
    const std::vector<Merge> merges = merges_by_score(file, vocabulary);
    BpeOptions options;
    options.byte_fallback = options.fuse_unknown = true;
    const int32_t unknown_id = file.unknown_token_id.value_or(0);
    if (unknown_id < 0 || static_cast<size_t>(unknown_id) >= file.tokens.size())
        refuse_key("unknown_token_id", "expected the id of a token, found " + std::to_string(unknown_id));
    options.unknown_token = file.tokens[static_cast<size_t>(unknown_id)];
    out.model = bpe(std::move(vocabulary), merges, std::move(options));
    out.post_processor = ends_of(file, {.begins = true, .ends = false, .bos = 1, .eos = 2, .separates = false});
    std::vector<Decoder> decoders{decode_replace(Pattern(std::string(blank_mark)), " "), decode_byte_fallback(),
                                  decode_fuse()};
    if (prefixed) decoders.push_back(decode_strip(' ', 1, 0));
    out.decoder = sequence(std::move(decoders));
    return out;
}

// Gemma's: that of SentencePiece, with a list of merges. Files may say that texts do not begin with a token, which is
// wrong; llama.cpp puts it there, too (llama-vocab.cpp).
Tokenizer::Parts merging_parts(const GgufVocabulary &given) {
    GgufVocabulary file = given;
    file.add_bos_token = true;
    Tokenizer::Parts out;
    out.normalizer = replace(Pattern(" "), std::string(blank_mark));
    Vocabulary vocabulary = vocabulary_of(file);
    const std::vector<Merge> merges = merges_of(file, vocabulary);
    BpeOptions options;
    options.byte_fallback = options.fuse_unknown = true;
    options.unknown_token = special_of(file, {{"unknown_token_id", file.unknown_token_id}}, 3).token;
    out.model = bpe(std::move(vocabulary), merges, std::move(options));
    out.post_processor = ends_of(file, {.begins = true, .ends = false, .bos = 2, .eos = 1, .separates = false});
    out.decoder =
        sequence({decode_replace(Pattern(std::string(blank_mark)), " "), decode_byte_fallback(), decode_fuse()});
    return out;
}

// BERT's, whose words begin with U+2581 here, and whose other tokens are without the ## that BERT has before them. What
// the file does not say is as in llama.cpp (llama-vocab.cpp), but a word of more than 100 characters is unknown, as in
// BERT.
Tokenizer::Parts word_piece_parts(const GgufVocabulary &file) {
    constexpr size_t longest_word = 100;
    std::vector<std::string> texts;
    GgufVocabulary bert = file;
    for (size_t id = 0; id < file.tokens.size(); ++id) {
        const std::string_view token = file.tokens[id];
        texts.push_back(type_of(file, id) == control    ? std::string(token)
                        : token.starts_with(blank_mark) ? std::string(token.substr(blank_mark.size()))
                                                        : "##" + std::string(token));
    }
    std::copy(texts.begin(), texts.end(), bert.tokens.begin());
    Tokenizer::Parts out;
    const bool lowercase = file.lowercase.value_or(true);
    out.normalizer = tokenizer::bert({.strip_accents = file.strip_accents.value_or(lowercase), .lowercase = lowercase});
    out.pre_tokenizer = bert_words();
    const SpecialToken unknown_token = special_of(bert, {{"unknown_token_id", file.unknown_token_id}}, 100);
    out.model = word_piece(vocabulary_of(bert), unknown_token.token, "##", longest_word);
    out.post_processor = bert_processing(
        special_of(file, {{"cls_token_id", file.cls_token_id}, {"bos_token_id", file.bos_token_id}}, 101),
        special_of(file, {{"seperator_token_id", file.seperator_token_id}, {"eos_token_id", file.eos_token_id}}, 102));
    out.decoder = decode_word_piece("##", true);
    return out;
}

Tokenizer::Parts unigram_parts(const GgufVocabulary &file) {
    if (!file.remove_extra_whitespaces.value_or(true))
        refuse_key("remove_extra_whitespaces", "false is not supported with the model 't5'");
    Tokenizer::Parts out;
    std::vector<Normalizer> steps;
    if (!file.precompiled_charsmap.empty())
        steps.push_back(at_key("precompiled_charsmap", [&] { return charsmap(file.precompiled_charsmap); }));
    steps.push_back(strip(false, true));
    steps.push_back(replace(Regex(" {2,}"), std::string(blank_mark)));
    out.normalizer = sequence(std::move(steps));
    const Metaspace marks{.prepend = file.add_space_prefix.value_or(true) ? Metaspace::Prepend::always
                                                                          : Metaspace::Prepend::never};
    out.pre_tokenizer = metaspace(marks);
    const SpecialToken unknown_token = special_of(file, {{"unknown_token_id", file.unknown_token_id}}, 2);
    out.model = unigram(vocabulary_of(file), {file.scores.begin(), file.scores.end()}, unknown_token.id, false);
    out.post_processor = ends_of(file, {.begins = false, .ends = true, .bos = {}, .eos = 1, .separates = true});
    out.decoder = decode_metaspace(marks);
    return out;
}

// RWKV's: of bytes, written as Python writes them, the longest token that the rest of a text begins with.
Tokenizer::Parts longest_first_parts(const GgufVocabulary &file) {
    std::vector<std::string> texts;
    GgufVocabulary bytes = file;
    for (size_t id = 0; id < file.tokens.size(); ++id) {
        const TokenType type = type_of(file, id);
        const auto literal = [&] { return in_characters(python_text(file.tokens[id], PythonLiteral::bytes)); };
        texts.push_back(type == normal   ? at_key("tokens: entry " + std::to_string(id), literal)
                        : type == unused ? " " + std::string(file.tokens[id]) // which no text has: a blank is U+0120
                                         : std::string(file.tokens[id]));
    }
    std::copy(texts.begin(), texts.end(), bytes.tokens.begin());
    Tokenizer::Parts out;
    out.pre_tokenizer = byte_level({.add_prefix_space = false, .trim_offsets = false, .use_regex = false});
    out.model = word_piece(vocabulary_of(bytes), texts[0], "", SIZE_MAX);
    out.post_processor = ends_of(file, {.begins = false, .ends = false, .bos = 0, .eos = 0, .separates = false});
    out.decoder = decode_byte_level();
    return out;
}

struct GgufModel {
    const char *name;
    Tokenizer::Parts (*parts)(const GgufVocabulary &);
};
constexpr GgufModel gguf_models[]{{"gpt2", byte_level_parts}, {"llama", sentencepiece_parts},
                                  {"bert", word_piece_parts}, {"t5", unigram_parts},
                                  {"gemma4", merging_parts},  {"rwkv", longest_first_parts}};

// "gpt2" whose tokens are no bytes (llama-vocab.cpp), as converters write it where there is no SentencePiece model.
constexpr std::array<std::string_view, 2> merging_pre{"gemma4", "granite-embed-multi-311m"};

std::string_view model_of(const GgufVocabulary &file) {
    const bool merges =
        file.model == "gpt2" && std::find(merging_pre.begin(), merging_pre.end(), file.pre) != merging_pre.end();
    return merges ? "gemma4" : std::string_view(file.model);
}

} // namespace

bool is_called_an_end(std::string_view token) {
    return std::find(names_of_ends.begin(), names_of_ends.end(), token) != names_of_ends.end();
}

Tokenizer tokenizer_of(const GgufVocabulary &file) {
    const auto model = std::find_if(std::begin(gguf_models), std::end(gguf_models),
                                    [&](const GgufModel &each) { return model_of(file) == each.name; });
    if (model == std::end(gguf_models))
        refuse_key("model",
                   in_quotes(file.model) + " is not supported; supported: gpt2, llama, bert, t5, gemma4, rwkv");
    check_lists(file);
    auto parts = std::make_shared<Tokenizer::Parts>(model->parts(file));
    parts->added = added_tokens_of(file);
    return Tokenizer(std::move(parts));
}

} // namespace lamina::tokenizer
