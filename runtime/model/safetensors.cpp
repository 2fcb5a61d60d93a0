#include "model/safetensors.hpp"

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/lfs_pointer.hpp"
#include "base/mapped_file.hpp"
#include "base/utf8.hpp"
#include "model/safetensors_header.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

namespace lamina::model {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and its bytes are used as they are");

constexpr uint64_t length_bytes = 8; // the u64 before the header
constexpr uint64_t longest_header = 100'000'000;

[[noreturn]] void refuse(const std::string &file, const std::string &why) {
    throw Error(ErrorCode::input, file + ": " + why);
}

std::string_view header_text(std::span<const std::byte> bytes, const std::string &file) {
    if (bytes.size() < length_bytes)
        refuse(file, "not a safetensors file: " + std::to_string(bytes.size()) +
                         " bytes; expected 8 for the header's length, then the header");
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    const std::string claim = "not a safetensors file: its header would be " + std::to_string(length) + " bytes; ";
    if (length > longest_header) refuse(file, claim + "the limit is " + std::to_string(longest_header));
    if (length > bytes.size() - length_bytes)
        refuse(file, claim + "the file has " + std::to_string(bytes.size() - length_bytes) + " (cut short?)");
    return {reinterpret_cast<const char *>(bytes.data()) + length_bytes, static_cast<size_t>(length)};
}

// ---- The dtypes that layers take ----
//
// The format has no blocks of values. A tensor in blocks is stored as U8 of shape (..., blocks per row, bytes per
// block), and the metadata hold its dtype: "NAME.dtype": "q8_0".

std::string note_of(const std::string &tensor) { return tensor + ".dtype"; }

const plugin::StorageType *block_type(std::string_view name) {
    for (const plugin::StorageType &type : plugin::storage_types)
        if (type.in_blocks() && name == type.name) return &type;
    return nullptr;
}

// (..., K / 32, 34) as (..., K).
Shape shape_of_values(const SafetensorsHeader::Tensor &tensor, const plugin::StorageType &type,
                      const std::string &file) {
    Shape shape = tensor.shape;
    if (tensor.dtype != type.safetensors || shape.size() < 2 || shape.back() != type.block_bytes)
        refuse(file, "tensor " + in_quotes(tensor.name) + " is " + type.name + " by the metadata: expected " +
                         type.safetensors + " of shape (..., blocks per row, " + std::to_string(type.block_bytes) +
                         "), found " + tensor.dtype + " " + printable(to_string(tensor.shape)));
    shape.pop_back();
    if (__builtin_mul_overflow(shape.back(), type.block_values, &shape.back()))
        refuse(file, "tensor " + in_quotes(tensor.name) + ": the shape overflows 64 bits");
    return shape;
}

Shape shape_in_file(const TensorType &tensor) {
    Shape shape = tensor.shape;
    const plugin::StorageType &type = storage_of(tensor.dtype);
    if (!type.in_blocks()) return shape;
    shape.back() /= type.block_values;
    shape.push_back(type.block_bytes);
    return shape;
}

// Nothing if no layer takes the dtype.
std::optional<TensorType> type_of(const SafetensorsHeader::Tensor &tensor, const SafetensorsHeader &header,
                                  const std::string &file) {
    if (const auto note = header.metadata.find(note_of(tensor.name)); note != header.metadata.end())
        if (const auto *type = block_type(note->second))
            return TensorType{DType{type->dtype}, shape_of_values(tensor, *type, file)};
    for (const plugin::StorageType &type : plugin::storage_types)
        if (!type.in_blocks() && tensor.dtype == type.safetensors) return TensorType{DType{type.dtype}, tensor.shape};
    return std::nullopt;
}

} // namespace

Safetensors open_safetensors(const std::filesystem::path &file) {
    const MappedFile mapped = MappedFile::open(file);
    refuse_lfs_pointer(file, mapped.bytes);
    const std::string_view text = header_text(mapped.bytes, file.string());
    const std::span<const std::byte> data = mapped.bytes.subspan(length_bytes + text.size());
    SafetensorsHeader header = SafetensorsHeader::parse(text, data.size(), file.string());

    Safetensors out{Weights(file), {}};
    for (const auto &tensor : header.tensors) {
        if (auto type = type_of(tensor, header, file.string()))
            out.weights.add(tensor.name,
                            {std::move(*type), data.subspan(tensor.begin, tensor.end - tensor.begin), mapped.owner});
        else
            out.weights.add_other(tensor.name, {tensor.dtype, tensor.shape,
                                                data.subspan(tensor.begin, tensor.end - tensor.begin), mapped.owner});
    }
    out.metadata = std::move(header.metadata);
    return out;
}

void write_safetensors(const std::filesystem::path &file, const std::map<std::string, Tensor, std::less<>> &tensors,
                       const std::map<std::string, std::string, std::less<>> &metadata,
                       const std::function<void(size_t done, size_t all)> &progress) {
    // Wide elements first, as in the reference implementation. Together with the padded header this aligns every
    // tensor.
    std::vector<std::pair<const std::string *, const Tensor *>> order;
    for (const auto &[name, tensor] : tensors) order.emplace_back(&name, &tensor);
    const auto element_bytes = [](const auto &named) {
        const plugin::StorageType &type = storage_of(named.second->dtype());
        return type.in_blocks() ? 1 : type.block_bytes;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](const auto &a, const auto &b) { return element_bytes(a) > element_bytes(b); });

    Json header = Json::object();
    for (const auto &[key, note] : metadata) header["__metadata__"][key] = note;
    size_t end = 0;
    for (const auto &[name, tensor] : order) {
        if (*name == "__metadata__" || first_invalid_utf8(*name) != name->size())
            refuse(file.string(), "a tensor cannot be called " + in_quotes(*name));
        const size_t begin = end;
        end += tensor->bytes().size();
        const plugin::StorageType &type = storage_of(tensor->dtype());
        if (type.in_blocks()) header["__metadata__"][note_of(*name)] = type.name;
        header[*name] = {{"dtype", type.safetensors},
                         {"shape", shape_in_file(tensor->type())},
                         {"data_offsets", Json::array({begin, end})}};
    }
    std::string text = header.in_one_line();
    if (first_invalid_utf8(text) != text.size()) refuse(file.string(), "the metadata is not valid UTF-8");
    text.append((8 - text.size() % 8) % 8, ' ');

    const uint64_t length = text.size();
    FileWriter out(file); // tensor by tensor, because a copy of all would need as much memory as the model
    out.write(std::as_bytes(std::span(&length, 1)));
    out.write(text);
    for (size_t i = 0; i < order.size(); ++i) {
        out.write(order[i].second->bytes());
        if (progress) progress(i + 1, order.size());
    }
    out.commit();
}

} // namespace lamina::model
