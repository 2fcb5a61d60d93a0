// Normalizers and pre-tokenizers of tokenizer.json.
#include "tokenizer/base64.hpp"
#include "tokenizer/reader.hpp"
#include "tokenizer/unicode.hpp"

namespace lamina::tokenizer {
namespace {

template <class Made> Made without_options(const JsonView &view, Made made) {
    view.allow_keys({"type"});
    return made;
}

Normalizer read_bert_normalizer(const JsonView &view) {
    view.allow_keys({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
    BertNormalizer options{view.at("clean_text").boolean(), view.at("handle_chinese_chars").boolean(), std::nullopt,
                           view.at("lowercase").boolean()};
    if (view.has("strip_accents")) options.strip_accents = view.at("strip_accents").boolean();
    return bert(options);
}

Normalizer read_strip(const JsonView &view) {
    view.allow_keys({"type", "strip_left", "strip_right"});
    return strip(view.at("strip_left").boolean(), view.at("strip_right").boolean());
}

Normalizer read_replace(const JsonView &view) {
    view.allow_keys({"type", "pattern", "content"});
    return replace(read_pattern(view.at("pattern")), std::string(view.at("content").string()));
}

Normalizer read_prepend(const JsonView &view) {
    view.allow_keys({"type", "prepend"});
    return prepend(std::string(view.at("prepend").string()));
}

Normalizer read_precompiled(const JsonView &view) {
    view.allow_keys({"type", "precompiled_charsmap"});
    const JsonView map = view.at("precompiled_charsmap");
    return at_place(map, [&] { return charsmap(from_base64(map.string())); });
}

constexpr Component<Normalizer> normalizers[] = {
    {"BertNormalizer", read_bert_normalizer},
    {"NFC", [](const JsonView &view) { return without_options(view, normal_form(NormalForm::nfc)); }},
    {"NFD", [](const JsonView &view) { return without_options(view, normal_form(NormalForm::nfd)); }},
    {"NFKC", [](const JsonView &view) { return without_options(view, normal_form(NormalForm::nfkc)); }},
    {"NFKD", [](const JsonView &view) { return without_options(view, normal_form(NormalForm::nfkd)); }},
    {"Lowercase", [](const JsonView &view) { return without_options(view, lowercase()); }},
    {"Strip", read_strip},
    {"StripAccents", [](const JsonView &view) { return without_options(view, strip_accents()); }},
    {"Replace", read_replace},
    {"Prepend", read_prepend},
    {"Precompiled", read_precompiled},
    {"Nmt", [](const JsonView &view) { return without_options(view, nmt()); }},
    {"ByteLevel", [](const JsonView &view) { return without_options(view, bytes_as_characters()); }},
    {"Sequence",
     [](const JsonView &view) { return sequence(read_sequence<Normalizer>(view, "normalizers", read_normalizer)); }},
};

Delimiter read_delimiter(const JsonView &view) {
    const std::string_view name = view.string();
    if (name == "Removed") return Delimiter::removed;
    if (name == "Isolated") return Delimiter::isolated;
    if (name == "MergedWithPrevious") return Delimiter::before;
    if (name == "MergedWithNext") return Delimiter::behind;
    if (name == "Contiguous") return Delimiter::contiguous;
    view.fail("expected Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous, found " +
              view.description());
}

PreTokenizer read_split(const JsonView &view) {
    view.allow_keys({"type", "pattern", "behavior", "invert"});
    return split_by(read_pattern(view.at("pattern")), read_delimiter(view.at("behavior")), view.at("invert").boolean());
}

PreTokenizer read_punctuation(const JsonView &view) {
    view.allow_keys({"type", "behavior"});
    return split_by(is_punctuation, view.has("behavior") ? read_delimiter(view.at("behavior")) : Delimiter::isolated);
}

PreTokenizer read_digits(const JsonView &view) {
    view.allow_keys({"type", "individual_digits"});
    const bool alone = view.at("individual_digits").boolean();
    return split_by(is_numeric, alone ? Delimiter::isolated : Delimiter::contiguous);
}

PreTokenizer read_character_delimiter(const JsonView &view) {
    view.allow_keys({"type", "delimiter"});
    return split_by(Pattern(utf8(read_character(view.at("delimiter")))), Delimiter::removed, false);
}

PreTokenizer read_fixed_length(const JsonView &view) {
    view.allow_keys({"type", "length"});
    return fixed_length(view.has("length") ? static_cast<size_t>(view.at("length").integer(1, INT32_MAX)) : 5);
}

constexpr Component<PreTokenizer> pre_tokenizers[] = {
    {"BertPreTokenizer", [](const JsonView &view) { return without_options(view, bert_words()); }},
    {"ByteLevel", [](const JsonView &view) { return byte_level(read_byte_level(view)); }},
    {"Whitespace", [](const JsonView &view) { return without_options(view, words_and_symbols()); }},
    {"WhitespaceSplit",
     [](const JsonView &view) { return without_options(view, split_by(is_whitespace, Delimiter::removed)); }},
    {"Metaspace", [](const JsonView &view) { return metaspace(read_metaspace(view)); }},
    {"Punctuation", read_punctuation},
    {"Digits", read_digits},
    {"Split", read_split},
    {"CharDelimiterSplit", read_character_delimiter},
    {"FixedLength", read_fixed_length},
    {"UnicodeScripts", [](const JsonView &view) { return without_options(view, words_of_one_script()); }},
    {"Sequence",
     [](const JsonView &view) {
         return sequence(read_sequence<PreTokenizer>(view, "pretokenizers", read_pre_tokenizer));
     }},
};

} // namespace

Normalizer read_normalizer(const JsonView &view) { return read_component(view, "normalizer", normalizers); }
PreTokenizer read_pre_tokenizer(const JsonView &view) { return read_component(view, "pre-tokenizer", pre_tokenizers); }

Pattern read_pattern(const JsonView &view) {
    view.allow_keys({"String", "Regex"});
    if (view.members().size() != 1) view.fail("expected one of String and Regex");
    const JsonView text = *view.members().begin();
    if (text.string().empty()) text.fail("an empty pattern is not supported");
    if (text.key() == "String") return std::string(text.string());
    return at_place(text, [&] { return Pattern(Regex(std::string(text.string()))); });
}

char32_t read_character(const JsonView &view) {
    const std::string_view text = view.string();
    if (count_characters(text) != 1) view.fail("expected one character, found " + view.description());
    return character_at(text, 0).code;
}

ByteLevel read_byte_level(const JsonView &view) {
    view.allow_keys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    return {view.at("add_prefix_space").boolean(), view.at("trim_offsets").boolean(),
            !view.has("use_regex") || view.at("use_regex").boolean()};
}

Metaspace read_metaspace(const JsonView &view) {
    view.allow_keys({"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
    Metaspace out;
    out.replacement = read_character(view.at("replacement"));
    if (view.has("split")) out.split = view.at("split").boolean();
    if (view.has("prepend_scheme")) {
        const JsonView scheme = view.at("prepend_scheme");
        const std::string_view name = scheme.string();
        if (name != "never" && name != "first" && name != "always")
            scheme.fail("expected never, first or always, found " + scheme.description());
        out.prepend = name == "never"   ? Metaspace::Prepend::never
                      : name == "first" ? Metaspace::Prepend::first
                                        : Metaspace::Prepend::always;
    }
    if (view.has("add_prefix_space") && !view.at("add_prefix_space").boolean()) {
        if (view.has("prepend_scheme") && out.prepend != Metaspace::Prepend::never)
            view.fail("add_prefix_space is false, and prepend_scheme is not \"never\"");
        out.prepend = Metaspace::Prepend::never;
    }
    return out;
}

} // namespace lamina::tokenizer
