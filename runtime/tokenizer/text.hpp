// A text on its way through normalizers and pre-tokenizers, which remembers the original that each byte stands for.
#pragma once

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
    explicit Text(std::string_view original); // valid UTF-8, less than 4 GiB

    [[nodiscard]] const std::string &now() const { return now_; }
    [[nodiscard]] bool empty() const { return now_.empty(); }
    // The bytes of the original that it stands for, and those that a part of now() stands for.
    [[nodiscard]] Span origin() const { return origin_; }
    [[nodiscard]] Span origin(Span part) const;
    [[nodiscard]] Text slice(Span part) const;

    // One character of a text that takes this one's place. change 0: it stands for the next character of this text;
    // 1: it is new, and shares the origin of what is before it; -n: the n characters behind the next are dropped.
    struct Change {
        char32_t code;
        int change;
    };
    // `dropped`: how many characters of the beginning have no successor.
    void transform(std::span<const Change> changes, size_t dropped = 0);

    void keep_if(const std::function<bool(char32_t)> &keep);
    void map(const std::function<char32_t(char32_t)> &function);
    void prepend(std::string_view text);
    void replace(std::span<const Span> parts, std::string_view text); // parts in order, apart from each other

  private:
    Text() = default;

    std::string now_;
    std::vector<Span> origins_; // of each byte of now_: the whole character of the original
    Span origin_;
};

} // namespace lamina::tokenizer
