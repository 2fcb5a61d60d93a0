#include "tokenizer/decoder.hpp"

#include "tokenizer/byte_characters.hpp"
#include "tokenizer/unicode.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace lamina::tokenizer {
namespace {

using Tokens = std::vector<std::string>;

constexpr size_t most_made = 16u << 20; // bytes: what a text may grow to

// A tokenizer is data, and a few steps that each double a text would make gigabytes of a word.
void expect_at_most(size_t most, size_t bytes) {
    if (bytes > most)
        throw Error(ErrorCode::input, "the tokenizer's decoder makes more than " + std::to_string(most_made >> 20) +
                                          " MiB of a text; expected one that changes little");
}

// A decoder that maps each token by itself, given its index and the number of tokens.
template <class Function> Decoder each(Function function) {
    return [function = std::move(function)](Tokens tokens) {
        size_t grown = 0;
        for (size_t i = 0; i < tokens.size(); ++i) {
            const size_t before = tokens[i].size();
            tokens[i] = function(std::move(tokens[i]), i, tokens.size());
            // Blanks between words do not count; a step may be one of many.
            if (tokens[i].size() > before + 1) expect_at_most(most_made, grown += tokens[i].size() - before);
        }
        return tokens;
    };
}

std::string replaced(const std::string &text, const Pattern &pattern, std::string_view content) {
    const std::vector<Span> matches = find_all(pattern, text);
    size_t size = text.size() + matches.size() * content.size(); // at most
    for (const Span &match : matches) size -= match.size();
    expect_at_most(std::max(text.size(), most_made), size);
    std::string out;
    size_t done = 0;
    for (const Span &match : matches) {
        out += text.substr(done, match.begin - done);
        out += content;
        done = match.end;
    }
    return out + text.substr(done);
}

// As tokenizers has it, which shortens a negation, too.
std::string cleaned_up_more(std::string text) {
    return replaced(cleaned_up(std::move(text)), Pattern(" do not"), " don't");
}

void append_bytes_of(const std::string &token, std::string &out) {
    std::string bytes;
    for (size_t at = 0; at < token.size();) {
        const auto [code, length] = character_at(token, at);
        const auto byte = byte_of_character(code);
        if (!byte) { // not byte-level: an added token
            out += token;
            return;
        }
        bytes += static_cast<char>(*byte);
        at += length;
    }
    out += bytes;
}

} // namespace

std::string cleaned_up(std::string text) {
    constexpr std::array<std::pair<const char *, const char *>, 10> rules{{{" .", "."},
                                                                           {" ?", "?"},
                                                                           {" !", "!"},
                                                                           {" ,", ","},
                                                                           {" ' ", "'"},
                                                                           {" n't", "n't"},
                                                                           {" 'm", "'m"},
                                                                           {" 's", "'s"},
                                                                           {" 've", "'ve"},
                                                                           {" 're", "'re"}}};
    for (const auto &[from, to] : rules)
        if (text.find(from) != std::string::npos) text = replaced(text, Pattern(from), to);
    return text;
}

size_t settled(std::string_view text) {
    // All rules begin with a space and have at most three bytes more. Only " ' " has another space, and only what it
    // leaves of " n ' t" and "  ' m" makes a rule fit that did not.
    constexpr size_t longest_rest = 3;
    size_t last = text.rfind(' ');
    if (last == std::string_view::npos || text.size() - last - 1 > longest_rest) return text.size();
    while (last > 0) {
        const size_t before = text.rfind(' ', last - 1);
        if (before == std::string_view::npos) break;
        const std::string_view word = text.substr(before + 1, last - before - 1);
        if (word != "" && word != "n" && word != "'") break;
        last = before;
    }
    return last;
}

Decoder decode_byte_level() {
    return [](const Tokens &tokens) {
        std::string bytes;
        for (const std::string &token : tokens) append_bytes_of(token, bytes);
        return Tokens{with_replacements(bytes)};
    };
}

Decoder decode_byte_fallback() {
    return [](const Tokens &tokens) {
        Tokens out;
        std::string bytes;
        const auto add_bytes = [&] {
            if (first_invalid_utf8(bytes) == bytes.size())
                out.push_back(bytes);
            else
                out.insert(out.end(), bytes.size(), "\xEF\xBF\xBD");
            bytes.clear();
        };
        for (const std::string &token : tokens) {
            if (const auto byte = byte_of_token(token)) {
                bytes += static_cast<char>(*byte);
                continue;
            }
            if (!bytes.empty()) add_bytes();
            out.push_back(token);
        }
        if (!bytes.empty()) add_bytes();
        return out;
    };
}

Decoder decode_word_piece(std::string prefix, bool cleanup) {
    return each([prefix = std::move(prefix), cleanup](std::string token, size_t place, size_t) {
        if (place != 0) token = token.starts_with(prefix) ? token.substr(prefix.size()) : " " + token;
        return cleanup ? cleaned_up_more(std::move(token)) : token;
    });
}

Decoder decode_metaspace(const Metaspace &options) {
    const bool drops_first = options.prepend != Metaspace::Prepend::never;
    return each([mark = utf8(options.replacement), drops_first](const std::string &token, size_t place, size_t) {
        return replaced(token, Pattern(mark), place == 0 && drops_first ? "" : " ");
    });
}

Decoder decode_bpe(std::string suffix) {
    return each([suffix = std::move(suffix)](const std::string &token, size_t place, size_t count) {
        return replaced(token, Pattern(suffix), place + 1 == count ? "" : " ");
    });
}

Decoder decode_ctc(std::string pad_token, std::string word_delimiter, bool cleanup) {
    return [=](Tokens tokens) {
        tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
        for (std::string &token : tokens) {
            token = replaced(token, Pattern(pad_token), "");
            if (cleanup) token = replaced(cleaned_up_more(std::move(token)), Pattern(word_delimiter), " ");
        }
        std::erase(tokens, "");
        return tokens;
    };
}

Decoder decode_fuse() {
    return [](const Tokens &tokens) {
        std::string out;
        for (const std::string &token : tokens) out += token;
        return Tokens{out};
    };
}

Decoder decode_strip(char32_t content, size_t start, size_t stop) {
    return each([mark = utf8(content), start, stop](const std::string &token, size_t, size_t) {
        std::string_view rest = token;
        for (size_t i = 0; i < start && rest.starts_with(mark); ++i) rest.remove_prefix(mark.size());
        for (size_t i = 0; i < stop && rest.ends_with(mark); ++i) rest.remove_suffix(mark.size());
        return std::string(rest);
    });
}

Decoder decode_replace(Pattern pattern, std::string content) {
    return each([pattern = std::move(pattern), content = std::move(content)](const std::string &token, size_t, size_t) {
        return replaced(token, pattern, content);
    });
}

Decoder decode_with_blanks() {
    return each([](std::string token, size_t place, size_t) { return place == 0 ? token : " " + token; });
}

Decoder sequence(std::vector<Decoder> decoders) {
    return [decoders = std::move(decoders)](Tokens tokens) {
        for (const Decoder &decoder : decoders) tokens = decoder(std::move(tokens));
        return tokens;
    };
}

} // namespace lamina::tokenizer
