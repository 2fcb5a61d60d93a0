#include "tokenizer/bpe.hpp"

#include "base/utf8.hpp"
#include "tokenizer/byte_characters.hpp"
#include "tokenizer/merge_table.hpp"
#include "tokenizer/unicode.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>
#include <queue>

namespace lamina::tokenizer {
namespace {

// A part of a word, in a linked list. Merging leaves the right half in place with length 0.
struct Symbol {
    int32_t id;
    uint32_t length; // bytes
    int32_t previous, next;
};

struct Candidate {
    uint32_t rank;
    int32_t position; // of the left symbol
    int32_t made;     // the id of the merged token
    bool operator>(const Candidate &other) const {
        return rank != other.rank ? rank > other.rank : position > other.position;
    }
};

class Bpe final : public Model {
  public:
    Bpe(Vocabulary vocabulary, const std::vector<Merge> &merges, BpeOptions options);

    void tokenize(std::string_view word, std::vector<WordToken> &out) const override;
    [[nodiscard]] std::optional<int32_t> id(std::string_view token) const override { return vocabulary_.id(token); }
    [[nodiscard]] std::optional<std::string_view> token(int32_t id) const override { return vocabulary_.token(id); }
    [[nodiscard]] int32_t count() const override { return static_cast<int32_t>(vocabulary_.size()); }
    [[nodiscard]] int32_t end() const override { return vocabulary_.end(); }
    [[nodiscard]] bool is_bpe() const override { return true; }

  private:
    [[nodiscard]] std::vector<Symbol> symbols_of(std::string_view word) const;
    [[nodiscard]] bool add_bytes(std::string_view character, std::vector<Symbol> &symbols) const;
    void merge(std::vector<Symbol> &symbols) const;

    Vocabulary vocabulary_;
    MergeTable merges_;
    BpeOptions options_;
    std::array<int32_t, 256> byte_tokens_{}; // -1: none
    int32_t unknown_ = -1;
};

Bpe::Bpe(Vocabulary vocabulary, const std::vector<Merge> &merges, BpeOptions options)
    : vocabulary_(std::move(vocabulary)), merges_(merges), options_(std::move(options)) {
    for (size_t byte = 0; byte < byte_tokens_.size(); ++byte)
        byte_tokens_[byte] = vocabulary_.id(byte_token(static_cast<unsigned char>(byte))).value_or(-1);
    if (options_.unknown_token) unknown_ = vocabulary_.id(*options_.unknown_token).value_or(-1);
}

void add(std::vector<Symbol> &symbols, int32_t id, size_t length) {
    const auto position = static_cast<int32_t>(symbols.size());
    if (!symbols.empty()) symbols.back().next = position;
    symbols.push_back({id, static_cast<uint32_t>(length), position - 1, -1});
}

bool Bpe::add_bytes(std::string_view character, std::vector<Symbol> &symbols) const {
    const auto token = [&](char byte) { return byte_tokens_[static_cast<unsigned char>(byte)]; };
    if (!std::all_of(character.begin(), character.end(), [&](char byte) { return token(byte) >= 0; })) return false;
    for (const char byte : character) add(symbols, token(byte), 1);
    return true;
}

std::vector<Symbol> Bpe::symbols_of(std::string_view word) const {
    std::vector<Symbol> symbols;
    symbols.reserve(word.size());
    size_t unknown = 0; // bytes of unknown characters that are not among the symbols yet
    const auto add_unknown = [&] {
        if (unknown != 0) add(symbols, unknown_, unknown);
        unknown = 0;
    };
    std::string decorated;
    for (size_t at = 0; at < word.size();) {
        const size_t length = character_at(word, at).length;
        std::string_view character = word.substr(at, length);
        const bool prefixed = at != 0 && !options_.continuing_subword_prefix.empty();
        const bool suffixed = at + length == word.size() && !options_.end_of_word_suffix.empty();
        at += length;
        if (prefixed || suffixed) {
            decorated = prefixed ? options_.continuing_subword_prefix : "";
            decorated += character;
            if (suffixed) decorated += options_.end_of_word_suffix;
            character = decorated;
        }
        if (const auto id = vocabulary_.id(character)) {
            add_unknown();
            add(symbols, *id, length);
        } else if (options_.byte_fallback && add_bytes(character, symbols)) {
            // Pending unknown characters are added after these bytes, as Hugging Face's tokenizers does.
        } else if (options_.unknown_token) {
            if (unknown_ < 0)
                throw Error(ErrorCode::input, in_quotes(word) + ": " + in_quotes(character) +
                                                  " is not in the vocabulary, and neither is the unknown token " +
                                                  in_quotes(*options_.unknown_token));
            if (!options_.fuse_unknown) add_unknown();
            unknown += length;
        }
    }
    add_unknown();
    return symbols;
}

void Bpe::merge(std::vector<Symbol> &symbols) const {
    std::vector<Candidate> first;
    first.reserve(symbols.size());
    const auto candidate = [&](int32_t position, const auto &found) {
        const Symbol &left = symbols[static_cast<size_t>(position)];
        const MergeTable::Entry *merge = merges_.find(left.id, symbols[static_cast<size_t>(left.next)].id);
        if (merge != nullptr) found(Candidate{merge->rank, position, merge->made});
    };
    for (int32_t i = 0; i + 1 < static_cast<int32_t>(symbols.size()); ++i)
        candidate(i, [&](const Candidate &each) { first.push_back(each); });
    std::priority_queue queue(std::greater<Candidate>(), std::move(first));
    const auto push = [&](const Candidate &each) { queue.push(each); };

    while (!queue.empty()) {
        const Candidate top = queue.top();
        queue.pop();
        Symbol &left = symbols[static_cast<size_t>(top.position)];
        if (left.length == 0 || left.next < 0) continue;
        Symbol &right = symbols[static_cast<size_t>(left.next)];
        const MergeTable::Entry *merge = merges_.find(left.id, right.id);
        if (merge == nullptr || merge->made != top.made) continue; // one of the two has been merged since
        left.id = top.made;
        left.length += right.length;
        left.next = right.next;
        right.length = 0;
        if (left.next >= 0) symbols[static_cast<size_t>(left.next)].previous = top.position;
        if (left.previous >= 0) candidate(left.previous, push);
        if (left.next >= 0) candidate(top.position, push);
    }
}

void Bpe::tokenize(std::string_view word, std::vector<WordToken> &out) const {
    if (options_.ignore_merges)
        if (const auto id = vocabulary_.id(word)) {
            out.push_back({*id, {0, static_cast<uint32_t>(word.size())}});
            return;
        }
    std::vector<Symbol> symbols = symbols_of(word);
    merge(symbols);
    uint32_t at = 0;
    for (const Symbol &symbol : symbols) {
        if (symbol.length == 0) continue;
        out.push_back({symbol.id, {at, at + symbol.length}});
        at += symbol.length;
    }
}

} // namespace

std::unique_ptr<Model> bpe(Vocabulary vocabulary, const std::vector<Merge> &merges, BpeOptions options) {
    return std::make_unique<Bpe>(std::move(vocabulary), merges, std::move(options));
}

Merge merge_of(const Vocabulary &vocabulary, std::string_view left, std::string_view right, uint32_t rank,
               std::string_view continuing_subword_prefix) {
    const auto known = [&](std::string_view token) {
        if (const auto id = vocabulary.id(token)) return *id;
        throw Error(ErrorCode::input, "the merge of " + in_quotes(left) + " and " + in_quotes(right) + ": " +
                                          in_quotes(token) + " is not in the vocabulary");
    };
    const int32_t left_id = known(left), right_id = known(right);
    if (!right.starts_with(continuing_subword_prefix))
        throw Error(ErrorCode::input, "the merge of " + in_quotes(left) + " and " + in_quotes(right) + ": expected " +
                                          in_quotes(continuing_subword_prefix) + " at the start of the second token");
    const std::string made = std::string(left) + std::string(right.substr(continuing_subword_prefix.size()));
    return {left_id, right_id, known(made), rank};
}

} // namespace lamina::tokenizer
