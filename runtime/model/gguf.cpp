#include "model/gguf.hpp"

#include "base/lfs_pointer.hpp"
#include "base/mapped_file.hpp"
#include "base/utf8.hpp"
#include "model/codebooks.hpp"
#include "model/gguf_reader.hpp"
#include "model/mxfp4.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>

namespace lamina::model {
namespace {

constexpr uint64_t longest_key = 65535; // set by the format
constexpr uint64_t longest_tensor_name = 256;
constexpr uint32_t most_dims = 4;                                               // of GGML
constexpr uint64_t least_key = 8 + 1 + 4 + 1, least_tensor = 8 + 1 + 4 + 4 + 8; // minimum bytes of one

// ---- Metadata ----

GgufType read_type(GgufReader &reader) {
    const auto number = reader.integer<uint32_t>("type");
    if (number > static_cast<uint32_t>(GgufType::f64))
        reader.fail("expected a type from 0 to 12, found " + std::to_string(number));
    return GgufType{number};
}

void check_booleans(GgufReader &reader, std::span<const std::byte> values) {
    for (const std::byte b : values)
        if (b > std::byte{1})
            reader.fail("expected 0 or 1 for false or true, found " + std::to_string(static_cast<unsigned>(b)));
}

GgufValue read_value(GgufReader &reader) {
    GgufType type = read_type(reader);
    const bool list = type == GgufType::array;
    uint64_t count = 1;
    if (list) {
        type = read_type(reader);
        if (type == GgufType::array) reader.fail("a list of lists; expected numbers, truth values or strings");
        count = reader.integer<uint64_t>("number of elements");
    }
    if (type == GgufType::string) {
        // Checked before memory is reserved: the rest of the file must hold at least this many lengths.
        if (count > reader.rest() / sizeof(uint64_t)) reader.cut_short("strings");
        std::vector<std::string_view> strings;
        strings.reserve(count);
        for (uint64_t i = 0; i < count; ++i) strings.push_back(reader.string("string"));
        return {reader.place(), type, list, {}, std::move(strings)};
    }
    const auto bytes = reader.take(count, size_of(type), "values");
    if (type == GgufType::boolean) check_booleans(reader, bytes);
    return {reader.place(), type, list, bytes, {}};
}

void read_metadata(GgufReader &reader, uint64_t count, GgufMetadata &metadata) {
    for (uint64_t i = 0; i < count; ++i) {
        reader.place("metadata " + std::to_string(i));
        const std::string_view key = reader.name("key", longest_key);
        reader.place("metadata " + in_quotes(key));
        if (!metadata.add(key, read_value(reader))) reader.fail("a second value; expected each key once");
    }
}

uint64_t alignment_of(const GgufMetadata &metadata) {
    constexpr const char *key = "general.alignment";
    if (!metadata.has(key)) return 32;
    const int64_t alignment = metadata.at(key).integer(1, 1 << 30);
    if (!std::has_single_bit(static_cast<uint64_t>(alignment)))
        metadata.at(key).fail("expected a power of two, found " + std::to_string(alignment));
    return static_cast<uint64_t>(alignment);
}

// ---- Tensors ----

// The types of GGML by their numbers. Those named like a Lamina dtype are that dtype.
struct GgmlType {
    uint32_t number;
    const char *name;
    uint64_t block_values, block_bytes;
};
constexpr std::array ggml_types{
    GgmlType{0, "F32", 1, 4},         GgmlType{1, "F16", 1, 2},         GgmlType{2, "Q4_0", 32, 18},
    GgmlType{3, "Q4_1", 32, 20},      GgmlType{6, "Q5_0", 32, 22},      GgmlType{7, "Q5_1", 32, 24},
    GgmlType{8, "Q8_0", 32, 34},      GgmlType{9, "Q8_1", 32, 40},      GgmlType{10, "Q2_K", 256, 84},
    GgmlType{11, "Q3_K", 256, 110},   GgmlType{12, "Q4_K", 256, 144},   GgmlType{13, "Q5_K", 256, 176},
    GgmlType{14, "Q6_K", 256, 210},   GgmlType{15, "Q8_K", 256, 292},   GgmlType{16, "IQ2_XXS", 256, 66},
    GgmlType{17, "IQ2_XS", 256, 74},  GgmlType{18, "IQ3_XXS", 256, 98}, GgmlType{19, "IQ1_S", 256, 50},
    GgmlType{20, "IQ4_NL", 32, 18},   GgmlType{21, "IQ3_S", 256, 110},  GgmlType{22, "IQ2_S", 256, 82},
    GgmlType{23, "IQ4_XS", 256, 136}, GgmlType{24, "I8", 1, 1},         GgmlType{25, "I16", 1, 2},
    GgmlType{26, "I32", 1, 4},        GgmlType{27, "I64", 1, 8},        GgmlType{28, "F64", 1, 8},
    GgmlType{29, "IQ1_M", 256, 56},   GgmlType{30, "BF16", 1, 2},       GgmlType{34, "TQ1_0", 256, 54},
    GgmlType{35, "TQ2_0", 256, 66},   GgmlType{39, "MXFP4", 32, 17},    GgmlType{40, "NVFP4", 64, 36},
    GgmlType{41, "Q1_0", 128, 18},    GgmlType{42, "Q2_0", 64, 18}};

const plugin::StorageType *dtype_of(const GgmlType &type) {
    std::string lower = type.name;
    for (char &c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const plugin::StorageType &each : plugin::storage_types)
        if (lower == each.name) return &each;
    return nullptr;
}

struct GgufTensor {
    std::string name;
    Shape shape;
    const GgmlType *type = nullptr;
    uint64_t begin = 0, bytes = 0; // in the data
};

const GgmlType &read_ggml_type(GgufReader &reader) {
    const auto number = reader.integer<uint32_t>("type");
    for (const GgmlType &type : ggml_types)
        if (type.number == number) return type;
    reader.fail("unknown GGML type " + std::to_string(number));
}

Shape read_shape(GgufReader &reader) {
    const auto rank = reader.integer<uint32_t>("number of dims");
    if (rank > most_dims)
        reader.fail("expected at most " + std::to_string(most_dims) + " dims, found " + std::to_string(rank));
    Shape shape;
    for (uint32_t i = 0; i < rank; ++i) {
        const auto dim = reader.integer<uint64_t>("dim");
        if (dim > INT64_MAX) reader.fail("a dim of " + std::to_string(dim));
        shape.insert(shape.begin(), static_cast<int64_t>(dim)); // the file has the innermost first
    }
    return shape;
}

uint64_t bytes_of(const GgufTensor &tensor, const GgufReader &reader) {
    const auto row = static_cast<uint64_t>(tensor.shape.empty() ? 1 : tensor.shape.back());
    if (row % tensor.type->block_values != 0)
        reader.fail("shape " + to_string(tensor.shape) + " of " + tensor.type->name +
                    ": expected rows of a multiple of " + std::to_string(tensor.type->block_values) + " values");
    // Neither the number of values nor of bytes may overflow, even if one of the dims is 0.
    uint64_t values = 1, bytes = 0;
    bool fits = true, empty = false;
    for (const int64_t dim : tensor.shape) {
        empty = empty || dim == 0;
        const auto factor = static_cast<uint64_t>(std::max<int64_t>(dim, 1));
        fits = fits && !__builtin_mul_overflow(values, factor, &values) && values <= INT64_MAX;
    }
    fits = fits && !__builtin_mul_overflow(values / tensor.type->block_values, tensor.type->block_bytes, &bytes) &&
           bytes <= INT64_MAX;
    if (!fits) reader.fail("the shape " + to_string(tensor.shape) + " overflows 64 bits");
    return empty ? 0 : bytes;
}

std::vector<GgufTensor> read_tensors(GgufReader &reader, uint64_t count, uint64_t alignment) {
    std::vector<GgufTensor> tensors;
    for (uint64_t i = 0; i < count; ++i) {
        reader.place("tensor " + std::to_string(i));
        GgufTensor tensor;
        tensor.name = reader.name("name", longest_tensor_name);
        reader.place("tensor " + in_quotes(tensor.name));
        tensor.shape = read_shape(reader);
        tensor.type = &read_ggml_type(reader);
        tensor.begin = reader.integer<uint64_t>("offset");
        tensor.bytes = bytes_of(tensor, reader);
        if (tensor.begin % alignment != 0)
            reader.fail("expected an offset that is a multiple of " + std::to_string(alignment) + ", found " +
                        std::to_string(tensor.begin));
        tensors.push_back(std::move(tensor));
    }
    reader.place("");
    return tensors;
}

// Checks that every tensor is within the data, and that no two overlap.
void check_places(std::vector<GgufTensor> &tensors, uint64_t data_bytes, GgufReader &reader) {
    std::stable_sort(tensors.begin(), tensors.end(), [](const auto &a, const auto &b) { return a.begin < b.begin; });
    const GgufTensor *before = nullptr;
    for (const GgufTensor &tensor : tensors) {
        reader.place("tensor " + in_quotes(tensor.name));
        if (tensor.begin > data_bytes || tensor.bytes > data_bytes - tensor.begin) reader.cut_short("data");
        if (tensor.bytes == 0) continue;
        if (before != nullptr && before->begin + before->bytes > tensor.begin)
            reader.fail("begins at offset " + std::to_string(tensor.begin) + "; tensor " + in_quotes(before->name) +
                        " ends at " + std::to_string(before->begin + before->bytes));
        before = &tensor;
    }
}

void check_version(GgufReader &reader) {
    constexpr std::string_view magic = "GGUF";
    const auto found = reader.take(std::min<uint64_t>(magic.size(), reader.rest()), 1, "magic");
    const std::string_view text{reinterpret_cast<const char *>(found.data()), found.size()};
    if (text.size() < magic.size() && magic.starts_with(text)) reader.cut_short("the first bytes");
    if (text != magic) reader.fail("not a GGUF file: it begins with " + in_quotes(text) + "; expected 'GGUF'");
    const auto version = reader.integer<uint32_t>("version");
    if (version != 2 && version != 3)
        reader.fail("expected version 2 or 3 of GGUF, found " + std::to_string(version) +
                    (version != 0 && (version & 0xffffU) == 0 ? ": the file is big-endian; convert it" : ""));
}

// Refuses a count that is too large for the file, before memory is allocated for it.
uint64_t read_count(GgufReader &reader, const char *what, uint64_t least) {
    const auto count = reader.integer<uint64_t>(what);
    if (count > reader.rest() / least) reader.cut_short(what);
    return count;
}

} // namespace

Gguf open_gguf(const std::filesystem::path &file) {
    const MappedFile mapped = MappedFile::open(file);
    refuse_lfs_pointer(file, mapped.bytes);
    return parse_gguf(mapped.bytes, mapped.owner, file);
}

Gguf parse_gguf(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                const std::filesystem::path &file) {
    GgufReader reader(bytes, file.string());
    check_version(reader);
    const uint64_t n_tensors = read_count(reader, "tensors", least_tensor);
    Gguf out{GgufMetadata(file.string(), owner), Weights(file), read_count(reader, "metadata", least_key), {}};
    const uint64_t begin = reader.at();
    read_metadata(reader, out.n_metadata, out.metadata);
    out.metadata_bytes = bytes.subspan(begin, reader.at() - begin);
    const uint64_t alignment = alignment_of(out.metadata);
    std::vector<GgufTensor> tensors = read_tensors(reader, n_tensors, alignment);
    const uint64_t padding = (alignment - reader.at() % alignment) % alignment;
    const auto data = bytes.subspan(reader.at() + std::min(padding, reader.rest()));
    check_places(tensors, data.size(), reader);
    for (GgufTensor &tensor : tensors) {
        if (const plugin::StorageType *type = dtype_of(*tensor.type))
            out.weights.add(tensor.name, {TensorType{DType{type->dtype}, std::move(tensor.shape)},
                                          data.subspan(tensor.begin, tensor.bytes), owner});
        else if (const Codebook *codebook = codebook_of(tensor.type->name))
            out.weights.add(tensor.name,
                            by_codebook(*codebook, tensor.shape, data.subspan(tensor.begin, tensor.bytes), owner));
        else if (std::string_view(tensor.type->name) == "MXFP4")
            out.weights.add(tensor.name,
                            mxfp4_of_gguf(tensor.name, tensor.shape, data.subspan(tensor.begin, tensor.bytes), owner));
        else
            out.weights.add_other(tensor.name, {tensor.type->name, std::move(tensor.shape),
                                                data.subspan(tensor.begin, tensor.bytes), owner});
    }
    if (const Mapping *mapping = mapping_of(bytes)) expect_whole(*mapping);
    return out;
}

std::string metadata_file(const Gguf &gguf) {
    constexpr uint32_t version = 3;
    constexpr uint64_t no_tensors = 0;
    std::string out = "GGUF";
    const auto add = [&](const auto &value) { out.append(reinterpret_cast<const char *>(&value), sizeof value); };
    add(version), add(no_tensors), add(gguf.n_metadata);
    return out.append(reinterpret_cast<const char *>(gguf.metadata_bytes.data()), gguf.metadata_bytes.size());
}

} // namespace lamina::model
