// A text as normalizers and pre-tokenizers change it. It knows which part of the original each of its bytes comes from.
#pragma once

#include "tokenizer/growth.hpp"
#include "tokenizer/span.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::tokenizer {

class Text {
  public:
    // Valid UTF-8, less than 2 GiB. What becomes longer, here or in a slice, spends of `growth`, which must outlive
    // both.
    Text(std::string_view original, Growth &growth);

    [[nodiscard]] const std::string &now() const { return now_; }
    [[nodiscard]] bool empty() const { return now_.empty(); }
    // The bytes of the original that the whole of now(), or a part of it, comes from.
    [[nodiscard]] Span origin() const { return origin_; }
    [[nodiscard]] Span origin(Span part) const;
    [[nodiscard]] Text slice(Span part) const;

    // One character of the new text. change 0: it replaces the next character of this text; 1: it is inserted, and
    // shares the origin of the character before it; -n: it replaces the next character, and the n after that are
    // dropped.
    struct Change {
        char32_t code;
        int change;
    };
    // Before the text becomes this long: throws Error(input) if that is too long.
    void expect_room(size_t bytes) const;
    // Replaces the text. `dropped`: how many characters at the beginning are dropped.
    void transform(std::span<const Change> changes, size_t dropped = 0);

    void keep_if(const std::function<bool(char32_t)> &keep);
    void map(const std::function<char32_t(char32_t)> &function);
    void prepend(std::string_view text);
    void replace(std::span<const Span> parts, std::string_view text); // parts in order, without overlap

  private:
    explicit Text(Growth &growth) : growth_(&growth) {}

    Growth *growth_;
    std::string now_;
    std::vector<Span> origins_; // of each byte of now_: the whole character of the original
    Span origin_;
};

} // namespace lamina::tokenizer
