// The tokens of a vocabulary by the bytes that they add to a text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lamina::grammar {

class TokenTrie {
  public:
    // `bytes` of each token; empty: it stands for no text, and is in no text of a grammar.
    explicit TokenTrie(std::vector<std::string> bytes);

    // In the order of a walk that visits a node before those below it.
    struct Node {
        uint32_t end;   // where the nodes below it end
        uint32_t depth; // bytes, this one included
        int32_t token;  // the first of its bytes; -1: none
        uint8_t byte = 0;
    };
    [[nodiscard]] const std::vector<Node> &nodes() const { return nodes_; }
    // The next token of the same bytes; -1: none.
    [[nodiscard]] int32_t next_of(int32_t token) const { return next_[static_cast<size_t>(token)]; }
    [[nodiscard]] const std::string &bytes_of(int32_t token) const { return bytes_[static_cast<size_t>(token)]; }
    [[nodiscard]] size_t size() const { return bytes_.size(); } // one more than the highest token
    [[nodiscard]] size_t longest() const { return longest_; }   // bytes of a token

  private:
    std::vector<std::string> bytes_;
    std::vector<Node> nodes_;
    std::vector<int32_t> next_;
    size_t longest_ = 0;
};

} // namespace lamina::grammar
