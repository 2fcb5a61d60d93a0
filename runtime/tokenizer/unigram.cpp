#include "base/utf8.hpp"
#include "tokenizer/byte_characters.hpp"
#include "tokenizer/trie.hpp"
#include "tokenizer/unicode.hpp"
#include "tokenizer/word_models.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <limits>

namespace lamina::tokenizer {
namespace {

constexpr double unknown_penalty = 10; // an unknown character scores this much below the lowest, as in SentencePiece
constexpr uint32_t unreached = UINT32_MAX;

// The best split of a prefix of the text: its score, its last token, and where that token begins.
struct BestPath {
    double score = 0;
    uint32_t begin = unreached;
    int32_t id = 0;
};

class Unigram final : public Model {
  public:
    Unigram(Vocabulary vocabulary, std::vector<double> scores, std::optional<int32_t> unknown, bool byte_fallback)
        : vocabulary_(std::move(vocabulary)), scores_(std::move(scores)), unknown_(unknown),
          byte_fallback_(byte_fallback) {
        for (int32_t id = 0; id < vocabulary_.end(); ++id)
            if (const auto token = vocabulary_.token(id); token && !token->empty()) tokens_.add(*token, id);
        for (const double score : scores_) unknown_score_ = std::min(unknown_score_, score - unknown_penalty);
    }

    void tokenize(std::string_view word, std::vector<WordToken> &out) const override {
        const std::vector<BestPath> best = best_paths(word);
        std::vector<Span> parts; // from the end
        bool after_unknown = false;
        for (auto end = static_cast<uint32_t>(word.size()); end > 0; end = best[end].begin) {
            const bool is_unknown = best[end].id == unknown_;
            if (is_unknown && after_unknown)
                parts.back().begin = best[end].begin;
            else
                parts.push_back({best[end].begin, end});
            after_unknown = is_unknown;
        }
        for (auto part = parts.rbegin(); part != parts.rend(); ++part) add(word, *part, out);
    }

    [[nodiscard]] std::optional<int32_t> id(std::string_view token) const override { return vocabulary_.id(token); }
    [[nodiscard]] std::optional<std::string_view> token(int32_t id) const override { return vocabulary_.token(id); }
    [[nodiscard]] int32_t count() const override { return static_cast<int32_t>(vocabulary_.size()); }
    [[nodiscard]] int32_t end() const override { return vocabulary_.end(); }

  private:
    [[nodiscard]] int32_t unknown(std::string_view text) const {
        if (unknown_) return *unknown_;
        throw Error(ErrorCode::input,
                    in_quotes(text) + " is not in the vocabulary, and the model has no unknown token");
    }

    // Viterbi's algorithm; the result is indexed by where the prefix ends.
    [[nodiscard]] std::vector<BestPath> best_paths(std::string_view word) const {
        std::vector<BestPath> best(word.size() + 1);
        for (uint32_t begin = 0; begin < word.size();) {
            const auto improve = [&](uint32_t end, double score, int32_t id) {
                const double sum = score + best[begin].score;
                if (best[end].begin == unreached || sum > best[end].score) best[end] = {sum, begin, id};
            };
            const auto character_end = static_cast<uint32_t>(begin + character_at(word, begin).length);
            bool has_character = false;
            uint32_t node = Trie::root;
            for (uint32_t end = begin; end < word.size();) {
                node = tokens_.next(node, word[end++]);
                if (node == Trie::no_node) break;
                const int32_t id = tokens_.value(node);
                if (id == Trie::no_value) continue;
                improve(end, scores_[static_cast<size_t>(id)], id);
                has_character |= end == character_end;
            }
            if (!has_character)
                improve(character_end, unknown_score_, unknown(word.substr(begin, character_end - begin)));
            begin = character_end;
        }
        return best;
    }

    void add(std::string_view word, Span part, std::vector<WordToken> &out) const {
        const std::string_view text = part.of(word);
        if (const auto id = vocabulary_.id(text)) {
            out.push_back({*id, part});
            return;
        }
        if (byte_fallback_) {
            std::vector<WordToken> bytes;
            for (const char byte : text)
                if (const auto id = vocabulary_.id(byte_token(static_cast<unsigned char>(byte))))
                    bytes.push_back({*id, part});
            if (bytes.size() == text.size()) {
                out.insert(out.end(), bytes.begin(), bytes.end());
                return;
            }
        }
        out.push_back({unknown(text), part, true});
    }

    Vocabulary vocabulary_;
    std::vector<double> scores_; // by id
    Trie tokens_;
    std::optional<int32_t> unknown_;
    bool byte_fallback_;
    double unknown_score_ = std::numeric_limits<double>::infinity();
};

} // namespace

std::unique_ptr<Model> unigram(Vocabulary vocabulary, std::vector<double> scores, std::optional<int32_t> unknown,
                               bool byte_fallback) {
    return std::make_unique<Unigram>(std::move(vocabulary), std::move(scores), unknown, byte_fallback);
}

} // namespace lamina::tokenizer
