#include "model/safetensors_header.hpp"

#include "base/json_reader.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <tuple>

namespace lamina::model {
namespace {

constexpr const char *metadata_key = "__metadata__";
constexpr int64_t largest = std::numeric_limits<int64_t>::max();

struct Format {
    const char *name;
    uint64_t bits;
};
constexpr std::array formats{
    Format{"BOOL", 8},    Format{"F4", 4},          Format{"F6_E2M3", 6},     Format{"F6_E3M2", 6},
    Format{"U8", 8},      Format{"I8", 8},          Format{"F8_E5M2", 8},     Format{"F8_E4M3", 8},
    Format{"F8_E8M0", 8}, Format{"F8_E4M3FNUZ", 8}, Format{"F8_E5M2FNUZ", 8}, Format{"I16", 16},
    Format{"U16", 16},    Format{"F16", 16},        Format{"BF16", 16},       Format{"I32", 32},
    Format{"U32", 32},    Format{"F32", 32},        Format{"C64", 64},        Format{"F64", 64},
    Format{"I64", 64},    Format{"U64", 64}};

uint64_t bits_of(JsonView dtype) {
    for (const Format &each : formats)
        if (dtype.string() == each.name) return each.bits;
    dtype.fail("the safetensors format has no dtype " + in_quotes(dtype.string()));
}

Shape shape_of(JsonView list) {
    Shape shape;
    for (const JsonView dim : list.items()) shape.push_back(dim.integer(0, largest));
    return shape;
}

// The bytes of a tensor. Products are checked, so that an overflowing shape does not look like a small one.
uint64_t bytes_of(const Shape &shape, uint64_t bits, JsonView place) {
    uint64_t product = 1;
    const auto multiply = [&](uint64_t by) {
        if (__builtin_mul_overflow(product, by, &product) || product > static_cast<uint64_t>(largest))
            place.fail("the shape " + printable(to_string(shape)) + " overflows 64 bits");
    };
    for (const int64_t dim : shape) multiply(static_cast<uint64_t>(dim));
    multiply(bits);
    if (product % 8 != 0) place.fail("its " + std::to_string(product) + " bits do not fill whole bytes");
    return product / 8;
}

SafetensorsHeader::Tensor read_tensor(JsonView info) {
    SafetensorsHeader::Tensor tensor;
    tensor.name = info.key();
    tensor.dtype = info.at("dtype").string();
    tensor.shape = shape_of(info.at("shape"));
    const uint64_t bytes = bytes_of(tensor.shape, bits_of(info.at("dtype")), info.at("shape"));

    const JsonView offsets = info.at("data_offsets");
    if (offsets.items().size() != 2) offsets.fail("expected [begin, end], found " + offsets.description());
    const int64_t begin = offsets.at(0).integer(0, largest), end = offsets.at(1).integer(0, largest);
    if (end < begin)
        offsets.fail("the end, " + std::to_string(end) + ", is before the begin, " + std::to_string(begin));
    tensor.begin = static_cast<uint64_t>(begin), tensor.end = static_cast<uint64_t>(end);
    if (tensor.end - tensor.begin != bytes)
        offsets.fail("expected " + std::to_string(bytes) + " bytes for " + tensor.dtype + " " +
                     printable(to_string(tensor.shape)) + ", found " + std::to_string(tensor.end - tensor.begin));
    return tensor;
}

// Sorts the tensors by their data, which must fill the rest of the file: no holes, no overlaps, nothing left.
void check_coverage(std::vector<SafetensorsHeader::Tensor> &tensors, uint64_t data_bytes, const std::string &file) {
    const auto order = [](const auto &a, const auto &b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); };
    std::stable_sort(tensors.begin(), tensors.end(), order);
    uint64_t covered = 0;
    for (const auto &tensor : tensors) {
        if (tensor.begin != covered)
            throw Error(ErrorCode::input, file + ": tensor " + in_quotes(tensor.name) + " begins at byte " +
                                              std::to_string(tensor.begin) + "; expected " + std::to_string(covered) +
                                              ", where the tensor before it ends");
        covered = tensor.end;
    }
    if (covered != data_bytes)
        throw Error(ErrorCode::input, file + ": the header describes " + std::to_string(covered) +
                                          " bytes of data; the file has " + std::to_string(data_bytes) +
                                          (covered > data_bytes ? " (cut short?)" : ""));
}

} // namespace

SafetensorsHeader SafetensorsHeader::parse(std::string_view text, uint64_t data_bytes, const std::string &file) {
    if (!text.starts_with('{'))
        throw Error(ErrorCode::input, file + ": not a safetensors file: its header begins with " +
                                          in_quotes(text.substr(0, 1)) + "; expected '{'");
    const JsonText document(text, file);
    SafetensorsHeader header;
    for (const JsonView value : document.root().members()) {
        if (value.key() != metadata_key) {
            header.tensors.push_back(read_tensor(value));
            continue;
        }
        for (const JsonView note : value.members()) header.metadata.emplace(note.key(), note.string());
    }
    check_coverage(header.tensors, data_bytes, file);
    return header;
}

} // namespace lamina::model
