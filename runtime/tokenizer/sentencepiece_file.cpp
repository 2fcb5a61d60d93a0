#include "tokenizer/sentencepiece_file.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <bit>
#include <optional>

namespace lamina::tokenizer {
namespace {

// In bytes. All ways to split a piece in two are tried.
constexpr size_t longest_piece = 512;

// The fields of a message in the wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding).
class Message {
  public:
    Message(std::string_view bytes, const std::string &name) : rest_(bytes), name_(name) {}

    struct Field {
        uint64_t number, value = 0; // the value: of numbers, of any width
        std::string_view bytes;     // of strings and messages
    };
    // None: the message ends here.
    std::optional<Field> next() {
        if (rest_.empty()) return std::nullopt;
        const uint64_t tag = varint();
        Field out{.number = tag >> 3, .bytes = {}};
        switch (tag & 7) {
        case 0:
            out.value = varint();
            break;
        case 1:
            out.value = fixed(8);
            break;
        case 2:
            out.bytes = take(varint());
            break;
        case 5:
            out.value = fixed(4);
            break;
        default:
            fail();
        }
        return out;
    }
    [[noreturn]] void fail() const {
        throw Error(ErrorCode::input, name_ + ": not a SentencePiece model, or cut short");
    }

  private:
    std::string_view rest_;
    const std::string &name_;

    std::string_view take(uint64_t count) {
        if (count > rest_.size()) fail();
        const std::string_view out = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return out;
    }
    uint64_t varint() {
        uint64_t out = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const auto byte = static_cast<uint8_t>(take(1).front());
            out |= static_cast<uint64_t>(byte & 127) << shift;
            if (byte < 128) return out;
        }
        fail();
    }
    uint64_t fixed(size_t count) {
        uint64_t out = 0;
        const std::string_view bytes = take(count);
        for (size_t i = count; i-- > 0;) out = out << 8 | static_cast<uint8_t>(bytes[i]);
        return out;
    }
};

class Reader {
  public:
    explicit Reader(const std::string &name) : name_(name) {}

    SentencePieceFile read(std::string_view bytes) {
        for_each(bytes, [&](const Message::Field &field) {
            if (field.number == 1) out_.pieces.push_back(piece(field.bytes));
            if (field.number == 2) training(field.bytes);
            if (field.number == 3) normalization(field.bytes);
        });
        if (out_.pieces.empty()) Message("", name_).fail();
        return std::move(out_);
    }

  private:
    const std::string &name_;
    SentencePieceFile out_;

    template <class Use> void for_each(std::string_view bytes, const Use &use) {
        Message message(bytes, name_);
        while (const auto field = message.next()) use(*field);
    }

    [[nodiscard]] std::string text(std::string_view bytes) const {
        if (first_invalid_utf8(bytes) != bytes.size()) throw Error(ErrorCode::input, name_ + ": a piece is not UTF-8");
        return std::string(bytes);
    }

    SentencePieceFile::Piece piece(std::string_view bytes) {
        SentencePieceFile::Piece out;
        for_each(bytes, [&](const Message::Field &field) {
            if (field.number == 1) out.text = text(field.bytes);
            if (field.number == 2) out.score = std::bit_cast<float>(static_cast<uint32_t>(field.value));
            if (field.number == 3) out.kind = static_cast<SentencePieceFile::Kind>(field.value);
        });
        if (out.text.size() > longest_piece)
            throw Error(ErrorCode::input, name_ + ": a piece has " + std::to_string(out.text.size()) +
                                              " bytes; expected at most " + std::to_string(longest_piece));
        return out;
    }

    void training(std::string_view bytes) {
        for_each(bytes, [&](const Message::Field &field) {
            const auto id = static_cast<int32_t>(field.value);
            switch (field.number) {
            case 3:
                out_.algorithm = static_cast<SentencePieceFile::Algorithm>(field.value);
                break;
            case 35:
                out_.byte_fallback = field.value != 0;
                break;
            case 40:
                out_.unknown_id = id;
                break;
            case 41:
                out_.begin_id = id;
                break;
            case 42:
                out_.end_id = id;
                break;
            case 45:
                out_.unknown = text(field.bytes);
                break;
            case 46:
                out_.begin = text(field.bytes);
                break;
            case 47:
                out_.end = text(field.bytes);
                break;
            default: // about training alone
                break;
            }
        });
    }

    void normalization(std::string_view bytes) {
        for_each(bytes, [&](const Message::Field &field) {
            if (field.number == 2) out_.charsmap = field.bytes;
            if (field.number == 3) out_.begins_with_space = field.value != 0;
            if (field.number == 4) out_.removes_spaces = field.value != 0;
            if (field.number == 5) out_.marks_spaces = field.value != 0;
        });
    }
};

} // namespace

SentencePieceFile read_sentencepiece_file(std::string_view bytes, const std::string &name) {
    return Reader(name).read(bytes);
}

} // namespace lamina::tokenizer
