#include "audio/riff.hpp"

#include "base/file.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace lamina::audio {
namespace {

// Programs that write to a pipe do not know the length and write this or more.
constexpr uint32_t unknown_length = 0x7fff0000;

bool is_named(std::span<const std::byte> bytes, const char *name) { return std::memcmp(bytes.data(), name, 4) == 0; }

uint32_t little_endian(std::span<const std::byte> bytes) {
    uint32_t out = 0;
    for (size_t i = 4; i-- > 0;) out = out << 8 | std::to_integer<uint32_t>(bytes[i]);
    return out;
}

void skip(FileReader &reader, uint64_t bytes) {
    constexpr uint64_t at_once = 1u << 16;
    while (bytes != 0) {
        const uint64_t found = reader.read(std::min(bytes, at_once)).size();
        if (found == 0) return;
        bytes -= found;
    }
}

} // namespace

void expect_complete(const std::filesystem::path &file) {
    std::error_code error;
    if (!std::filesystem::exists(file, error))
        throw Error(ErrorCode::input, file.string() + ": no such file; expected an audio file (WAV, FLAC, OGG, MP3)");
    FileReader reader(file, FileReader::Kind::ordinary);
    if (reader.rest() == 0) throw Error(ErrorCode::input, file.string() + ": is empty; expected audio");
    const std::vector<std::byte> head = reader.read(12);
    if (head.size() < 12 || !is_named(head, "RIFF") || !is_named(std::span(head).subspan(8), "WAVE")) return;
    for (;;) {
        const std::vector<std::byte> chunk = reader.read(8);
        if (chunk.size() < 8) return; // no samples: libsndfile will refuse it
        const uint32_t length = little_endian(std::span(chunk).subspan(4));
        if (!is_named(chunk, "data")) {
            skip(reader, uint64_t{length} + length % 2); // chunks begin at even bytes
            continue;
        }
        if (length < unknown_length && length > reader.rest())
            throw Error(ErrorCode::input, file.string() + ": is truncated: expected " + std::to_string(length) +
                                              " bytes of samples, found " + std::to_string(reader.rest()));
        return;
    }
}

} // namespace lamina::audio
