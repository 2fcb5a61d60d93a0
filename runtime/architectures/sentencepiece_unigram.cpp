#include "architectures/sentencepiece_classes.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>
#include <optional>

namespace lamina::architectures::sentencepiece {

namespace {

// Of models that fairseq trained: four tokens of its own come first, in place of SentencePiece's three.
Pieces fairseq_pieces(const Source &source, const std::string &begin) {
    Pieces out;
    for (const std::string &each : {begin, name_of(source, "pad_token", "<pad>"), name_of(source, "eos_token", "</s>"),
                                    name_of(source, "unk_token", "<unk>")})
        out.push_back({.text = each});
    const Pieces &theirs = source.file.pieces;
    out.insert(out.end(), theirs.begin() + std::min<std::ptrdiff_t>(3, std::ssize(theirs)), theirs.end());
    return out;
}

// Of models that see a text as a whole, with spaces. `otherwise`: what normalizes it where the file has no rules.
void set_text_steps(TokenizerParts &out, const SentencePieceFile &file, Json otherwise) {
    Json steps = Json::array(), rules = charsmap(file);
    if (rules.empty()) rules = std::move(otherwise);
    if (!rules.empty()) steps.push_back(std::move(rules));
    steps.push_back(replace_matches(" {2,}", " "));
    out.normalizer = {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
    out.pre_tokenizer = out.decoder = metaspace("always", true);
}

} // namespace

// tokenization_xlm_roberta.py
TokenizerParts xlm_roberta(const Source &source) {
    const std::string begin = name_of(source, "bos_token", "<s>"), end = name_of(source, "eos_token", "</s>");
    Pieces pieces = fairseq_pieces(source, begin);
    pieces.push_back({.text = name_of(source, "mask_token", "<mask>")});
    const Vocabulary vocabulary = vocabulary_of(pieces);
    const SpecialTokens tokens = tokens_of(source, pieces, vocabulary,
                                           {{"bos_token", "<s>"},
                                            {"cls_token", "<s>"},
                                            {"eos_token", "</s>"},
                                            {"sep_token", "</s>"},
                                            {"unk_token", "<unk>"},
                                            {"pad_token", "<pad>"},
                                            {"mask_token", "<mask>"}});
    TokenizerParts out;
    out.model = unigram(pieces, 3);
    set_word_steps(out, source.file, source.options->flag("add_prefix_space", true));
    const Json first = special_token(begin, 0), last = special_token(end, 0);
    out.post_processor =
        template_of(Json::array({first, sequence("A", 0), last}),
                    Json::array({first, sequence("A", 0), last, last, sequence("B", 0), last}), tokens, {begin, end});
    out.added_tokens = tokens.json();
    return out;
}

// tokenization_deberta_v2.py
TokenizerParts deberta_v2(const Source &source) {
    const Pieces &pieces = source.file.pieces;
    const Vocabulary vocabulary = vocabulary_of(pieces);
    SpecialTokens tokens = tokens_of(source, pieces, vocabulary,
                                     {{"bos_token", "[CLS]"},
                                      {"cls_token", "[CLS]"},
                                      {"eos_token", "[SEP]"},
                                      {"sep_token", "[SEP]"},
                                      {"unk_token", "[UNK]"},
                                      {"pad_token", "[PAD]"},
                                      {"mask_token", "[MASK]"}});
    const std::string unknown = tokens.at("unk_token", "[UNK]"), begin = tokens.at("cls_token", "[CLS]"),
                      end = tokens.at("sep_token", "[SEP]");
    const auto piece = std::ranges::find_if(
        pieces, [&](const SentencePieceFile::Piece &each) { return each.text == unknown && each.score == 0; });
    TokenizerParts out;
    out.model = unigram(pieces, piece != pieces.end() ? piece - pieces.begin() : source.file.unknown_id);
    Json normalizers = Json::array(), words = Json::array();
    if (source.options->flag("do_lower_case", false)) normalizers.push_back({{"type", "Lowercase"}});
    normalizers.push_back({{"type", "Replace"}, {"pattern", {{"Regex", R"(\s{2,}|[\n\r\t])"}}}, {"content", " "}});
    normalizers.push_back({{"type", "NFC"}});
    normalizers.push_back({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
    out.normalizer = {{"type", "Sequence"}, {"normalizers", std::move(normalizers)}};
    if (source.options->flag("split_by_punct", false))
        words.push_back({{"type", "Punctuation"}, {"behavior", "Isolated"}});
    out.decoder = metaspace(source.options->flag("add_prefix_space", true) ? "always" : "first", true);
    words.push_back(out.decoder);
    out.pre_tokenizer = {{"type", "Sequence"}, {"pretokenizers", std::move(words)}};
    out.post_processor = begun_and_ended(tokens, begin, end);
    out.added_tokens = tokens.json();
    return out;
}

// tokenization_t5.py: tokens for gaps follow, the first one at the end.
TokenizerParts t5(const Source &source) {
    Pieces pieces = source.file.pieces;
    const int64_t extra = source.options->integer("extra_ids", 100);
    if (extra > 10000) source.options->fail("extra_ids", "expected at most 10000");
    for (int64_t i = extra; i-- > 0;)
        pieces.push_back({.text = "<extra_id_" + std::to_string(i) + ">", .kind = SentencePieceFile::Kind::control});
    const Vocabulary vocabulary = vocabulary_of(pieces);
    SpecialTokens tokens =
        tokens_of(source, pieces, vocabulary, {{"unk_token", "<unk>"}, {"pad_token", "<pad>"}, {"eos_token", "</s>"}});
    const std::string end = tokens.at("eos_token", "</s>");
    TokenizerParts out;
    out.model = unigram(pieces, 2);
    set_word_steps(out, source.file, true);
    const Json last = special_token(end, 0);
    out.post_processor = template_of(Json::array({sequence("A", 0), last}),
                                     Json::array({sequence("A", 0), last, sequence("B", 0), last}), tokens, {end});
    out.added_tokens = tokens.json();
    return out;
}

// tokenization_mbart50.py: its languages follow the pieces, in this order.
TokenizerParts mbart_50(const Source &source) {
    constexpr std::array<const char *, 52> languages{
        "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN", "hi_IN", "it_IT",
        "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP", "nl_XX", "ro_RO", "ru_RU", "si_LK",
        "tr_TR", "vi_VN", "zh_CN", "af_ZA", "az_AZ", "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE",
        "km_KH", "mk_MK", "ml_IN", "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN",
        "te_IN", "th_TH", "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI"};
    const std::string end = name_of(source, "eos_token", "</s>"), written = source.options->text("src_lang", ""),
                      language = written.empty() ? "en_XX" : written;
    if (std::ranges::find(languages, language) == languages.end())
        source.options->fail("src_lang",
                             "expected a language of mBART-50, such as \"en_XX\", found " + in_quotes(language));
    Pieces pieces = fairseq_pieces(source, name_of(source, "cls_token", "<s>"));
    for (const char *each : languages) pieces.push_back({.text = each, .kind = SentencePieceFile::Kind::control});
    pieces.push_back({.text = name_of(source, "mask_token", "<mask>")});
    const Vocabulary vocabulary = vocabulary_of(pieces);
    SpecialTokens tokens = tokens_of(source, pieces, vocabulary,
                                     {{"eos_token", "</s>"},
                                      {"sep_token", "</s>"},
                                      {"cls_token", "<s>"},
                                      {"unk_token", "<unk>"},
                                      {"pad_token", "<pad>"},
                                      {"mask_token", "<mask>"}});
    tokens.take_space_before("mask_token");
    for (const char *each : languages) tokens.add(each, true);
    TokenizerParts out;
    out.model = unigram(pieces, 3);
    set_text_steps(out, source.file, {});
    const Json first = special_token(language, 0), last = special_token(end, 0);
    out.post_processor =
        template_of(Json::array({first, sequence("A", 0), last}),
                    Json::array({first, sequence("A", 0), sequence("B", 0), last}), tokens, {language, end});
    out.added_tokens = tokens.json();
    return out;
}

// tokenization_pegasus.py: a hundred tokens that it was trained with come first, in place of SentencePiece's first two.
TokenizerParts pegasus(const Source &source) {
    const std::string end = name_of(source, "eos_token", "</s>"), unknown = name_of(source, "unk_token", "<unk>"),
                      mask = name_of(source, "mask_token", "<mask_1>"),
                      mask_of_sentences =
                          name_of(source, "mask_token_sent", mask == "<mask_2>" ? "<mask_1>" : "<mask_2>");
    const int64_t offset = source.options->integer("offset", 103);
    if (offset > 10000) source.options->fail("offset", "expected at most 10000");
    Pieces pieces{{.text = name_of(source, "pad_token", "<pad>")}, {.text = end}, {.text = mask}};
    if (mask_of_sentences != mask) pieces.push_back({.text = mask_of_sentences});
    for (int64_t i = 2; i < offset; ++i)
        pieces.push_back(
            {.text = "<unk_" + std::to_string(i) + ">", .score = -100, .kind = SentencePieceFile::Kind::control});
    const Pieces &theirs = source.file.pieces;
    pieces.insert(pieces.end(), theirs.begin() + std::min<std::ptrdiff_t>(2, std::ssize(theirs)), theirs.end());
    const Vocabulary vocabulary = vocabulary_of(pieces);
    const std::optional<int32_t> unknown_id = vocabulary.id(unknown);
    if (!unknown_id)
        throw Error(ErrorCode::input, "expected the piece " + in_quotes(unknown) + ", for what others do not express");
    SpecialTokens tokens =
        tokens_of(source, pieces, vocabulary,
                  {{"pad_token", "<pad>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"mask_token", "<mask_2>"}});
    tokens.add(name_of(source, "mask_token_sent", "<mask_1>"), true);
    TokenizerParts out;
    out.model = unigram(pieces, *unknown_id);
    set_text_steps(out, source.file, replace_matches("\n", " "));
    const Json last = special_token(end, 0);
    out.post_processor = template_of(Json::array({sequence("A", 0), last}),
                                     Json::array({sequence("A", 0), sequence("B", 0), last}), tokens, {end});
    out.added_tokens = tokens.json();
    return out;
}

} // namespace lamina::architectures::sentencepiece
