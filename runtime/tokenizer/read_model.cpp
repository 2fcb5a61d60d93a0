// Models of tokenizer.json.
#include "tokenizer/bpe.hpp"
#include "tokenizer/reader.hpp"
#include "tokenizer/word_models.hpp"

#include <cmath>

namespace lamina::tokenizer {
namespace {

using ModelPointer = std::unique_ptr<const Model>;

std::string read_text(const JsonView &view, const char *key, const char *otherwise) {
    return std::string(view.has(key) ? view.at(key).string() : otherwise);
}

bool read_flag(const JsonView &view, const char *key) { return view.has(key) && view.at(key).boolean(); }

// "a b", or in newer files ["a", "b"], where tokens may contain spaces.
std::pair<std::string_view, std::string_view> read_pair(const JsonView &view) {
    if (view.is_list()) {
        if (view.items().size() != 2) view.fail("expected two tokens, found " + view.description());
        auto token = view.items().begin();
        const std::string_view left = (*token).string();
        return {left, (*++token).string()};
    }
    const std::string_view text = view.string();
    const size_t blank = text.find(' ');
    if (blank == std::string_view::npos || text.find(' ', blank + 1) != std::string_view::npos)
        view.fail("expected two tokens separated by a space, found " + view.description());
    return {text.substr(0, blank), text.substr(blank + 1)};
}

ModelPointer read_bpe(const JsonView &view) {
    view.allow_keys({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                     "byte_fallback", "ignore_merges", "vocab", "merges"});
    if (view.has("dropout") && view.at("dropout").number() != 0)
        view.at("dropout").fail("BPE dropout (skipping merges at random) is not supported; expected null or 0");
    BpeOptions options;
    if (view.has("unk_token")) options.unknown_token = view.at("unk_token").string();
    options.continuing_subword_prefix = read_text(view, "continuing_subword_prefix", "");
    options.end_of_word_suffix = read_text(view, "end_of_word_suffix", "");
    options.fuse_unknown = read_flag(view, "fuse_unk");
    options.byte_fallback = read_flag(view, "byte_fallback");
    options.ignore_merges = read_flag(view, "ignore_merges");

    Vocabulary vocabulary = read_vocabulary(view.at("vocab"));
    std::vector<Merge> merges;
    merges.reserve(view.at("merges").items().size());
    for (const JsonView each : view.at("merges").items()) {
        if (each.is_string() && each.string().starts_with("#version")) continue;
        const auto [left, right] = read_pair(each);
        at_place(each, [&, left = left, right = right] {
            merges.push_back(merge_of(vocabulary, left, right, static_cast<uint32_t>(merges.size()),
                                      options.continuing_subword_prefix));
        });
    }
    return bpe(std::move(vocabulary), merges, std::move(options));
}

ModelPointer read_word_piece(const JsonView &view) {
    view.allow_keys({"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
    const int64_t longest =
        view.has("max_input_chars_per_word") ? view.at("max_input_chars_per_word").integer(0, INT32_MAX) : 100;
    return word_piece(read_vocabulary(view.at("vocab")), read_text(view, "unk_token", "[UNK]"),
                      read_text(view, "continuing_subword_prefix", "##"), static_cast<size_t>(longest));
}

ModelPointer read_word_level(const JsonView &view) {
    view.allow_keys({"type", "unk_token", "vocab"});
    return word_level(read_vocabulary(view.at("vocab")), read_text(view, "unk_token", "<unk>"));
}

ModelPointer read_unigram(const JsonView &view) {
    view.allow_keys({"type", "unk_id", "vocab", "byte_fallback"});
    const JsonView::Range entries = view.at("vocab").items();
    Vocabulary vocabulary;
    vocabulary.reserve(entries.size(), 8 * entries.size());
    std::vector<double> scores;
    for (const JsonView entry : entries) { // ["token", score]
        if (entry.items().size() != 2) entry.fail("expected a token and its score, found " + entry.description());
        auto part = entry.items().begin();
        at_place(entry, [&] { vocabulary.add((*part).string(), static_cast<int64_t>(scores.size())); });
        scores.push_back((*++part).number());
    }
    std::optional<int32_t> unknown;
    if (view.has("unk_id"))
        unknown = static_cast<int32_t>(view.at("unk_id").integer(0, static_cast<int64_t>(scores.size()) - 1));
    return unigram(std::move(vocabulary), std::move(scores), unknown, read_flag(view, "byte_fallback"));
}

constexpr Component<ModelPointer> models[] = {
    {"BPE", read_bpe},
    {"WordPiece", read_word_piece},
    {"Unigram", read_unigram},
    {"WordLevel", read_word_level},
};

} // namespace

Vocabulary read_vocabulary(const JsonView &view) {
    const JsonView::Range members = view.members();
    size_t bytes = 0;
    for (const JsonView member : members) bytes += member.key().size();
    Vocabulary out;
    out.reserve(members.size(), bytes);
    for (const JsonView member : members) {
        const int64_t id = member.integer(INT32_MIN, INT32_MAX);
        at_place(view, [&] { out.add(member.key(), id); });
    }
    return out;
}

ModelPointer read_model(const JsonView &view) {
    if (view.has("type")) return read_component(view, "model", models);
    // Files from before 2021 have no type; the keys tell the models apart.
    if (view.has("merges")) return read_bpe(view);
    if (view.has("max_input_chars_per_word")) return read_word_piece(view);
    return view.at("vocab").is_list() ? read_unigram(view) : read_word_level(view);
}

} // namespace lamina::tokenizer
