#include "model/gguf_reader.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

namespace lamina::model {

void GgufReader::fail(const std::string &message) const { throw Error(ErrorCode::input, place() + message); }

void GgufReader::cut_short(const char *what) const {
    fail(std::string(what) + ": beyond the end of the file, which has " + std::to_string(bytes_.size()) +
         " bytes and is cut short or damaged; download it again");
}

std::span<const std::byte> GgufReader::take(uint64_t count, uint64_t size, const char *what) {
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > rest()) cut_short(what);
    const auto taken = bytes_.subspan(at_, bytes);
    at_ += bytes;
    return taken;
}

std::string_view GgufReader::string(const char *what) {
    const auto length = integer<uint64_t>(what);
    const auto bytes = take(length, 1, what);
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

std::string_view GgufReader::name(const char *what, uint64_t longest) {
    const std::string_view text = string(what);
    if (text.empty() || text.size() > longest || first_invalid_utf8(text) != text.size())
        fail(std::string(what) + ": expected 1 to " + std::to_string(longest) + " bytes of UTF-8, found " +
             std::to_string(text.size()) + ": " + in_quotes(text));
    return text;
}

} // namespace lamina::model
