#include "architectures/made_modules.hpp"

#include "architectures/weight_parts.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace lamina::architectures {
namespace {

constexpr const char *kinds[]{".weight", ".bias"};

int64_t rows_of(const Fused &fused) {
    int64_t out = 0;
    for (const auto &[name, rows] : fused.parts) out += rows;
    return out;
}

void add_parts(Draft &draft, const std::string &kind, const model::Weight &tensor, const Fused &fused) {
    int64_t first = 0;
    for (const auto &[name, rows] : fused.parts) {
        draft.weights.add(name + kind, tensor.rows(first, first + rows));
        first += rows;
    }
}

// Calls add(kind, tensor) for the weight, and for the bias if there is one.
template <typename Add>
void for_each_tensor(Draft &draft, GraphWriter &graph, const std::string &module, const Fused &fused, const Add &add) {
    for (const std::string kind : kinds) {
        const std::string name = module + kind;
        const bool is_bias = kind == ".bias";
        if (is_bias)
            graph.require(name, {rows_of(fused)}, fused.biased);
        else
            graph.require(name, {rows_of(fused), fused.inputs});
        if (is_bias && !fused.biased) continue;
        add(kind, draft.weights.at(name));
        draft.unused.insert(name);
    }
}

} // namespace

void split(Draft &draft, GraphWriter &graph, const std::string &module, const Fused &fused) {
    for_each_tensor(draft, graph, module, fused, [&](const std::string &kind, const model::Weight &tensor) {
        add_parts(draft, kind, tensor, fused);
    });
}

void split_if_fused(Draft &draft, GraphWriter &graph, const std::string &module, const Fused &fused) {
    const auto has = [&](const std::string &name) {
        return draft.weights.entries().contains(name) || draft.weights.others().contains(name);
    };
    if (!draft.gguf || !has(module + ".weight") || has(fused.parts.front().first + ".weight")) return;
    for (const std::string kind : kinds) {
        const std::string name = module + kind;
        if (!has(name)) continue; // biases may be apart beside it
        graph.require(name, kind == ".bias" ? Shape{rows_of(fused)} : Shape{rows_of(fused), fused.inputs});
        add_parts(draft, kind, draft.weights.at(name), fused);
        draft.unused.insert(name);
    }
}

void split_by_heads(Draft &draft, GraphWriter &graph, const std::string &module, const Fused &fused, int64_t groups) {
    std::map<std::string, int64_t> rows_of_module;
    for (const auto &[name, rows] : fused.parts) rows_of_module[name] += rows;
    for_each_tensor(draft, graph, module, fused, [&](const std::string &kind, const model::Weight &tensor) {
        const int64_t group = rows_of(fused) / groups;
        std::map<std::string, std::pair<Tensor, size_t>> made; // and how much of it is filled
        for (const auto &[name, rows] : rows_of_module) {
            Shape shape = tensor.type.shape;
            shape.front() = rows;
            made.try_emplace(name, Tensor(TensorType{tensor.type.dtype, shape}), 0);
        }
        int64_t first = 0; // within a group
        for (const auto &[name, rows] : fused.parts) {
            auto &[out, filled] = made.at(name);
            for (int64_t g = 0; g < groups; ++g) {
                const model::Weight part = tensor.rows(g * group + first, g * group + first + rows / groups);
                std::ranges::copy(part.bytes(), out.bytes().subspan(filled).begin());
                filled += part.bytes().size();
            }
            first += rows / groups;
        }
        for (auto &[name, tensor_and_size] : made)
            draft.weights.add(name + kind, model::Weight::of(std::move(tensor_and_size.first)));
    });
}

void split_heads(Draft &draft, GraphWriter &graph, const std::string &module, const Fused &fused, int64_t heads) {
    if (draft.gguf) return split(draft, graph, module, fused);
    split_by_heads(draft, graph, module, fused, heads);
}

void stack(Draft &draft, GraphWriter &graph, const std::string &name, const std::vector<std::string> &tensors,
           const Shape &shape) {
    std::vector<model::Weight> parts;
    for (const std::string &tensor : tensors) {
        graph.require(tensor, shape);
        parts.push_back(draft.weights.at(tensor));
        if (parts.back().type.dtype != parts.front().type.dtype)
            throw Error(ErrorCode::input, draft.weights.file().string() + ": the tensor '" + tensor + "' is " +
                                              name_of(parts.back().type.dtype) + " and '" + tensors.front() + "' is " +
                                              name_of(parts.front().type.dtype) +
                                              ": expected the same dtype for all experts of a layer");
        draft.unused.insert(tensor);
    }
    draft.weights.add(name, model::Weight::stacked(parts));
}

void scale_residual(Draft &draft, GraphWriter &graph, const std::string &module, const std::string &factors,
                    int64_t outputs, int64_t inputs) {
    graph.require(factors, {outputs});
    graph.require(module + ".weight", {outputs, inputs});
    graph.require(module + ".bias", {outputs});
    for (const char *port : {".weight", ".bias"}) {
        draft.weights.add(module + ".scaled" + port,
                          rows_scaled(draft.weights.at(module + port), draft.weights.at(factors)));
        draft.unused.insert(module + port);
    }
    draft.unused.insert(factors);
}

std::string scaled_norm(Draft &draft, GraphWriter &graph, const std::string &module, int64_t width, double factor) {
    const std::string weight = module + ".weight", out = module + ".scaled";
    graph.require(weight, {width});
    draft.weights.add(out + ".weight", scaled(draft.weights.at(weight), factor));
    draft.unused.insert(weight);
    return out;
}

} // namespace lamina::architectures
