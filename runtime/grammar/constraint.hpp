// Which tokens a text of a grammar may go on with.
#pragma once

#include "grammar/automaton.hpp"
#include "grammar/token_trie.hpp"

#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lamina::grammar {

// The tokens that may follow.
class TokenSet {
  public:
    explicit TokenSet(size_t tokens) : bits_((tokens + 63) / 64) {}
    void add(int32_t token) {
        uint64_t &word = bits_[static_cast<size_t>(token) / 64];
        const uint64_t bit = uint64_t{1} << (static_cast<size_t>(token) % 64);
        count_ += (word & bit) == 0 ? 1 : 0;
        word |= bit;
    }
    [[nodiscard]] bool has(int32_t token) const {
        const size_t word = static_cast<size_t>(token) / 64;
        return word < bits_.size() && (bits_[word] >> (static_cast<size_t>(token) % 64) & 1) != 0;
    }
    [[nodiscard]] size_t count() const { return count_; }
    // Calls it for each token, in order.
    template <class Function> void for_each(const Function &function) const {
        for (size_t w = 0; w < bits_.size(); ++w)
            for (uint64_t left = bits_[w]; left != 0; left &= left - 1)
                function(static_cast<int32_t>(w * 64 + static_cast<size_t>(std::countr_zero(left))));
    }

    bool may_end = false; // the text may end here, and
    bool may_go_on = true;

  private:
    std::vector<uint64_t> bits_;
    size_t count_ = 0;
};

// A grammar and a vocabulary. What is found for one text serves all others, also in other threads.
class Constraint {
  public:
    static constexpr size_t most_bytes = 4u << 20; // of the automaton, and of the sets

    // `first`: the bytes of tokens at the beginning of a text, where they differ from `rest`.
    Constraint(std::shared_ptr<const Network> network, std::shared_ptr<const TokenTrie> first,
               std::shared_ptr<const TokenTrie> rest)
        : network_(std::move(network)), first_(std::move(first)), rest_(std::move(rest)), automaton_(network_) {}

    [[nodiscard]] bool is_of(const std::shared_ptr<const TokenTrie> &first,
                             const std::shared_ptr<const TokenTrie> &rest) const {
        return first_ == first && rest_ == rest;
    }

    // How far a text has been followed; one for each text.
    struct Place {
        uint64_t version = 0; // of the automaton
        uint32_t at = Automaton::begin;
        size_t tokens = 0;
    };
    // What may follow these tokens, which continue those that the place was asked for before. Empty after tokens that
    // the grammar does not allow.
    [[nodiscard]] std::shared_ptr<const TokenSet> after(std::span<const int32_t> tokens, Place &place);

    // The text that must follow these tokens, up to the first place where there is a choice.
    [[nodiscard]] std::string forced(std::span<const int32_t> tokens, Place &place);
    // Whether these tokens are this text, behind others.
    [[nodiscard]] bool are_text(std::span<const int32_t> tokens, std::string_view text) const;

  private:
    void follow(std::span<const int32_t> tokens, Place &place);
    [[nodiscard]] std::shared_ptr<const TokenSet> find(uint32_t at, const TokenTrie &trie);

    std::shared_ptr<const Network> network_;
    std::shared_ptr<const TokenTrie> first_, rest_;
    std::mutex mutex_;
    Automaton automaton_;
    uint64_t version_ = 0;
    std::unordered_map<uint64_t, std::shared_ptr<const TokenSet>> sets_; // by place, and whether it is the first token
    std::vector<uint32_t> path_;                                         // of a walk through the trie, by depth
};

} // namespace lamina::grammar
