#include "base/utf8.hpp"
#include "tokenizer/trie.hpp"
#include "tokenizer/unicode.hpp"
#include "tokenizer/word_models.hpp"

#include <lamina/error.hpp>

namespace lamina::tokenizer {
namespace {

// A model with a vocabulary and an unknown token.
class WordModel : public Model {
  public:
    WordModel(Vocabulary vocabulary, std::string unknown_token)
        : vocabulary_(std::move(vocabulary)), unknown_token_(std::move(unknown_token)),
          unknown_(vocabulary_.id(unknown_token_)) {}

    [[nodiscard]] std::optional<int32_t> id(std::string_view token) const override { return vocabulary_.id(token); }
    [[nodiscard]] std::optional<std::string_view> token(int32_t id) const override { return vocabulary_.token(id); }
    [[nodiscard]] int32_t count() const override { return static_cast<int32_t>(vocabulary_.size()); }
    [[nodiscard]] int32_t end() const override { return vocabulary_.end(); }

  protected:
    [[nodiscard]] WordToken unknown(std::string_view word) const {
        if (!unknown_)
            throw Error(ErrorCode::input, in_quotes(word) +
                                              " is not in the vocabulary, and neither is the unknown token " +
                                              in_quotes(unknown_token_));
        return {*unknown_, {0, static_cast<uint32_t>(word.size())}};
    }
    [[nodiscard]] const Vocabulary &vocabulary() const { return vocabulary_; }

  private:
    Vocabulary vocabulary_;
    std::string unknown_token_;
    std::optional<int32_t> unknown_;
};

class WordPiece final : public WordModel {
  public:
    WordPiece(Vocabulary vocabulary, std::string unknown_token, const std::string &prefix, size_t longest_word)
        : WordModel(std::move(vocabulary), std::move(unknown_token)), longest_word_(longest_word) {
        for (int32_t id = 0; id < this->vocabulary().end(); ++id)
            if (const auto token = this->vocabulary().token(id)) tokens_.add(*token, id);
        for (const char byte : prefix)
            continuing_ = continuing_ == Trie::no_node ? continuing_ : tokens_.next(continuing_, byte);
    }

    void tokenize(std::string_view word, std::vector<WordToken> &out) const override {
        const size_t before = out.size();
        if (count_characters(word) <= longest_word_) {
            uint32_t at = 0;
            while (at < word.size()) {
                const WordToken next = longest(word, at);
                if (next.id == Trie::no_value) break;
                out.push_back(next);
                at = next.span.end;
            }
            if (at == word.size()) return;
        }
        out.resize(before, WordToken{});
        out.push_back(unknown(word));
    }

  private:
    [[nodiscard]] WordToken longest(std::string_view word, uint32_t begin) const {
        WordToken out{Trie::no_value, {begin, begin}};
        uint32_t node = begin == 0 ? Trie::root : continuing_;
        for (uint32_t at = begin; node != Trie::no_node && at < word.size(); ++at) {
            node = tokens_.next(node, word[at]);
            if (node != Trie::no_node && tokens_.value(node) != Trie::no_value)
                out = {tokens_.value(node), {begin, at + 1}};
        }
        return out;
    }

    Trie tokens_;
    uint32_t continuing_ = Trie::root; // the node of the prefix
    size_t longest_word_;              // characters
};

class WordLevel final : public WordModel {
  public:
    using WordModel::WordModel;

    void tokenize(std::string_view word, std::vector<WordToken> &out) const override {
        const auto id = vocabulary().id(word);
        out.push_back(id ? WordToken{*id, {0, static_cast<uint32_t>(word.size())}} : unknown(word));
    }
};

} // namespace

std::unique_ptr<Model> word_piece(Vocabulary vocabulary, std::string unknown_token, std::string prefix,
                                  size_t longest_word) {
    return std::make_unique<WordPiece>(std::move(vocabulary), std::move(unknown_token), prefix, longest_word);
}

std::unique_ptr<Model> word_level(Vocabulary vocabulary, std::string unknown_token) {
    return std::make_unique<WordLevel>(std::move(vocabulary), std::move(unknown_token));
}

} // namespace lamina::tokenizer
