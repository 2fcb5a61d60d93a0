// Post-processors and decoders of tokenizer.json: the steps after the model.
#include "tokenizer/reader.hpp"

#include <unordered_map>

namespace lamina::tokenizer {
namespace {

// ["[SEP]", 102]
SpecialToken read_token_and_id(const JsonView &view) {
    if (view.items().size() != 2) view.fail("expected a token and its id, found " + view.description());
    auto part = view.items().begin();
    SpecialToken out{std::string((*part).string()), 0};
    out.id = static_cast<int32_t>((*++part).integer(0, INT32_MAX));
    return out;
}

PostProcessor read_bert_processing(const JsonView &view) {
    view.allow_keys({"type", "sep", "cls"});
    return bert_processing(read_token_and_id(view.at("cls")), read_token_and_id(view.at("sep")));
}

PostProcessor read_roberta_processing(const JsonView &view) {
    view.allow_keys({"type", "sep", "cls", "trim_offsets", "add_prefix_space"});
    std::vector<PostProcessor> steps;
    const bool prefixed = view.at("add_prefix_space").boolean();
    if (view.at("trim_offsets").boolean()) steps.push_back(trim_offsets(prefixed));
    steps.push_back(roberta_processing(read_token_and_id(view.at("cls")), read_token_and_id(view.at("sep"))));
    return sequence(std::move(steps));
}

PostProcessor read_byte_level_processing(const JsonView &view) {
    const ByteLevel options = read_byte_level(view);
    return options.trim_offsets ? trim_offsets(options.add_prefix_space) : sequence(std::vector<PostProcessor>());
}

using SpecialTokens = std::unordered_map<std::string_view, std::vector<SpecialToken>>;

// {"[CLS]": {"id": "[CLS]", "ids": [101], "tokens": ["[CLS]"]}, ...}
SpecialTokens read_special_tokens(const JsonView &view) {
    SpecialTokens out;
    for (const JsonView each : view.members()) {
        each.allow_keys({"id", "ids", "tokens"});
        std::vector<SpecialToken> &tokens = out[each.key()];
        for (const JsonView id : each.at("ids").items())
            tokens.push_back({"", static_cast<int32_t>(id.integer(0, INT32_MAX))});
        if (tokens.empty() || each.at("tokens").items().size() != tokens.size())
            each.fail("expected as many tokens as ids, and at least one");
        size_t i = 0;
        for (const JsonView token : each.at("tokens").items()) tokens[i++].token = token.string();
    }
    return out;
}

// [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, ...]
std::vector<TemplatePiece> read_template(const JsonView &view, const SpecialTokens &tokens, bool is_pair) {
    constexpr size_t most_texts = 8, most_special = 4096;
    size_t texts = 0, special = 0;
    std::vector<TemplatePiece> out;
    for (const JsonView each : view.items()) {
        each.allow_keys({"SpecialToken", "Sequence"});
        if (each.members().size() != 1) each.fail("expected one of SpecialToken and Sequence");
        const JsonView piece = *each.members().begin();
        piece.allow_keys({"id", "type_id"});
        const JsonView id = piece.at("id");
        TemplatePiece made{0, {}, static_cast<int32_t>(piece.at("type_id").integer(0, INT32_MAX))};
        if (piece.key() == "SpecialToken") {
            const auto found = tokens.find(id.string());
            if (found == tokens.end()) id.fail(id.description() + " is not among the special_tokens");
            made.special = found->second;
            special += made.special.size();
        } else {
            made.text = id.string() == "A" ? 0 : 1;
            if (id.string() != "A" && (!is_pair || id.string() != "B"))
                id.fail(std::string("expected A") + (is_pair ? " or B" : "") + ", found " + id.description());
            ++texts;
        }
        if (texts > most_texts || special > most_special)
            each.fail("expected at most " + std::to_string(most_texts) + " texts and " + std::to_string(most_special) +
                      " special tokens in a template");
        out.push_back(std::move(made));
    }
    return out;
}

PostProcessor read_template_processing(const JsonView &view) {
    view.allow_keys({"type", "single", "pair", "special_tokens"});
    const SpecialTokens tokens = read_special_tokens(view.at("special_tokens"));
    return template_processing(read_template(view.at("single"), tokens, false),
                               read_template(view.at("pair"), tokens, true));
}

constexpr Component<PostProcessor> post_processors[] = {
    {"TemplateProcessing", read_template_processing},
    {"BertProcessing", read_bert_processing},
    {"RobertaProcessing", read_roberta_processing},
    {"ByteLevel", read_byte_level_processing},
    {"Sequence",
     [](const JsonView &view) {
         return sequence(read_sequence<PostProcessor>(view, "processors", read_post_processor));
     }},
};

Decoder read_word_piece_decoder(const JsonView &view) {
    view.allow_keys({"type", "prefix", "cleanup"});
    return decode_word_piece(std::string(view.at("prefix").string()), view.at("cleanup").boolean());
}

std::string read_words(const JsonView &view) {
    if (view.string().empty()) view.fail("expected a text that is not empty");
    return std::string(view.string());
}

Decoder read_bpe_decoder(const JsonView &view) {
    view.allow_keys({"type", "suffix"});
    return decode_bpe(read_words(view.at("suffix")));
}

Decoder read_ctc(const JsonView &view) {
    view.allow_keys({"type", "pad_token", "word_delimiter_token", "cleanup"});
    return decode_ctc(read_words(view.at("pad_token")), read_words(view.at("word_delimiter_token")),
                      view.at("cleanup").boolean());
}

Decoder read_strip_decoder(const JsonView &view) {
    view.allow_keys({"type", "content", "start", "stop"});
    const auto count = [&](const char *key) { return static_cast<size_t>(view.at(key).integer(0, INT32_MAX)); };
    return decode_strip(read_character(view.at("content")), count("start"), count("stop"));
}

Decoder read_replace_decoder(const JsonView &view) {
    view.allow_keys({"type", "pattern", "content"});
    return decode_replace(read_pattern(view.at("pattern")), std::string(view.at("content").string()));
}

Decoder without_keys(const JsonView &view, Decoder made) {
    view.allow_keys({"type"});
    return made;
}

constexpr Component<Decoder> decoders[] = {
    {"ByteLevel", [](const JsonView &view) { return static_cast<void>(read_byte_level(view)), decode_byte_level(); }},
    {"WordPiece", read_word_piece_decoder},
    {"Metaspace", [](const JsonView &view) { return decode_metaspace(read_metaspace(view)); }},
    {"BPEDecoder", read_bpe_decoder},
    {"CTC", read_ctc},
    {"ByteFallback", [](const JsonView &view) { return without_keys(view, decode_byte_fallback()); }},
    {"Fuse", [](const JsonView &view) { return without_keys(view, decode_fuse()); }},
    {"Strip", read_strip_decoder},
    {"Replace", read_replace_decoder},
    {"Sequence", [](const JsonView &view) { return sequence(read_sequence<Decoder>(view, "decoders", read_decoder)); }},
};

} // namespace

PostProcessor read_post_processor(const JsonView &view) {
    return read_component(view, "post-processor", post_processors);
}
Decoder read_decoder(const JsonView &view) { return read_component(view, "decoder", decoders); }

} // namespace lamina::tokenizer
