#include "open_inference.hpp"

#include "fields.hpp"

#include "base/binary_size.hpp"
#include "base/json_reader.hpp"
#include "base/nearest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <string_view>

namespace lamina::serve {
namespace {

static_assert(std::endian::native == std::endian::little); // as the protocol has raw tensors

struct Datatype {
    DType dtype;
    const char *name;
};
constexpr std::array datatypes{Datatype{DType::f32, "FP32"}, Datatype{DType::i32, "INT32"},
                               Datatype{DType::f16, "FP16"}, Datatype{DType::bf16, "BF16"}};

const char *datatype_of(DType dtype) {
    const auto found = std::ranges::find(datatypes, dtype, &Datatype::dtype);
    return found == datatypes.end() ? name_of(dtype) : found->name;
}

// ---- Requests ----

Shape shape_of(const JsonView &from) {
    Shape out;
    int64_t elements = 1;
    for (const JsonView dim : from.items()) {
        out.push_back(dim.integer(0, std::numeric_limits<int64_t>::max()));
        if (__builtin_mul_overflow(elements, out.back(), &elements) || elements > INT64_MAX / 8)
            from.fail("no tensor can have this shape");
    }
    return out;
}

// Numbers in lists, nested as the shape is or flat.
template <class T> void read_numbers(const JsonView &from, const JsonView &all, std::span<T> to, size_t &count) {
    for (const JsonView item : from.items()) {
        if (item.is_list()) {
            read_numbers(item, all, to, count);
            continue;
        }
        if (count == to.size()) all.fail("expected " + std::to_string(to.size()) + " values, as the shape says");
        if constexpr (std::is_same_v<T, int32_t>) {
            to[count++] = static_cast<int32_t>(item.integer(INT32_MIN, INT32_MAX));
        } else {
            to[count] = static_cast<float>(item.number());
            if (!std::isfinite(to[count++])) item.fail("expected a number that FP32 can hold");
        }
    }
}

size_t values_in(const JsonView &list) {
    size_t out = 0;
    for (const JsonView item : list.items()) out += item.is_list() ? values_in(item) : 1;
    return out;
}

Tensor tensor_of(const JsonView &data, TensorType type) {
    // Counted before memory is taken: a shape costs nothing to write.
    if (const size_t found = values_in(data); found != static_cast<size_t>(element_count(type.shape)))
        data.fail("expected " + std::to_string(element_count(type.shape)) + " values, as the shape says, found " +
                  std::to_string(found));
    if (type.dtype != DType::f32 && type.dtype != DType::i32)
        data.fail(std::string(datatype_of(type.dtype)) + " cannot be JSON: send it as binary_data_size bytes");
    Tensor out(std::move(type));
    size_t count = 0;
    if (out.dtype() == DType::i32)
        read_numbers(data, data, out.i32(), count);
    else
        read_numbers(data, data, out.f32(), count);
    return out;
}

Tensor tensor_of_bytes(const JsonView &size, TensorType type, std::string_view &raw) {
    const auto bytes = static_cast<size_t>(size.integer(0, INT64_MAX));
    if (bytes != type.bytes())
        size.fail("expected " + std::to_string(type.bytes()) + " bytes, as shape and datatype say, found " +
                  std::to_string(bytes));
    if (bytes > raw.size()) size.fail("only " + std::to_string(raw.size()) + " bytes are left behind the JSON");
    Tensor out(std::move(type));
    if (bytes != 0) std::memcpy(out.bytes().data(), raw.data(), bytes);
    raw.remove_prefix(bytes);
    return out;
}

std::vector<std::string> input_names(const ModelGraph &graph) {
    std::vector<std::string> out;
    for (const ModelTensor &each : graph.inputs) out.push_back(each.name);
    return out;
}

void read_input(const JsonView &from, const ModelGraph &graph, std::string_view &raw, TensorMap &out) {
    expect_fields(from, "InferInput");
    const JsonView name = from.at("name");
    const auto known = std::ranges::find(graph.inputs, name.string(), &ModelTensor::name);
    if (known == graph.inputs.end())
        name.fail("the model has no input '" + std::string(name.string()) + "'" +
                  instead_of(name.string(), input_names(graph)));
    if (out.contains(name.string())) name.fail("this input is given twice");
    const JsonView datatype = from.at("datatype");
    if (datatype.string() != datatype_of(known->dtype))
        datatype.fail(std::string("expected ") + datatype_of(known->dtype) + ", found " + datatype.description());
    TensorType type{known->dtype, shape_of(from.at("shape"))};
    const bool binary = from.has("parameters") && from.at("parameters").has("binary_data_size");
    if (binary == from.has("data"))
        from.fail(binary ? "expected data or binary_data_size, found both" : "expected data or binary_data_size");
    out.emplace(known->name, binary ? tensor_of_bytes(from.at("parameters").at("binary_data_size"), type, raw)
                                    : tensor_of(from.at("data"), type));
}

bool flag(const JsonView &from, std::string_view name, bool otherwise) {
    if (!from.has("parameters") || !from.at("parameters").has(name)) return otherwise;
    return from.at("parameters").at(name).boolean();
}

void read_output(const JsonView &from, const ModelGraph &graph, InferRequest &out) {
    expect_fields(from, "InferOutput");
    const JsonView name = from.at("name");
    if (!graph.outputs.contains(name.string()))
        name.fail("the model has no output '" + std::string(name.string()) + "'" +
                  instead_of(name.string(), names_of(graph.outputs)));
    if (std::ranges::find(out.outputs, name.string(), &InferRequest::Wanted::name) != out.outputs.end())
        name.fail("this output is asked for twice");
    if (from.has("parameters") && from.at("parameters").has("classification"))
        from.at("parameters").at("classification").fail("not supported: outputs come whole");
    out.outputs.push_back({std::string(name.string()), flag(from, "binary_data", out.binary)});
}

size_t json_part(std::string_view body, const std::string &json_bytes) {
    if (json_bytes.empty()) return body.size();
    size_t out = 0;
    const auto [end, error] = std::from_chars(json_bytes.data(), json_bytes.data() + json_bytes.size(), out);
    if (error != std::errc{} || end != json_bytes.data() + json_bytes.size() || out > body.size())
        throw Error(ErrorCode::input, "Inference-Header-Content-Length: expected a number from 0 to " +
                                          std::to_string(body.size()) + ", the length of the body");
    return out;
}

// A value of JSON takes many times the bytes that it is written with.
constexpr size_t most_in_json = size_t{1} << 21;

void expect_few_values(std::string_view json) {
    if (JsonText::most_values(json) > most_in_json)
        throw Error(ErrorCode::input, "request: expected at most " + std::to_string(most_in_json) +
                                          " values in JSON: send larger tensors as binary_data_size bytes");
}

// ---- Responses ----

Json numbers_of(const Tensor &tensor) {
    if (tensor.dtype() == DType::i32) return std::vector<int32_t>(tensor.i32().begin(), tensor.i32().end());
    return std::vector<float>(tensor.f32().begin(), tensor.f32().end());
}

// Outputs that are asked for; `all` has their names.
template <class Map> std::vector<InferRequest::Wanted> wanted_of(const InferRequest &request, const Map &all) {
    std::vector<InferRequest::Wanted> out = request.outputs;
    if (out.empty())
        for (const auto &[name, each] : all) out.push_back({name, request.binary});
    return out;
}

Json tensor_metadata(const std::string &name, const ModelTensor &tensor) {
    Json shape = Json::array();
    std::istringstream dims(tensor.dims);
    for (std::string dim; dims >> dim;) {
        const bool fixed = std::ranges::all_of(dim, [](char c) { return c >= '0' && c <= '9'; });
        shape.push_back(fixed ? std::stoll(dim) : -1);
    }
    return {{"name", name}, {"datatype", datatype_of(tensor.dtype)}, {"shape", std::move(shape)}};
}

} // namespace

InferBody infer_body(std::string_view body, const std::string &json_bytes) {
    const size_t split = json_part(body, json_bytes);
    const InferBody out{body.substr(0, split), body.substr(split)};
    expect_few_values(out.json);
    return out;
}

InferRequest infer_request(const InferBody &body, const ModelGraph &graph) {
    const JsonText json(body.json, "request");
    std::string_view raw = body.raw;
    const JsonView request = json.root();
    expect_fields(request, "InferRequest");
    InferRequest out;
    if (request.has("id")) out.id = request.at("id").string();
    out.binary = flag(request, "binary_data_output", false);
    for (const JsonView input : request.at("inputs").items()) read_input(input, graph, raw, out.inputs);
    if (!raw.empty()) request.fail(std::to_string(raw.size()) + " bytes of the body belong to no input");
    for (const ModelTensor &input : graph.inputs)
        if (!out.inputs.contains(input.name)) request.at("inputs").fail("the input '" + input.name + "' is missing");
    if (request.has("outputs"))
        for (const JsonView output : request.at("outputs").items()) read_output(output, graph, out);
    return out;
}

void expect_fair_response(const InferRequest &request, const OutputTypes &types, size_t most) {
    size_t bytes = 0, values = 0;
    for (const auto &[name, type] : types) bytes += type.bytes();
    for (const InferRequest::Wanted &each : wanted_of(request, types)) {
        const TensorType &type = types.at(each.name);
        if (each.binary)
            bytes += type.bytes();
        else
            values += static_cast<size_t>(element_count(type.shape));
    }
    constexpr size_t of_value = 64; // bytes: as a number, and as the text that the number becomes
    if (values > most_in_json)
        throw Error(ErrorCode::input, "request: the outputs have " + std::to_string(values) +
                                          " values: expected at most " + std::to_string(most_in_json) +
                                          " in JSON: ask for larger outputs with binary_data");
    if (bytes += of_value * values; bytes > most)
        throw Error(ErrorCode::input, "request: the outputs take " + binary_size(bytes) +
                                          ", with the response that is made of them: expected at most " +
                                          binary_size(most) + " (the server's --max-bodies)");
}

Response infer_response(const std::string &model, const InferRequest &request, const TensorMap &outputs) {
    const std::vector<InferRequest::Wanted> wanted = wanted_of(request, outputs);
    Json list = Json::array();
    size_t raw = 0; // bytes behind the JSON
    for (const InferRequest::Wanted &each : wanted) {
        const Tensor &tensor = outputs.at(each.name);
        Json output{{"name", each.name}, {"datatype", datatype_of(tensor.dtype())}, {"shape", tensor.shape()}};
        if (each.binary) {
            output["parameters"] = Json{{"binary_data_size", tensor.bytes().size()}};
            raw += tensor.bytes().size();
        } else {
            output["data"] = numbers_of(tensor);
        }
        list.push_back(std::move(output));
    }
    Json json{{"model_name", model}, {"model_version", "1"}};
    if (!request.id.empty()) json["id"] = request.id;
    json["outputs"] = std::move(list);
    Response out{.body = json.in_one_line()};
    if (raw == 0) return out;
    out.type = "application/octet-stream";
    out.headers["Inference-Header-Content-Length"] = std::to_string(out.body.size());
    out.body.reserve(out.body.size() + raw);
    for (const InferRequest::Wanted &each : wanted)
        if (each.binary) {
            const std::span<const std::byte> bytes = outputs.at(each.name).bytes();
            out.body.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
        }
    return out;
}

Json graph_metadata(const std::string &name, const ModelGraph &graph) {
    Json inputs = Json::array(), outputs = Json::array();
    for (const ModelTensor &each : graph.inputs) inputs.push_back(tensor_metadata(each.name, each));
    for (const auto &[output, tensor] : graph.outputs)
        for (const ModelLayer &layer : graph.layers)
            for (const ModelTensor &each : layer.outputs)
                if (each.name == tensor) outputs.push_back(tensor_metadata(output, each));
    return {{"name", name},
            {"versions", Json::array({"1"})},
            {"platform", "lamina"},
            {"inputs", std::move(inputs)},
            {"outputs", std::move(outputs)}};
}

} // namespace lamina::serve
