// The Open Inference Protocol, version 2: a graph of a model takes tensors and gives tensors. Tensors are lists of
// JSON, or raw bytes behind the JSON (the extension "binary_tensor_data", which Triton's clients use by default).
#pragma once

#include "http.hpp"

#include "base/json.hpp"

#include <lamina/inspect.hpp>
#include <lamina/lamina.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

struct InferRequest {
    struct Wanted {
        std::string name;
        bool binary = false;
    };
    std::string id;
    TensorMap inputs;
    std::vector<Wanted> outputs; // empty: all
    bool binary = false;         // of outputs that are not listed
};

// `json_bytes`: of the header Inference-Header-Content-Length: how many bytes of the body are JSON; empty: all. Throws
// Error(input) if that is wrong or the JSON has too many values.
struct InferBody {
    std::string_view json, raw;
};
[[nodiscard]] InferBody infer_body(std::string_view body, const std::string &json_bytes);
// Throws Error(input), with the place in the request.
[[nodiscard]] InferRequest infer_request(const InferBody &body, const ModelGraph &graph);
// Throws Error(input) if outputs of these types are more than a response may have: they take, with the response that is
// made of them, more than `most` bytes, or have too many values for JSON.
using OutputTypes = std::map<std::string, TensorType, std::less<>>;
void expect_fair_response(const InferRequest &request, const OutputTypes &types, size_t most);
[[nodiscard]] Response infer_response(const std::string &model, const InferRequest &request, const TensorMap &outputs);

// The names, datatypes and shapes of a graph; sizes that are not fixed are -1.
[[nodiscard]] Json graph_metadata(const std::string &name, const ModelGraph &graph);

} // namespace lamina::serve
