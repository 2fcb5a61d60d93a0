// GGUF files of tiny models with other bytes in them.
#pragma once

#include "catch.hpp"
#include "folders.hpp"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace test {

inline std::string bytes_of(const std::filesystem::path &file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

template <class Number> std::string number_in_gguf(Number value) {
    return {reinterpret_cast<const char *>(&value), sizeof value};
}

// Adds a key to the metadata of a file, with the type of its value (ggml, docs/gguf.md), and a note that is so long
// that tensors stay where they may begin.
inline void add_key(std::string &bytes, const std::string &key, uint32_t type, const std::string &value) {
    constexpr size_t first = 24, keys = 16, alignment = 32; // of the metadata; of their number; of tensors
    const auto entry = [](const std::string &name, uint32_t kind, const std::string &of) {
        return number_in_gguf(uint64_t{name.size()}) + name + number_in_gguf(kind) + of;
    };
    const auto note = [&](size_t length) {
        return entry("general.note", 8, number_in_gguf(uint64_t{length}) + std::string(length, '-'));
    };
    std::string added = entry(key, type, value);
    added += note((alignment - (added.size() + note(0).size()) % alignment) % alignment);
    bytes.insert(first, added);
    uint64_t count = 0;
    std::memcpy(&count, bytes.data() + keys, sizeof count);
    count += 2;
    std::memcpy(bytes.data() + keys, &count, sizeof count);
}

class ChangedGguf {
  public:
    explicit ChangedGguf(const std::string &name) : bytes_(bytes_of(architectures / "models" / name / "model.gguf")) {}

    // Why it is refused with this value `skipped` bytes behind the key and the type of its value.
    template <class Value>
    [[nodiscard]] std::string with(const std::string &key, Value value, size_t skipped = 0) const {
        const size_t at = bytes_.find(key);
        REQUIRE(at != std::string::npos);
        return changed(at + key.size() + sizeof(uint32_t) + skipped, &value, sizeof value);
    }
    // The same for an entry of a list.
    template <class Value> [[nodiscard]] std::string with_entry(const std::string &key, size_t i, Value value) const {
        return with(key, value, sizeof(uint32_t) + sizeof(uint64_t) + i * sizeof value);
    }
    // The same with a number in the place of another one, where it comes first.
    [[nodiscard]] std::string with_instead(float number, float other) const {
        const size_t at = bytes_.find(std::string(reinterpret_cast<const char *>(&number), sizeof number));
        REQUIRE(at != std::string::npos);
        return changed(at, &other, sizeof other);
    }
    [[nodiscard]] std::string without(const std::string &name) const {
        const size_t at = bytes_.find(name);
        REQUIRE(at != std::string::npos);
        return changed(at, "X", 1);
    }

  private:
    std::string bytes_;

    [[nodiscard]] static std::string changed(std::string bytes, size_t at, const void *value, size_t size) {
        const TemporaryFolder folder;
        std::memcpy(bytes.data() + at, value, size);
        const std::filesystem::path file = folder.path() / "model.gguf";
        std::ofstream(file, std::ios::binary) << bytes;
        return message_of([&] { (void)runtime().load(file); });
    }
    [[nodiscard]] std::string changed(size_t at, const void *value, size_t size) const {
        return changed(bytes_, at, value, size);
    }
};

} // namespace test
