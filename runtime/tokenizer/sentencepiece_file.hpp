// What a SentencePiece model file says, for tokenizers that are made of it (github.com/google/sentencepiece,
// sentencepiece_model.proto).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::tokenizer {

struct SentencePieceFile {
    enum class Algorithm { unigram = 1, bpe = 2, word = 3, character = 4 };
    enum class Kind { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
    struct Piece {
        std::string text;
        float score = 0;
        Kind kind = Kind::normal;
    };
    std::vector<Piece> pieces; // by id
    Algorithm algorithm = Algorithm::unigram;
    bool byte_fallback = false;
    int32_t unknown_id = 0, begin_id = 1, end_id = 2; // below 0: there is none
    std::string unknown = "<unk>", begin = "<s>", end = "</s>";
    std::string charsmap; // rules of normalization; empty: none
    // A text begins with a space, spaces are written as a mark, and those at its ends or beside others are left out.
    bool begins_with_space = true, marks_spaces = true, removes_spaces = true;
};

// `name`: of the file, for messages. Throws Error(input) if the bytes are no such file.
[[nodiscard]] SentencePieceFile read_sentencepiece_file(std::string_view bytes, const std::string &name);

} // namespace lamina::tokenizer
