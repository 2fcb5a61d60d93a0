#include "comparison/record_comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

namespace lamina {

const RecordedLayer *RecordComparison::first_wrong() const {
    const auto it = std::ranges::find_if(layers, [](const RecordedLayer &l) { return !l.agrees(); });
    return it == layers.end() ? nullptr : &*it;
}

std::string RecordComparison::summary() const {
    if (!tokens.empty()) return tokens;
    if (layers.empty()) return "the model has nothing of what " + made_by + " recorded: is it another model?";
    const RecordedLayer *wrong = first_wrong();
    const std::string place = " on " + device.id;
    if (wrong == nullptr && layers.size() == 1)
        return "the one result that " + made_by + " recorded agrees with that" + place;
    if (wrong == nullptr)
        return "all " + std::to_string(layers.size()) + " results that " + made_by + " recorded agree with those" +
               place;
    const std::string what = wrong->type.empty() ? "output '" + wrong->layer + "'" : "layer '" + wrong->layer + "'";
    return what + " of graph '" + wrong->graph + "' is the first that differs from " + made_by + place + ": " +
           (std::isnan(wrong->error)
                ? "its shape is another"
                : "by " + std::to_string(wrong->error) + " of its largest value; expected at most " +
                      std::to_string(RecordedLayer::limit));
}

namespace comparison {
namespace {

// ---- Which module of the other program a layer is ----

struct Match {
    const Tensor *module = nullptr;
    std::string residual; // a tensor that the layer adds to what the module gives; empty: none
};

std::string without_suffix(std::string text, std::string_view suffix) {
    if (text.ends_with(suffix)) text.resize(text.size() - suffix.size());
    return text;
}

// Layers have the names of modules. A feed-forward layer ends with the module that owns its last weight.
Match match_of(const model::Node &node, const Record &record) {
    constexpr std::array<std::string_view, 5> types{"linear", "feed_forward", "layer_norm", "rms_norm", "embedding"};
    if (std::ranges::find(types, node.type) == types.end()) return {};
    std::string module = node.name;
    if (const auto down = node.weights.find("down_weight"); down != node.weights.end())
        module = without_suffix(down->second, ".weight");
    const auto bias = node.weights.find("bias"); // of another module, such as Marian's final_logits_bias
    const bool changed =
        node.params.contains("scale") || (bias != node.weights.end() && bias->second != module + ".bias");
    if (changed) return {};
    const auto residual = node.inputs.find("residual");
    return {record.module(module), residual == node.inputs.end() ? "" : residual->second};
}

// Layers whose channels are in another order than the module's: GGUF files of Llama have rotary pairs side by side.
std::set<std::string> reordered(const model::Graph &graph) {
    std::set<std::string> out;
    for (const model::Node &node : graph.nodes) {
        const auto x = node.inputs.find("x");
        if (node.type == "rotary" && x != node.inputs.end() && !node.params.contains("layout")) out.insert(x->second);
    }
    return out;
}

// ---- Values ----

// Rows after the end of a sequence have no meaning. Behind all words of a text may come those of an image, which has
// one more than patches; by themselves, these all count.
void clear_padding(Tensor &tensor, const TensorMap &inputs) {
    const auto lengths = inputs.find("lengths"), ids = inputs.find("ids"), patches = inputs.find("patches");
    if (lengths == inputs.end() || tensor.shape().size() != 3 || lengths->second.size() != tensor.shape()[0]) return;
    const int64_t time = tensor.shape()[1], width = tensor.shape()[2];
    const int64_t texts = ids == inputs.end() || ids->second.shape().size() != 2 ? time : ids->second.shape()[1];
    const int64_t image = patches == inputs.end() ? 0 : patches->second.shape().at(1) + 1;
    if (time != texts && time != texts + image) return;
    for (int64_t b = 0; b < tensor.shape()[0]; ++b) {
        const int64_t end = std::clamp<int64_t>(lengths->second.i32()[static_cast<size_t>(b)], 0, texts);
        std::ranges::fill(tensor.f32().subspan(static_cast<size_t>((b * time + end) * width),
                                               static_cast<size_t>((texts - end) * width)),
                          0.0F);
    }
}

// The largest difference, relative to the largest value; infinite where one is not finite, NaN for other sizes.
double difference(const Tensor &found, const Tensor &expected) {
    if (found.size() != expected.size()) return NAN;
    double largest = 0, worst = 0;
    for (size_t i = 0; i < expected.f32().size(); ++i) {
        const double e = expected.f32()[i], f = found.f32()[i];
        if (!std::isfinite(e) || !std::isfinite(f)) {
            if (e != f && !(std::isnan(e) && std::isnan(f))) return INFINITY;
            continue;
        }
        largest = std::max(largest, std::abs(e));
        worst = std::max(worst, std::abs(f - e));
    }
    return worst == 0 ? 0 : worst / largest;
}

// What the module gave and, if the layer adds a residual, the value of that.
std::optional<Tensor> expected_of(const Match &match, const TensorMap &values) {
    if (match.module == nullptr || match.module->dtype() != DType::f32) return std::nullopt;
    Tensor out = *match.module;
    if (match.residual.empty()) return out;
    const auto residual = values.find(match.residual);
    if (residual == values.end() || residual->second.size() != out.size()) return std::nullopt;
    for (size_t i = 0; i < out.f32().size(); ++i) out.f32()[i] += residual->second.f32()[i];
    return out;
}

// ---- A graph ----

TensorMap inputs_of(const Record::Graph &recorded, const model::Graph &graph, const TensorMap &earlier,
                    const std::string &made_by) {
    TensorMap out;
    for (const model::GraphInput &input : graph.inputs) {
        const auto given = recorded.inputs.find(input.name), made = earlier.find(input.name);
        if (given != recorded.inputs.end())
            out.emplace(input.name, given->second);
        else if (made != earlier.end())
            out.emplace(input.name, made->second);
        else
            throw Error(ErrorCode::input, "the record of " + made_by + " has no input '" + input.name +
                                              "', which graph '" + graph.name + "' takes");
    }
    return out;
}

void compare_graph(detail::SessionState &session, const Record &record, const Record::Graph &recorded,
                   TensorMap &earlier, RecordComparison &out) {
    const auto found = session.model->graphs.find(recorded.name);
    if (found == session.model->graphs.end())
        throw Error(ErrorCode::input, session.model->folder.string() + " has no graph '" + recorded.name +
                                          "', of which " + record.made_by + " recorded results");
    const model::Graph &graph = found->second;
    const TensorMap inputs = inputs_of(recorded, graph, earlier, record.made_by);
    TensorMap values = session.run(graph.name, inputs, {"*"});
    for (auto &[name, value] : values)
        if (value.dtype() == DType::f32 && graph.name == "encode") clear_padding(value, inputs);
    const auto add = [&](const std::string &layer, const std::string &type, const Tensor &expected, const Tensor &got) {
        out.layers.push_back({graph.name, layer, type, difference(got, expected)});
    };
    const std::set<std::string> elsewhere = reordered(graph);
    for (const model::Node &node : graph.nodes) {
        const auto value = values.find(node.name);
        if (value == values.end() || value->second.dtype() != DType::f32 || elsewhere.contains(node.name)) continue;
        auto expected = expected_of(match_of(node, record), values);
        if (!expected || expected->size() != value->second.size()) continue;
        if (graph.name == "encode" && expected->shape().size() == 3) clear_padding(*expected, inputs);
        add(node.name, node.type, *expected, value->second);
    }
    for (const auto &[name, expected] : recorded.outputs)
        if (const auto value = values.find(name); value != values.end()) add(name, "", expected, value->second);
    for (const auto &[name, tensor] : graph.outputs) earlier.insert_or_assign(name, values.at(name));
}

// ---- Tokens ----

// How Lamina's tokens of the record's texts differ from those in the record; empty if they do not.
std::string difference_of_tokens(const std::vector<std::vector<int32_t>> &own, const Record &record) {
    const auto ids = record.graphs.front().inputs.find("ids"), lengths = record.graphs.front().inputs.find("lengths");
    if (own.empty() || ids == record.graphs.front().inputs.end() || ids->second.shape().size() != 2) return "";
    const auto width = static_cast<size_t>(ids->second.shape()[1]);
    for (size_t t = 0; t < own.size() && t < static_cast<size_t>(ids->second.shape()[0]); ++t) {
        const size_t length =
            lengths == record.graphs.front().inputs.end() ? width : static_cast<size_t>(lengths->second.i32()[t]);
        const auto theirs = ids->second.i32().subspan(t * width, std::min(length, width));
        const auto [mine, other] = std::ranges::mismatch(own[t], theirs);
        if (mine == own[t].end() && other == theirs.end()) continue;
        const auto shown = [](auto at, auto end) { return at == end ? std::string("no token") : std::to_string(*at); };
        return "the tokens of text " + std::to_string(t + 1) + " differ from those of " + record.made_by + ": token " +
               std::to_string(mine - own[t].begin() + 1) + " is " + shown(mine, own[t].end()) + ", there it is " +
               shown(other, theirs.end());
    }
    return "";
}

} // namespace

RecordComparison compare(detail::SessionState &session, const Record &record,
                         const std::vector<std::vector<int32_t>> &tokens) {
    RecordComparison out;
    out.device = session.device;
    out.made_by = record.made_by;
    out.tokens = difference_of_tokens(tokens, record);
    TensorMap earlier;
    for (const Record::Graph &graph : record.graphs) compare_graph(session, record, graph, earlier, out);
    return out;
}

} // namespace comparison
} // namespace lamina
