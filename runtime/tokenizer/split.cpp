#include "tokenizer/split.hpp"

#include "tokenizer/unicode.hpp"

#include <algorithm>

namespace lamina::tokenizer {
namespace {

struct Stretch {
    Span span;
    bool is_delimiter;
};

std::vector<Stretch> pieces_of(const std::vector<Span> &matches, size_t size, bool inverted) {
    std::vector<Stretch> out;
    uint32_t done = 0;
    for (const Span &match : matches) {
        if (match.begin != done) out.push_back({{done, match.begin}, inverted});
        out.push_back({match, !inverted});
        done = match.end;
    }
    if (done != size) out.push_back({{done, static_cast<uint32_t>(size)}, inverted});
    return out;
}

// Appends a piece. A delimiter joins the part before it in `out`; a second delimiter in succession stays alone.
void join(std::vector<Span> &out, const Stretch &piece, bool &after_delimiter) {
    if (piece.is_delimiter && !after_delimiter && !out.empty())
        out.back() = {std::min(out.back().begin, piece.span.begin), std::max(out.back().end, piece.span.end)};
    else
        out.push_back(piece.span);
    after_delimiter = piece.is_delimiter;
}

} // namespace

std::vector<Span> find_all(const Pattern &pattern, std::string_view text) {
    if (const auto *regex = std::get_if<Regex>(&pattern)) return regex->find_all(text);
    const auto &words = std::get<std::string>(pattern);
    std::vector<Span> out;
    for (size_t at = text.find(words); at != std::string_view::npos; at = text.find(words, at + words.size()))
        out.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + words.size())});
    return out;
}

std::vector<Span> find_all(const std::function<bool(char32_t)> &predicate, std::string_view text) {
    std::vector<Span> out;
    for (uint32_t at = 0; at < text.size();) {
        const auto [code, length] = character_at(text, at);
        const auto end = static_cast<uint32_t>(at + length);
        if (predicate(code)) out.push_back({at, end});
        at = end;
    }
    return out;
}

std::vector<Span> split_at(const std::vector<Span> &matches, size_t size, Delimiter delimiter, bool inverted) {
    const std::vector<Stretch> pieces = pieces_of(matches, size, inverted);
    std::vector<Span> out;
    bool after_delimiter = false;
    switch (delimiter) {
    case Delimiter::removed:
        for (const Stretch &piece : pieces)
            if (!piece.is_delimiter) out.push_back(piece.span);
        break;
    case Delimiter::isolated:
        for (const Stretch &piece : pieces) out.push_back(piece.span);
        break;
    case Delimiter::before:
        for (const Stretch &piece : pieces) join(out, piece, after_delimiter);
        break;
    case Delimiter::behind:
        for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) join(out, *piece, after_delimiter);
        std::reverse(out.begin(), out.end());
        break;
    case Delimiter::contiguous:
        for (const Stretch &piece : pieces) {
            if (piece.is_delimiter == after_delimiter && !out.empty())
                out.back().end = piece.span.end;
            else
                out.push_back(piece.span);
            after_delimiter = piece.is_delimiter;
        }
    }
    return out;
}

} // namespace lamina::tokenizer
