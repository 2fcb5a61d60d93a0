// GGUF files of tiny models with other bytes in them.
#pragma once

#include "catch.hpp"
#include "folders.hpp"

#include <lamina/tensor.hpp>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace test {

inline std::string bytes_of(const std::filesystem::path &file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

template <class Number> std::string number_in_gguf(Number value) {
    return {reinterpret_cast<const char *>(&value), sizeof value};
}

// Of metadata, with the type of its value (ggml, docs/gguf.md).
inline std::string entry_in_gguf(const std::string &key, uint32_t type, const std::string &value) {
    return number_in_gguf(uint64_t{key.size()}) + key + number_in_gguf(type) + value;
}

// Adds entries to the metadata of a file, of which `removed` bytes are missing by now, and a note that is so long that
// tensors stay where they may begin.
inline void add_entries(std::string &bytes, std::string entries, uint64_t count, size_t removed) {
    constexpr size_t first = 24, keys = 16, alignment = 32; // of the metadata; of their number; of tensors
    constexpr uint32_t text = 8;
    const auto note = [&](size_t length) {
        return entry_in_gguf("general.note", text, number_in_gguf(uint64_t{length}) + std::string(length, '-'));
    };
    const size_t added = entries.size() + note(0).size();
    entries += note((alignment - added % alignment + removed) % alignment);
    bytes.insert(first, entries);
    uint64_t before = 0;
    std::memcpy(&before, bytes.data() + keys, sizeof before);
    count += before + 1;
    std::memcpy(bytes.data() + keys, &count, sizeof count);
}

inline void add_key(std::string &bytes, const std::string &key, uint32_t type, const std::string &value) {
    add_entries(bytes, entry_in_gguf(key, type, value), 1, 0);
}

// The same file as ggml writes it, without leading sizes of 1. Returns how many tensors have others now.
inline size_t leave_out_ones(std::string &bytes, const std::map<std::string, lamina::Shape> &shapes) {
    size_t count = 0, removed = 0;
    for (const auto &[name, shape] : shapes) {
        const auto dims = static_cast<uint32_t>(shape.size());
        uint32_t left = dims;
        while (left > 1 && shape[dims - left] == 1) --left;
        if (left == dims) continue;
        const std::string begin = number_in_gguf(uint64_t{name.size()}) + name;
        const size_t at = bytes.find(begin + number_in_gguf(dims));
        REQUIRE(at != std::string::npos);
        const size_t size = (dims - left) * sizeof(uint64_t), sizes = at + begin.size() + sizeof dims;
        std::memcpy(bytes.data() + at + begin.size(), &left, sizeof left);
        bytes.erase(sizes + left * sizeof(uint64_t), size); // the innermost size comes first
        removed += size;
        ++count;
    }
    add_entries(bytes, "", 0, removed);
    return count;
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

    // The same for a tensor, which then has another name.
    [[nodiscard]] std::string without_tensor(const std::string &name) const {
        const size_t at = bytes_.find(number_in_gguf(uint64_t{name.size()}) + name);
        REQUIRE(at != std::string::npos);
        return changed(at + sizeof(uint64_t), "X", 1);
    }
    // The same with another key.
    [[nodiscard]] std::string with_key(const std::string &key, float value) const {
        std::string bytes = bytes_;
        constexpr uint32_t f32 = 6;
        add_key(bytes, key, f32, number_in_gguf(value));
        return message_of_file(bytes);
    }
    [[nodiscard]] std::string with_key(const std::string &key, uint32_t value) const {
        std::string bytes = bytes_;
        constexpr uint32_t u32 = 4;
        add_key(bytes, key, u32, number_in_gguf(value));
        return message_of_file(bytes);
    }

  private:
    std::string bytes_;

    [[nodiscard]] static std::string changed(std::string bytes, size_t at, const void *value, size_t size) {
        std::memcpy(bytes.data() + at, value, size);
        return message_of_file(bytes);
    }
    [[nodiscard]] static std::string message_of_file(const std::string &bytes) {
        const TemporaryFolder folder;
        const std::filesystem::path file = folder.path() / "model.gguf";
        std::ofstream(file, std::ios::binary) << bytes;
        return message_of([&] { (void)runtime().load(file); });
    }
    [[nodiscard]] std::string changed(size_t at, const void *value, size_t size) const {
        return changed(bytes_, at, value, size);
    }
};

} // namespace test
