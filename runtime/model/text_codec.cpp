#include "model/text_codec.hpp"

#include "tokenizer/token_bytes.hpp"

#include <utility>

namespace lamina::model {
namespace {

// ---- By a vocabulary ----

class SplitCodec final : public TextCodec {
  public:
    SplitCodec(Vocabulary vocabulary, const std::string &file, Split split, bool lowercase)
        : TextCodec(file), vocabulary_(std::move(vocabulary)), split_(split), lowercase_(lowercase) {}

    [[nodiscard]] Ids encode(std::string_view text, bool) const override {
        return vocabulary_.encode(text, split_ == Split::characters, lowercase_);
    }
    [[nodiscard]] std::string decode(std::span<const int32_t> ids, bool) const override {
        return vocabulary_.decode(ids, separator());
    }
    [[nodiscard]] std::unique_ptr<TextStream> stream(bool) const override { return std::make_unique<Stream>(*this); }
    [[nodiscard]] std::optional<int32_t> id(std::string_view token) const override { return vocabulary_.id(token); }
    [[nodiscard]] std::string token(int32_t id) const override {
        return id >= 0 && static_cast<size_t>(id) < size() ? vocabulary_.token(id) : "";
    }
    [[nodiscard]] size_t size() const override { return vocabulary_.size(); }
    [[nodiscard]] Split split() const override { return split_; }
    [[nodiscard]] bool lowercase() const override { return lowercase_; }
    [[nodiscard]] std::vector<std::string> bytes(bool first, bool) const override {
        std::vector<std::string> out = vocabulary_.tokens();
        for (std::string &token : out)
            if (!first) token.insert(0, separator());
        return out;
    }

  private:
    class Stream final : public TextStream {
      public:
        explicit Stream(const SplitCodec &codec) : codec_(codec) {}
        std::string push(int32_t id) override {
            std::string piece = codec_.decode(std::span(&id, 1), false);
            return std::exchange(first_, false) ? piece : codec_.separator() + piece;
        }
        std::string finish() override { return ""; }

      private:
        const SplitCodec &codec_;
        bool first_ = true;
    };

    [[nodiscard]] std::string separator() const { return split_ == Split::characters ? "" : " "; }

    Vocabulary vocabulary_;
    Split split_;
    bool lowercase_;
};

// ---- By a tokenizer ----

class TokenizerCodec final : public TextCodec {
  public:
    TokenizerCodec(Tokenizer tokenizer, const std::string &file) : TextCodec(file), tokenizer_(std::move(tokenizer)) {}

    [[nodiscard]] Ids encode(std::string_view text, bool special) const override {
        return tokenizer_.encode(text, {.add_special_tokens = special}).ids;
    }
    [[nodiscard]] std::string decode(std::span<const int32_t> ids, bool special) const override {
        return tokenizer_.decode(ids, !special);
    }
    [[nodiscard]] std::unique_ptr<TextStream> stream(bool special) const override {
        return std::make_unique<Stream>(tokenizer_, special);
    }
    [[nodiscard]] std::optional<int32_t> id(std::string_view token) const override { return tokenizer_.id(token); }
    [[nodiscard]] std::string token(int32_t id) const override { return tokenizer_.token(id).value_or(""); }
    [[nodiscard]] size_t size() const override { return tokenizer_.size(); }
    [[nodiscard]] Split split() const override { return Split::tokenizer; }
    [[nodiscard]] std::vector<std::string> bytes(bool first, bool special) const override {
        return tokenizer::token_bytes(tokenizer_, first, special);
    }

  private:
    class Stream final : public TextStream {
      public:
        Stream(const Tokenizer &tokenizer, bool special) : decoder_(tokenizer, !special) {}
        std::string push(int32_t id) override { return decoder_.push(id); }
        void drop_held() override { decoder_.drop_held(); }
        std::string finish() override { return decoder_.finish(); }

      private:
        StreamDecoder decoder_;
    };

    Tokenizer tokenizer_;
};

} // namespace

std::shared_ptr<const grammar::TokenTrie> TextCodec::tokens(bool first, bool special) const {
    const std::lock_guard lock(mutex_);
    auto &trie = tokens_.at((first ? 1 : 0) + (special ? 2 : 0));
    if (!trie) trie = std::make_shared<const grammar::TokenTrie>(bytes(first, special));
    return trie;
}

std::shared_ptr<const TextCodec> codec_of(Vocabulary vocabulary, const std::string &file, TextCodec::Split split,
                                          bool lowercase) {
    return std::make_shared<SplitCodec>(std::move(vocabulary), file, split, lowercase);
}

std::shared_ptr<const TextCodec> codec_of(Tokenizer tokenizer, const std::string &file) {
    return std::make_shared<TokenizerCodec>(std::move(tokenizer), file);
}

} // namespace lamina::model
