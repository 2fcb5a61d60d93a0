// Maps tokens to ids and ids to tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::tokenizer {

class Vocabulary {
  public:
    void reserve(size_t tokens, size_t bytes);
    // Throws Error(input) if the token or the id is already there, or if the id is far beyond the number of tokens.
    void add(std::string_view token, int64_t id);

    [[nodiscard]] std::optional<int32_t> id(std::string_view token) const;
    [[nodiscard]] std::optional<std::string_view> token(int32_t id) const;
    [[nodiscard]] size_t size() const { return size_; }                                // tokens
    [[nodiscard]] int32_t end() const { return static_cast<int32_t>(places_.size()); } // one more than the highest id

  private:
    static constexpr uint32_t absent = UINT32_MAX;
    [[nodiscard]] std::string_view text_at(uint32_t place) const;
    // An id, and the bits of the token's hash that an id leaves: comparing text is a cache miss.
    using Slot = uint32_t;
    static constexpr uint32_t id_bits = 27, id_mask = (1u << id_bits) - 1;
    static constexpr Slot vacant = UINT32_MAX;
    [[nodiscard]] size_t slot_of(std::string_view token, uint32_t hash) const;
    void grow();

    std::string bytes_;            // of all tokens, each after its length
    std::vector<uint32_t> places_; // in bytes_, by id
    std::vector<Slot> slots_;      // by hash of the token, with linear probing; a power of two
    size_t size_ = 0;
};

} // namespace lamina::tokenizer
