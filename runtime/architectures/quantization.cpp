#include "architectures/quantization.hpp"

#include "architectures/assemble.hpp"
#include "base/utf8.hpp"
#include "model/bitsandbytes.hpp"
#include "model/fp8.hpp"
#include "model/quantized_layouts.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

namespace lamina::architectures {

// How matrices of a method are found and read.
class Quantization::Method {
  public:
    // A matrix of integers with scales, or one that is made already.
    using Matrix = std::variant<model::QuantizedMatrix, model::Weight>;
    struct Kind {
        std::string mark;                                       // the tensor that every such module has: "qweight"
        std::vector<std::string> others;                        // its other tensors, which are used up
        std::function<bool(const model::StoredTensor &)> is_it; // null: any tensor of the name is
        std::function<Matrix(const model::Weights &file, const std::string &module)> read;
    };

    std::string name; // of the method
    std::vector<Kind> kinds;
    std::string more{}; // at the end of the note
};

namespace {

using Method = Quantization::Method;
using model::StoredTensor;
using model::Weights;

constexpr const char *quantization_key = "quantization_config";

[[noreturn]] void refuse_method(const Config &whole, const std::string &method) {
    whole.fail(quantization_key,
               "the weights are quantized by " + method +
                   ", which is not supported; supported: fp8, fbgemm_fp8, gptq, awq, compressed-tensors and "
                   "bitsandbytes. Take "
                   "the model that they were made from ('lamina convert --weights q8_0' makes it smaller), or a "
                   "GGUF file of it");
}

std::string lower(std::string text) {
    for (char &c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}

void expect_one_of(const Config &how, const char *setting, const std::vector<std::string> &known) {
    const std::string found = lower(how.text(setting, known.front()));
    std::string list;
    for (const std::string &each : known) list += (list.empty() ? "" : ", ") + each;
    if (std::ranges::find(known, found) == known.end())
        how.fail(setting, in_quotes(found) + " is not supported; supported: " + list);
}

// -1: all columns of a row share a scale.
int64_t group_size(JsonView value) { return value.integer(-1, INT32_MAX); }
int64_t group_size(const Config &how) {
    const auto value = how.find("group_size");
    const int64_t size = value ? group_size(*value) : -1;
    if (size == 0) how.fail("group_size", "expected -1 or a number of values above 0, found 0");
    return size;
}

// A value that says nothing: null, {} or [].
bool is_nothing(JsonView value) {
    return value.is_null() || (value.is_object() && value.members().size() == 0) ||
           (value.is_list() && value.items().size() == 0);
}

// The dtype that transformers gives the model.
DType dtype_of_model(const Config &whole) {
    for (const char *name : {"dtype", "torch_dtype"}) {
        const JsonView root = whole.view();
        if (!root.has(name) || !root.at(name).is_string()) continue;
        if (root.at(name).string() == "bfloat16") return DType::bf16;
        if (root.at(name).string() == "float16") return DType::f16;
    }
    return DType::f32;
}

// Of a method that makes activations smaller, too.
constexpr auto of_plain_activations = "; activations, which the method also quantizes, are left as they are";

bool is_fp8(const StoredTensor &stored) { return stored.dtype == "F8_E4M3"; }
bool is_bytes(const StoredTensor &stored) { return stored.dtype == "I8"; }
bool is_unsigned_bytes(const StoredTensor &stored) { return stored.dtype == "U8"; }

Method gptq(const Config &how) {
    const int64_t bits = how.find("bits") ? how.find("bits")->integer(1, 32) : 4;
    if (bits != 2 && bits != 3 && bits != 4 && bits != 8)
        how.fail("bits", std::to_string(bits) + " is not supported; supported: 2, 3, 4 and 8");
    const char *format = how.has("checkpoint_format") ? "checkpoint_format" : "format"; // its newer name
    expect_one_of(how, format, {"gptq", "gptq_v2"});
    expect_one_of(how, "pack_dtype", {"int32"});
    how.expect("is_marlin_format", false);
    if (const auto dynamic = how.find("dynamic"); dynamic && !is_nothing(*dynamic))
        for (const JsonView rule : dynamic->members()) // those that begin with "-" say what is not quantized
            if (!rule.key().starts_with("-"))
                rule.fail("modules with settings of their own are not supported; expected the same for all");
    const model::Gptq settings{.bits = static_cast<int>(bits),
                               .group = group_size(how),
                               .zeros_less_one = lower(how.text(format, "gptq")) == "gptq"};
    return {"gptq",
            {{"qweight", {"qzeros", "scales", "g_idx"}, {}, [=](const Weights &file, const std::string &module) {
                  return Method::Matrix(model::gptq_matrix(file, module, settings));
              }}}};
}

Method awq(const Config &how) {
    if (how.find("bits") && how.find("bits")->integer(1, 32) != 4) how.fail("bits", "only 4 is supported for awq");
    for (const char *layout : {"version", "format", "checkpoint_format"}) expect_one_of(how, layout, {"gemm"});
    expect_one_of(how, "backend", {"autoawq"});
    return {"awq",
            {{"qweight",
              {"qzeros", "scales"},
              {},
              [size = group_size(how)](const Weights &file, const std::string &module) {
                  return Method::Matrix(model::awq_matrix(file, module, size));
              }}}};
}

// The scale in files of transformers, or in those of AutoFP8 (github.com/neuralmagic/AutoFP8), which vLLM reads.
std::string scale_of_fp8(const Weights &file, const std::string &module) {
    const std::string older = module + ".weight_scale", name = older + "_inv";
    return !file.entries().contains(name) && file.entries().contains(older) ? older : name;
}

// transformers, finegrained_fp8.py: the product in f32, in the dtype of the model.
Method fp8(const Config &how, DType dtype) {
    expect_one_of(how, "fmt", {"e4m3"});
    std::optional<model::Fp8::Block> block;
    if (const auto sizes = how.find("weight_block_size"))
        block = {sizes->at(size_t{0}).integer(1, INT32_MAX), sizes->at(size_t{1}).integer(1, INT32_MAX)};
    return {"fp8",
            {{"weight",
              {"weight_scale_inv", "weight_scale", "activation_scale", "input_scale"},
              is_fp8,
              [=](const Weights &file, const std::string &module) {
                  return Method::Matrix(model::fp8_matrix(
                      file, module + ".weight", {.scale = scale_of_fp8(file, module), .block = block, .dtype = dtype}));
              }}},
            of_plain_activations};
}

// Its scales are one for each row; the product has the dtype of the scales, or if that is f32, of the model.
DType dtype_of_product(const Weights &file, const std::string &scale, DType of_model) {
    const std::string dtype = model::stored_at(file, scale).dtype;
    return dtype == "BF16" ? DType::bf16 : dtype == "F16" ? DType::f16 : of_model;
}

Method::Kind fp8_of_compressed_tensors(DType dtype, std::optional<model::Fp8::Block> block,
                                       std::vector<std::string> around) {
    return {"weight", std::move(around), is_fp8, [=](const Weights &file, const std::string &module) {
                const std::string scale = module + ".weight_scale";
                return Method::Matrix(
                    model::fp8_matrix(file, module + ".weight",
                                      {.scale = scale, .block = block, .dtype = dtype_of_product(file, scale, dtype)}));
            }};
}

Method compressed_tensors(const Config &how, DType dtype) {
    expect_one_of(
        how, "format",
        {"pack-quantized", "int-quantized", "float-quantized", "naive-quantized", "mixed-precision", "dense"});
    for (const char *name : {"transform_config", "sparsity_config"})
        if (const auto value = how.find(name); value && !is_nothing(*value))
            if (!value->has("format") || value->at("format").string() != "dense")
                value->fail("is not supported; expected null");
    model::PackedGroups groups;
    std::optional<model::Fp8::Block> block;
    bool of_activations = false;
    const auto list = how.find("config_groups");
    if (!list) how.fail("config_groups", "is missing: expected how the weights are quantized");
    for (const JsonView group : list->members()) {
        of_activations = of_activations || group.has("input_activations");
        if (!group.has("weights")) continue;
        const JsonView weights = group.at("weights");
        const int64_t bits = weights.at("num_bits").integer(1, 32);
        const bool is_float = weights.has("type") && weights.at("type").string() == "float";
        if (is_float ? bits != 8 : bits != 2 && bits != 4 && bits != 8)
            weights.at("num_bits")
                .fail(std::to_string(bits) + " bits are not supported; supported: 2, 4 and 8, or of floats 8");
        if (!is_float) groups.bits.push_back(static_cast<int>(bits));
        if (weights.has("group_size")) groups.groups.push_back(group_size(weights.at("group_size")));
        if (weights.has("block_structure") && weights.at("block_structure").is_list())
            block = {weights.at("block_structure").at(size_t{0}).integer(1, INT32_MAX),
                     weights.at("block_structure").at(size_t{1}).integer(1, INT32_MAX)};
    }
    const std::vector<std::string> around{"weight_scale",     "weight_zero_point", "weight_g_idx",     "input_scale",
                                          "input_zero_point", "output_scale",      "output_zero_point"};
    std::vector<std::string> around_packed = around;
    around_packed.emplace_back("weight_shape");
    return {"compressed-tensors",
            {{"weight_packed",
              around_packed,
              {},
              [=](const Weights &file, const std::string &module) {
                  return Method::Matrix(model::packed_matrix(file, module, groups));
              }},
             {"weight", around, is_bytes,
              [=](const Weights &file, const std::string &module) {
                  return Method::Matrix(model::byte_matrix(file, module, groups));
              }},
             fp8_of_compressed_tensors(dtype, block, around)},
            of_activations ? of_plain_activations : ""};
}

Method bitsandbytes(DType dtype) {
    return {"bitsandbytes",
            {{"weight",
              {"weight.absmax", "weight.quant_map", "weight.nested_absmax", "weight.nested_quant_map",
               "weight.quant_state.bitsandbytes__nf4", "weight.quant_state.bitsandbytes__fp4"},
              is_unsigned_bytes,
              [](const Weights &file, const std::string &module) {
                  return Method::Matrix(model::four_bit_matrix(file, module));
              }},
             {"weight", {"SCB", "weight_format"}, is_bytes, [=](const Weights &file, const std::string &module) {
                  return Method::Matrix(model::eight_bit_matrix(file, module, dtype));
              }}}};
}

// Tensors of caches in fewer bits, which Lamina does not need.
bool is_of_cache(std::string_view name) {
    return name.ends_with("_proj.output_scale") || name.ends_with(".k_scale") || name.ends_with(".v_scale") ||
           name.ends_with(".kv_scale");
}

struct Found {
    std::string name; // MODULE.weight
    Method::Matrix matrix;
};

std::vector<Found> find_matrices(const Method &method, const Weights &file, std::set<std::string> &used) {
    std::vector<std::string> names;
    for (const auto &[name, weight] : file.entries()) names.push_back(name);
    for (const auto &[name, tensor] : file.others()) names.push_back(name);
    std::vector<Found> out;
    for (const std::string &name : names)
        for (const Method::Kind &kind : method.kinds) {
            if (!name.ends_with("." + kind.mark)) continue;
            if (kind.is_it && !kind.is_it(model::stored_at(file, name))) continue;
            const std::string module = name.substr(0, name.size() - kind.mark.size() - 1);
            out.push_back({module + ".weight", kind.read(file, module)});
            used.insert(name);
            for (const std::string &other : kind.others) used.insert(module + "." + other);
            break;
        }
    return out;
}

} // namespace

Quantization Quantization::of(const Config &whole, const Description *description) {
    Quantization out;
    const std::optional<Config> how = whole.object(quantization_key);
    if (!how) return out;
    const std::string method = lower(how->text("quant_method", "a method that it does not name"));
    const Architecture &architecture = architecture_of(whole.text("model_type"), whole, description);
    if (!architecture.quantized.empty() && method == architecture.quantized) return out;
    if (architecture.transposed)
        whole.fail(quantization_key,
                   "quantized weights of this model_type are not supported, because its matrices are transposed: "
                   "take the model that they were made from");
    const DType dtype = dtype_of_model(whole);
    if (method == "gptq")
        out.method_ = std::make_shared<const Method>(gptq(*how));
    else if (method == "awq")
        out.method_ = std::make_shared<const Method>(awq(*how));
    else if (method == "fp8")
        out.method_ = std::make_shared<const Method>(fp8(*how, dtype));
    else if (method == "fbgemm_fp8")
        out.method_ = std::make_shared<const Method>(
            Method{"fbgemm_fp8", {fp8_of_compressed_tensors(dtype, {}, {"weight_scale", "input_scale_ub"})}});
    else if (method == "compressed-tensors")
        out.method_ = std::make_shared<const Method>(compressed_tensors(*how, dtype));
    else if (method == "bitsandbytes")
        out.method_ = std::make_shared<const Method>(bitsandbytes(dtype));
    else
        refuse_method(whole, method);
    return out;
}

std::set<std::string, std::less<>> Quantization::zero_biases(const Weights &weights) const {
    std::set<std::string, std::less<>> out;
    for (const auto &[name, bias] : weights.entries()) {
        constexpr std::string_view end = ".bias";
        if (method_ == nullptr || !name.ends_with(end)) continue;
        const auto matrix = weights.entries().find(name.substr(0, name.size() - end.size()) + ".weight");
        if (matrix == weights.entries().end() || matrix->second.bytes_to_copy() == 0) continue; // it was not quantized
        if (std::ranges::all_of(bias.bytes(), [](std::byte byte) { return byte == std::byte{0}; })) out.insert(name);
    }
    return out;
}

Weights Quantization::read(const Weights &file) {
    if (method_ == nullptr) return file;
    std::set<std::string> used;
    const std::vector<Found> found = find_matrices(*method_, file, used);
    // Matrices of the same size have the same dtype, so that those of experts can be stacked.
    std::map<std::pair<int64_t, int64_t>, DType> dtypes;
    for (const Found &each : found)
        if (const auto *matrix = std::get_if<model::QuantizedMatrix>(&each.matrix)) {
            const DType dtype = model::smallest_dtype(*matrix);
            const auto [at, is_new] = dtypes.try_emplace({matrix->rows, matrix->columns}, dtype);
            if (!is_new) at->second = model::wider_dtype(at->second, dtype);
        }
    Weights out(file.file());
    std::map<std::string, size_t> counts; // of matrices, by dtype
    for (const Found &each : found) {
        const auto *matrix = std::get_if<model::QuantizedMatrix>(&each.matrix);
        const model::Weight weight = matrix == nullptr
                                         ? std::get<model::Weight>(each.matrix)
                                         : model::repacked(*matrix, dtypes.at({matrix->rows, matrix->columns}));
        ++counts[name_of(weight.type.dtype)];
        out.add(each.name, weight);
    }
    for (const auto &[name, weight] : file.entries())
        if (!used.contains(name) && !is_of_cache(name)) out.add(name, weight);
    for (const auto &[name, tensor] : file.others())
        if (!used.contains(name) && !is_of_cache(name)) out.add_other(name, tensor);
    for (const auto &[dtype, count] : counts)
        note_ += (note_.empty() ? "" : ", ") + std::to_string(count) + " as " + dtype;
    if (!note_.empty()) note_ = "matrices quantized by " + method_->name + " are read: " + note_ + method_->more;
    return out;
}

} // namespace lamina::architectures
