#include "model/npy_header.hpp"

#include "base/utf8.hpp"

#include <lamina/plugin.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <set>
#include <string_view>

namespace lamina::model {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr uint64_t longest_npy_header = 1 << 16; // NumPy writes less than 200 bytes

[[noreturn]] void refuse_npy(const std::string &file, const std::string &why) {
    throw Error(ErrorCode::input, file + ": " + why);
}

// Reads the literal from left to right. The three keys may be in any order, each once.
class Literal {
  public:
    Literal(std::string_view text, const std::string &file) : text_(text), file_(file) {}

    NpyHeader read() {
        NpyHeader header;
        std::set<std::string, std::less<>> seen;
        expect('{');
        while (!take('}')) {
            const std::string key = string();
            expect(':');
            if (!seen.insert(key).second) fail("the key " + in_quotes(key) + " appears twice");
            if (key == "descr")
                read_type(header);
            else if (key == "fortran_order")
                header.fortran_order = boolean();
            else if (key == "shape")
                header.shape = shape();
            else
                fail("an unknown key " + in_quotes(key));
            if (!take(',') && !at('}')) fail("expected ',' or '}'");
        }
        skip_blanks();
        if (position_ != text_.size()) fail("something follows the dictionary");
        for (const char *key : {"descr", "fortran_order", "shape"})
            if (!seen.contains(key)) fail("the key '" + std::string(key) + "' is missing");
        return header;
    }

  private:
    [[noreturn]] void fail(const std::string &why) const {
        refuse_npy(file_, "the .npy header, at its byte " + std::to_string(position_) + ": " + why);
    }
    void skip_blanks() { position_ = std::min(text_.find_first_not_of(" \t\r\n", position_), text_.size()); }
    bool at(char c) {
        skip_blanks();
        return position_ < text_.size() && text_[position_] == c;
    }
    bool take(char c) {
        const bool there = at(c);
        if (there) ++position_;
        return there;
    }
    void expect(char c) {
        if (!take(c)) fail(std::string("expected '") + c + "'");
    }

    // 'text' or "text", without escapes.
    std::string string() {
        const char quote = at('"') ? '"' : '\'';
        expect(quote);
        const size_t end = text_.find(quote, position_);
        if (end == std::string_view::npos) fail("a string without an end");
        std::string out(text_.substr(position_, end - position_));
        position_ = end + 1;
        return out;
    }

    bool boolean() {
        skip_blanks();
        for (const std::string_view word : {"True", "False"})
            if (text_.substr(position_).starts_with(word)) {
                position_ += word.size();
                return word == "True";
            }
        fail("expected True or False");
    }

    int64_t integer() {
        skip_blanks();
        int64_t value = -1;
        const char *begin = text_.data() + position_, *end = text_.data() + text_.size();
        const auto [stop, error] = std::from_chars(begin, end, value);
        if (error != std::errc() || value < 0) fail("expected a size from 0 to 2^63 - 1");
        position_ += static_cast<size_t>(stop - begin);
        (void)take('L'); // Python 2 wrote 3L
        return value;
    }

    Shape shape() { // (), (3,), (3, 4), (3, 4,)
        Shape out;
        expect('(');
        while (!take(')')) {
            if (out.size() == LAMINA_MAX_RANK) fail("more than " + std::to_string(LAMINA_MAX_RANK) + " axes");
            out.push_back(integer());
            if (!take(',') && !at(')')) fail("expected ',' or ')'");
        }
        return out;
    }

    void read_type(NpyHeader &header) {
        if (at('[') || at('(')) fail("a structured dtype; expected a plain one, like '<f4'");
        const std::string type = string();
        const auto refuse_type = [&](const std::string &why) { fail("the dtype " + in_quotes(type) + " " + why); };
        if (type.size() < 2) refuse_type("is not supported (supported: f2, f4, f8, i1 to i8, u1 to u8, b1)");
        if (type[1] == 'O') refuse_type("holds Python objects; Lamina does not unpickle them");
        if (type[0] == '>')
            refuse_type("is big-endian; save it with array.astype('<" + printable(type.substr(1)) + "')");
        const std::string_view width = std::string_view(type).substr(1);
        constexpr std::array<std::string_view, 12> known{"f2", "f4", "f8", "i1", "i2", "i4",
                                                         "i8", "u1", "u2", "u4", "u8", "b1"};
        if ((type[0] != '<' && type[0] != '|') || std::find(known.begin(), known.end(), width) == known.end())
            refuse_type("is not supported (supported: f2, f4, f8, i1 to i8, u1 to u8, b1)");
        header.kind = width[0];
        header.item_bytes = static_cast<size_t>(width[1] - '0');
    }

    std::string_view text_;
    const std::string &file_;
    size_t position_ = 0;
};

uint64_t data_bytes(const NpyHeader &header, const std::string &file) {
    auto product = static_cast<int64_t>(header.item_bytes);
    for (const int64_t dim : header.shape)
        if (__builtin_mul_overflow(product, dim, &product))
            refuse_npy(file, "the shape " + to_string(header.shape) + " overflows 64 bits");
    return static_cast<uint64_t>(product);
}

std::string text(FileReader &in, uint64_t length) {
    const std::vector<std::byte> bytes = in.read(length);
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

// Reads exactly this many bytes of the header.
std::string header_text(FileReader &in, uint64_t length) {
    std::string out = text(in, length);
    if (out.size() < length) refuse_npy(in.file().string(), "cut short inside the .npy header");
    return out;
}

uint64_t number(std::string_view little_endian) {
    uint64_t value = 0;
    for (size_t i = little_endian.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(little_endian[i]);
    return value;
}

} // namespace

NpyHeader NpyHeader::read(FileReader &in) {
    const std::string file = in.file().string();
    if (text(in, magic.size()) != magic) refuse_npy(file, "not a .npy file: it does not begin with \\x93NUMPY");
    const uint64_t version = number(header_text(in, 2).substr(0, 1)); // the other byte is the minor version, always 0
    if (version < 1 || version > 3)
        refuse_npy(file, "version " + std::to_string(version) + " of the .npy format; versions 1 to 3 are supported");
    const uint64_t length = number(header_text(in, version == 1 ? 2 : 4));
    if (length > longest_npy_header)
        refuse_npy(file, "a .npy header of " + std::to_string(length) + " bytes; the limit is 65536");
    NpyHeader header = Literal(header_text(in, length), file).read();
    header.data_bytes = lamina::model::data_bytes(header, file);
    return header;
}

} // namespace lamina::model
