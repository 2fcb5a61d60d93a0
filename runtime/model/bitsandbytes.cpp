#include "model/bitsandbytes.hpp"

#include "base/json_reader.hpp"
#include "base/parallel.hpp"
#include "base/processor.hpp"
#include "base/utf8.hpp"
#include "model/quantized_matrix.hpp"

#include <array>
#include <cstring>
#include <vector>

namespace lamina::model {
namespace {

// Numbers of f32 in a tensor, which may be unaligned.
class Floats {
  public:
    explicit Floats(Weight weight) : weight_(std::move(weight)) {}
    [[nodiscard]] float operator[](int64_t i) const {
        float out = 0;
        std::memcpy(&out, weight_.bytes().data() + static_cast<size_t>(i) * sizeof out, sizeof out);
        return out;
    }
    [[nodiscard]] const Weight &weight() const { return weight_; }

  private:
    Weight weight_;
};

Floats floats_at(const Weights &weights, const std::string &name, int64_t count) {
    return Floats(stored_at(weights, name, {"F32"}, {count}).weight);
}

// What the JSON says.
struct FourBits {
    int64_t rows, columns, block, nested_block = 0; // nested_block: 0: factors are f32
    double offset = 0;
    DType dtype;
};

FourBits four_bits(const Weights &weights, const std::string &name) {
    const StoredTensor stored = stored_at(weights, name);
    if (stored.dtype != "U8" || stored.shape.size() != 1)
        refuse_stored(weights, name, "expected the bytes of a JSON text");
    const std::span<const std::byte> bytes = stored.weight.bytes();
    const JsonText document({reinterpret_cast<const char *>(bytes.data()), bytes.size()},
                            weights.file().string() + ": " + in_quotes(name));
    const JsonView root = document.root(), shape = root.at("shape");
    if (shape.items().size() != 2) shape.fail("expected the sizes of a matrix, found " + shape.description());
    FourBits out{.rows = shape.at(size_t{0}).integer(1, INT32_MAX),
                 .columns = shape.at(size_t{1}).integer(1, INT32_MAX),
                 .block = root.at("blocksize").integer(1, INT32_MAX),
                 .dtype = DType::f32};
    const std::string_view dtype = root.at("dtype").string();
    if (dtype == "bfloat16")
        out.dtype = DType::bf16;
    else if (dtype == "float16")
        out.dtype = DType::f16;
    else if (dtype != "float32")
        root.at("dtype").fail(in_quotes(std::string(dtype)) +
                              " is not supported; supported: float32, float16, bfloat16");
    if (root.has("nested_blocksize")) {
        out.nested_block = root.at("nested_blocksize").integer(1, INT32_MAX);
        out.offset = root.at("nested_offset").number();
    }
    return out;
}

// Writes rows in f32, in parallel, and rounds them to the dtype.
template <class Row>
void fill_rows(int64_t rows, int64_t columns, DType dtype, std::span<std::byte> out, const Row &row_of) {
    const plugin::StorageType &storage = storage_of(dtype);
    in_parallel(static_cast<size_t>(rows), cores(), [&](size_t row, size_t /*thread*/) {
        std::vector<float> numbers(static_cast<size_t>(columns));
        row_of(static_cast<int64_t>(row), numbers);
        storage.narrow(numbers.data(), columns, out.data() + row * static_cast<size_t>(storage.row_bytes(columns)));
    });
}

} // namespace

Weight four_bit_matrix(const Weights &weights, const std::string &module) {
    const std::string name = module + ".weight", state = name + ".quant_state.bitsandbytes__";
    const FourBits how = four_bits(weights, state + (has_stored(weights, state + "fp4") ? "fp4" : "nf4"));
    const int64_t count = how.rows * how.columns, blocks = (count + how.block - 1) / how.block;
    const StoredTensor found = stored_at(weights, name);
    const StoredTensor codes = stored_at(weights, name, {"U8"}, found.shape);
    if (element_count(codes.shape) != (count + 1) / 2)
        refuse_stored(weights, name,
                      "expected " + std::to_string((count + 1) / 2) + " bytes for a matrix of " +
                          to_string({how.rows, how.columns}) + ", found " + to_string(codes.shape));
    const Floats numbers = floats_at(weights, name + ".quant_map", 16);
    std::vector<Weight> parts{codes.weight, numbers.weight()};
    std::function<float(int64_t block)> factor;
    if (how.nested_block == 0) {
        const Floats factors = floats_at(weights, name + ".absmax", blocks);
        parts.push_back(factors.weight());
        factor = [factors](int64_t block) { return factors[block]; };
    } else {
        const StoredTensor steps = stored_at(weights, name + ".absmax", {"U8"}, {blocks});
        const Floats table = floats_at(weights, name + ".nested_quant_map", 256),
                     factors = floats_at(weights, name + ".nested_absmax",
                                         (blocks + how.nested_block - 1) / how.nested_block);
        for (const Weight &part : {steps.weight, table.weight(), factors.weight()}) parts.push_back(part);
        factor = [=, bytes = steps.weight, offset = static_cast<float>(how.offset)](int64_t block) {
            const auto step = static_cast<uint8_t>(bytes.bytes()[static_cast<size_t>(block)]);
            return table[step] * factors[block / how.nested_block] + offset;
        };
    }
    return Weight::made_of({how.dtype, {how.rows, how.columns}}, std::move(parts), [=](std::span<std::byte> out) {
        const std::span<const std::byte> bytes = codes.weight.bytes();
        fill_rows(how.rows, how.columns, how.dtype, out, [&](int64_t row, std::span<float> to) {
            int64_t block = -1;
            float times = 0;
            for (size_t i = 0; i < to.size(); ++i) {
                const int64_t place = row * how.columns + static_cast<int64_t>(i);
                if (place / how.block != block) times = factor(block = place / how.block);
                const auto both = static_cast<uint32_t>(bytes[static_cast<size_t>(place / 2)]);
                to[i] = numbers[place % 2 == 0 ? both >> 4U : both & 15U] * times;
            }
        });
    });
}

Weight eight_bit_matrix(const Weights &weights, const std::string &module, DType dtype) {
    constexpr float one_of_127 = 7.874015718698502e-3F;
    const std::string name = module + ".weight", order = module + ".weight_format";
    const Shape shape = stored_at(weights, name).shape;
    if (shape.size() != 2) refuse_stored(weights, name, "expected a matrix, found the shape " + to_string(shape));
    const StoredTensor codes = stored_at(weights, name, {"I8"}, shape);
    const Floats factors = floats_at(weights, module + ".SCB", shape[0]);
    if (has_stored(weights, order)) // 0: row by row
        for (const std::byte byte : stored_at(weights, order).weight.bytes())
            if (byte != std::byte{0}) refuse_stored(weights, order, "expected 0, rows one after the other");
    return Weight::made_of({dtype, shape}, {codes.weight, factors.weight()}, [=](std::span<std::byte> out) {
        const std::span<const std::byte> bytes = codes.weight.bytes();
        fill_rows(shape[0], shape[1], dtype, out, [&](int64_t row, std::span<float> to) {
            const float factor = factors[row];
            for (size_t i = 0; i < to.size(); ++i) {
                const auto code = static_cast<int8_t>(bytes[static_cast<size_t>(row) * to.size() + i]);
                to[i] = static_cast<float>(code) * factor * one_of_127;
            }
        });
    });
}

} // namespace lamina::model
