#include "tokenizer/sentencepiece_model.hpp"

#include "base/own_files.hpp"
#include "tokenizer/sentencepiece.hpp"

namespace lamina::tokenizer {
namespace {

using Shared = std::shared_ptr<const SentencePieces>;

// The same pieces with the ids of another vocabulary.
class RenumberedModel final : public Model {
  public:
    RenumberedModel(Shared pieces, Vocabulary ids, int32_t unknown)
        : pieces_(std::move(pieces)), ids_(std::move(ids)), unknown_(unknown) {}

    void tokenize(std::string_view word, std::vector<WordToken> &out) const override {
        const size_t first = out.size();
        pieces_->tokenize(word, out);
        for (size_t i = first; i < out.size(); ++i) out[i].id = ids_.id(*pieces_->token(out[i].id)).value_or(unknown_);
    }
    [[nodiscard]] std::optional<int32_t> id(std::string_view token) const override { return ids_.id(token); }
    [[nodiscard]] std::optional<std::string_view> token(int32_t id) const override { return ids_.token(id); }
    [[nodiscard]] int32_t count() const override { return static_cast<int32_t>(ids_.size()); }
    [[nodiscard]] int32_t end() const override { return ids_.end(); }

  private:
    Shared pieces_;
    Vocabulary ids_;
    int32_t unknown_;
};

// Pieces that only a shared vocabulary has, such as those of the other language, are decoded with their marks.
std::string with_spaces(std::string text) {
    constexpr std::string_view mark = "\xE2\x96\x81"; // U+2581
    if (text.starts_with(mark)) text.erase(0, mark.size());
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at))
        text.replace(at, mark.size(), " ");
    return text;
}

std::shared_ptr<const Model> model_of(Shared pieces, std::optional<Vocabulary> ids, const std::string &file) {
    if (!ids) return pieces;
    const std::optional<int32_t> unknown = ids->id("<unk>");
    if (!unknown) throw Error(ErrorCode::input, file + ": its vocabulary has no token '<unk>'");
    return std::make_shared<RenumberedModel>(std::move(pieces), std::move(*ids), *unknown);
}

} // namespace

Tokenizer::Parts read_sentencepiece_model(std::string_view bytes, const std::string &file,
                                          SentencePieceSettings settings) {
    std::string fault;
    const Shared sentencepieces(
        own_function<NewSentencePieces>("sentencepiece", "lamina_new_sentencepieces")(bytes, fault));
    if (sentencepieces == nullptr) throw Error(ErrorCode::input, file + ": not a SentencePiece model: " + fault);
    Tokenizer::Parts out;
    out.model = model_of(sentencepieces, std::move(settings.ids), file);
    out.added = AddedTokens(std::move(settings.special), out.normalizer);
    std::vector<TemplatePiece> one, two;
    const auto add = [&](const std::optional<SpecialToken> &token, std::vector<TemplatePiece> &to) {
        if (token) to.push_back({0, {*token}, 0});
    };
    for (std::vector<TemplatePiece> *const pieces : {&one, &two}) {
        add(settings.begin, *pieces);
        pieces->push_back({0, {}, 0});
        add(settings.end, *pieces);
    }
    two.push_back({1, {}, 1});
    add(settings.end, two);
    if (one.size() > 1) out.post_processor = template_processing(std::move(one), std::move(two));
    out.decoder = [sentencepieces](const std::vector<std::string> &pieces) {
        return std::vector<std::string>{with_spaces(sentencepieces->text_of(pieces))};
    };
    return out;
}

} // namespace lamina::tokenizer
