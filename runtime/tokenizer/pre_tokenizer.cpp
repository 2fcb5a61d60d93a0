#include "tokenizer/pre_tokenizer.hpp"

#include "tokenizer/unicode.hpp"

namespace lamina::tokenizer {
namespace {

// GPT-2's.
constexpr auto byte_level_words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

template <class Change> void change_pieces(std::vector<Piece> &pieces, const Change &change) {
    for (Piece &piece : pieces)
        if (!piece.added_token) change(piece.text);
}

std::vector<Span> matches_to_parts(const std::vector<Span> &matches, const Text &text, Delimiter delimiter) {
    return split_at(matches, text.now().size(), delimiter);
}

// Runs of word characters and runs of symbols, without the white space between them.
std::vector<Span> runs_of_symbols(const Text &text) {
    enum class Kind { none, word, blank, symbol } last = Kind::none;
    std::vector<Span> out;
    for (uint32_t at = 0; at < text.now().size();) {
        const auto [code, length] = character_at(text.now(), at);
        const auto end = static_cast<uint32_t>(at + length);
        const Kind kind = is_word(code) ? Kind::word : is_whitespace(code) ? Kind::blank : Kind::symbol;
        if (kind == last && kind != Kind::blank)
            out.back().end = end;
        else if (kind != Kind::blank)
            out.push_back({at, end});
        last = kind;
        at = end;
    }
    return out;
}

// Runs of characters of one script. Those that go with every script belong to the run before them; before the first run
// they are dropped, as in tokenizers.
std::vector<Span> runs_of_scripts(const Text &text) {
    std::vector<Span> out;
    uint32_t last = 0;
    for (uint32_t at = 0; at < text.now().size();) {
        const auto [code, length] = character_at(text.now(), at);
        const auto end = static_cast<uint32_t>(at + length);
        const uint32_t script = script_of(code);
        if (script != 0 && script != last)
            out.push_back({at, end});
        else if (!out.empty())
            out.back().end = end;
        if (script != 0) last = script;
        at = end;
    }
    return out;
}

} // namespace

void split_pieces(std::vector<Piece> &pieces, const std::function<std::vector<Span>(const Text &)> &parts_of) {
    std::vector<Piece> out;
    out.reserve(pieces.size());
    for (Piece &piece : pieces) {
        if (piece.added_token) {
            out.push_back(std::move(piece));
            continue;
        }
        const std::vector<Span> parts = parts_of(piece.text);
        if (parts.size() == 1 && parts[0].size() == piece.text.now().size() && !piece.text.empty()) {
            out.push_back(std::move(piece));
            continue;
        }
        for (const Span &part : parts)
            if (part.size() != 0) out.push_back({piece.text.slice(part)});
    }
    pieces = std::move(out);
}

PreTokenizer split_by(Pattern pattern, Delimiter delimiter, bool inverted) {
    return [pattern = std::move(pattern), delimiter, inverted](std::vector<Piece> &pieces) {
        split_pieces(pieces, [&](const Text &text) {
            return split_at(find_all(pattern, text.now()), text.now().size(), delimiter, inverted);
        });
    };
}

PreTokenizer split_by(std::function<bool(char32_t)> is_delimiter, Delimiter delimiter) {
    return [is_delimiter = std::move(is_delimiter), delimiter](std::vector<Piece> &pieces) {
        split_pieces(pieces, [&](const Text &text) {
            return matches_to_parts(find_all(is_delimiter, text.now()), text, delimiter);
        });
    };
}

PreTokenizer bert_words() {
    return sequence({split_by(is_whitespace, Delimiter::removed), split_by(is_punctuation, Delimiter::isolated)});
}

PreTokenizer words_and_symbols() {
    return [](std::vector<Piece> &pieces) { split_pieces(pieces, runs_of_symbols); };
}

PreTokenizer words_of_one_script() {
    return [](std::vector<Piece> &pieces) { split_pieces(pieces, runs_of_scripts); };
}

PreTokenizer fixed_length(size_t characters) {
    return [characters](std::vector<Piece> &pieces) {
        split_pieces(pieces, [&](const Text &text) {
            std::vector<Span> out;
            size_t count = 0;
            for (uint32_t at = 0; at < text.now().size(); ++count) {
                const auto end = static_cast<uint32_t>(at + character_at(text.now(), at).length);
                if (count % characters == 0) out.push_back({at, at});
                out.back().end = end;
                at = end;
            }
            return out;
        });
    };
}

PreTokenizer sequence(std::vector<PreTokenizer> pre_tokenizers) {
    return [pre_tokenizers = std::move(pre_tokenizers)](std::vector<Piece> &pieces) {
        for (const PreTokenizer &each : pre_tokenizers) each(pieces);
    };
}

PreTokenizer byte_level(const ByteLevel &options) {
    std::vector<PreTokenizer> steps;
    if (options.add_prefix_space)
        steps.emplace_back([](std::vector<Piece> &pieces) {
            change_pieces(pieces, [](Text &text) {
                if (!text.now().starts_with(' ')) text.prepend(" ");
            });
        });
    if (options.use_regex) steps.push_back(split_by(Regex(byte_level_words), Delimiter::isolated, false));
    steps.emplace_back(
        [as_characters = bytes_as_characters()](std::vector<Piece> &pieces) { change_pieces(pieces, as_characters); });
    return sequence(std::move(steps));
}

PreTokenizer metaspace(const Metaspace &options) {
    return [options, mark = utf8(options.replacement)](std::vector<Piece> &pieces) {
        change_pieces(pieces, [&](Text &text) {
            text.replace(find_all(Pattern(" "), text.now()), mark);
            const bool wanted = options.prepend == Metaspace::Prepend::always ||
                                (options.prepend == Metaspace::Prepend::first && text.origin().begin == 0);
            if (wanted && !text.now().starts_with(mark)) text.prepend(mark);
        });
        if (options.split)
            split_pieces(pieces, [&](const Text &text) {
                return matches_to_parts(find_all(Pattern(mark), text.now()), text, Delimiter::behind);
            });
    };
}

} // namespace lamina::tokenizer
