#include "model/gguf_parts.hpp"

#include "base/utf8.hpp"

#include <algorithm>
#include <string>

namespace lamina::model {
namespace {

namespace fs = std::filesystem;

constexpr int64_t most_parts = 65535; // "split.count" has 16 bits
constexpr const char *number_key = "split.no", *count_key = "split.count", *tensors_key = "split.tensors.count";

// "-00002-of-00003.gguf", where `part` counts from 0.
std::string ending_of(int64_t part, int64_t count) {
    const auto five_digits = [](int64_t number) {
        const std::string digits = std::to_string(number);
        return std::string(5 - std::min<size_t>(digits.size(), 5), '0') + digits;
    };
    return "-" + five_digits(part + 1) + "-of-" + five_digits(count) + ".gguf";
}

size_t tensors_of(const Gguf &gguf) { return gguf.weights.entries().size() + gguf.weights.others().size(); }

void add(const Gguf &part, Gguf &to) {
    for (const auto &[name, weight] : part.weights.entries()) to.weights.add(name, weight);
    for (const auto &[name, other] : part.weights.others()) to.weights.add_other(name, other);
}

// Part `i` of `count`, which must say so.
Gguf open_part(const fs::path &file, int64_t i, int64_t count) {
    if (!fs::exists(file))
        throw Error(ErrorCode::input, file.string() + ": no such file; the model has " + std::to_string(count) +
                                          " parts, which must be in the same folder");
    Gguf part = open_gguf(file);
    const int64_t number = part.metadata.at(number_key).integer(0, most_parts),
                  of = part.metadata.at(count_key).integer(0, most_parts);
    if (number != i || of != count)
        throw Error(ErrorCode::input, file.string() + ": expected part " + std::to_string(i + 1) + " of " +
                                          std::to_string(count) + ", found " + std::to_string(number + 1) + " of " +
                                          std::to_string(of));
    return part;
}

} // namespace

Gguf open_gguf_in_parts(const fs::path &file) {
    Gguf first = open_gguf(file);
    if (!first.metadata.has(count_key)) return first;
    const int64_t count = first.metadata.at(count_key).integer(0, most_parts);
    if (count <= 1) return first;
    const std::string name = file.filename().string();
    const int64_t number = first.metadata.at(number_key).integer(0, most_parts);
    if (number >= count)
        first.metadata.at(number_key)
            .fail("expected a part below " + std::to_string(count) + ", found " + std::to_string(number));
    const std::string own = ending_of(number, count);
    if (!name.ends_with(own))
        throw Error(ErrorCode::input, file.string() + ": part " + std::to_string(number + 1) + " of a model in " +
                                          std::to_string(count) + " files; expected a name that ends with " + own +
                                          ", by which the others are found");
    const std::string stem = name.substr(0, name.size() - own.size());
    if (number != 0)
        throw Error(ErrorCode::input, file.string() + ": part " + std::to_string(number + 1) + " of a model in " +
                                          std::to_string(count) + " files; give the first, " +
                                          in_quotes(stem + ending_of(0, count)));
    for (int64_t i = 1; i < count; ++i)
        add(open_part(file.parent_path() / (stem + ending_of(i, count)), i, count), first);
    if (first.metadata.has(tensors_key)) {
        const int64_t expected = first.metadata.at(tensors_key).integer(0);
        if (static_cast<uint64_t>(expected) != tensors_of(first))
            first.metadata.at(tensors_key)
                .fail("expected " + std::to_string(expected) + " tensors in all parts, found " +
                      std::to_string(tensors_of(first)));
    }
    return first;
}

} // namespace lamina::model
