#include "grammar/constraint.hpp"

#include <lamina/error.hpp>

namespace lamina::grammar {
namespace {

constexpr size_t most_forced = 1024;    // bytes at a time
constexpr size_t most_work = 4'000'000; // of a set, which takes less than a second

} // namespace

// An automaton that has grown too large begins anew, and texts are followed from their beginnings.
std::shared_ptr<const TokenSet> Constraint::after(std::span<const int32_t> tokens, Place &place) {
    const std::lock_guard lock(mutex_);
    if (automaton_.bytes() > most_bytes || sets_.size() * rest_->size() / 8 > most_bytes) {
        automaton_ = Automaton(network_);
        sets_.clear();
        ++version_;
    }
    follow(tokens, place);
    const TokenTrie &trie = tokens.empty() ? *first_ : *rest_;
    std::shared_ptr<const TokenSet> &set = sets_[uint64_t{place.at} << 1 | (tokens.empty() ? 1 : 0)];
    if (!set) set = find(place.at, trie);
    return set;
}

std::string Constraint::forced(std::span<const int32_t> tokens, Place &place) {
    const std::lock_guard lock(mutex_);
    follow(tokens, place);
    std::string out;
    for (uint32_t at = place.at; out.size() < most_forced;) {
        const auto byte = automaton_.only_byte(at);
        if (!byte) break;
        out += static_cast<char>(*byte);
        at = automaton_.step(at, *byte);
    }
    return out;
}

bool Constraint::are_text(std::span<const int32_t> tokens, std::string_view text) const {
    std::string all;
    for (const int32_t token : tokens) {
        if (static_cast<size_t>(token) >= rest_->size()) return false;
        all += rest_->bytes_of(token);
    }
    return all == text;
}

void Constraint::follow(std::span<const int32_t> tokens, Place &place) {
    if (place.version != version_ || place.tokens > tokens.size()) place = {.version = version_};
    for (; place.tokens < tokens.size(); ++place.tokens) {
        const TokenTrie &trie = place.tokens == 0 ? *first_ : *rest_;
        const auto token = static_cast<size_t>(tokens[place.tokens]);
        const bool has_text = token < trie.size() && !trie.bytes_of(tokens[place.tokens]).empty();
        if (!has_text) place.at = Automaton::nowhere;
        for (size_t i = 0; has_text && i < trie.bytes_of(tokens[place.tokens]).size(); ++i)
            place.at = automaton_.step(place.at, static_cast<uint8_t>(trie.bytes_of(tokens[place.tokens])[i]));
    }
}

std::shared_ptr<const TokenSet> Constraint::find(uint32_t at, const TokenTrie &trie) {
    auto out = std::make_shared<TokenSet>(trie.size());
    out->may_end = automaton_.may_end(at);
    out->may_go_on = automaton_.may_go_on(at);
    path_.assign(trie.longest() + 1, Automaton::nowhere);
    path_[0] = at;
    const std::vector<TokenTrie::Node> &nodes = trie.nodes();
    const size_t before = automaton_.work();
    for (size_t i = 0; i < nodes.size();) {
        const TokenTrie::Node &node = nodes[i];
        const uint32_t to = automaton_.step(path_[node.depth - 1], node.byte);
        if (automaton_.work() - before > most_work)
            throw Error(ErrorCode::input,
                        "the grammar takes too long: expected one with fewer choices that begin alike");
        if (to == Automaton::nowhere) {
            i = node.end;
            continue;
        }
        path_[node.depth] = to;
        for (int32_t token = node.token; token >= 0; token = trie.next_of(token)) out->add(token);
        ++i;
    }
    return out;
}

} // namespace lamina::grammar
