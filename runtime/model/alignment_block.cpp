#include "model/alignment_block.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"
#include "model/graph_names.hpp"

#include <algorithm>

namespace lamina::model {
namespace {

constexpr int64_t most_heads = 1024, widest_median = 1023;

Alignment::Head read_head(JsonView value, const Graph &graph, const Generation &generation) {
    value.allow_keys({"queries", "keys", "heads", "head"});
    Alignment::Head out{.queries = output_at(value.at("queries"), graph),
                        .keys = std::string(value.at("keys").string()),
                        .heads = value.at("heads").integer(1, most_heads)};
    out.head = value.at("head").integer(0, out.heads - 1);
    if (std::ranges::find(generation.encoded, out.keys) == generation.encoded.end())
        value.at("keys").fail("expected an output of the graph '" + generation.encode + "' that '" + generation.decode +
                              "' takes" + instead_of(out.keys, generation.encoded));
    return out;
}

} // namespace

// {"graph": "align", "median": 7, "heads": [{"queries": "q", "keys": "k", "heads": 6, "head": 0}, ...]}
Alignment read_alignment(JsonView value, const Generation &generation, const Model &model) {
    const JsonView block = value.at("alignment");
    block.allow_keys({"graph", "median", "heads"});
    if (!generation.audio || !generation.source_values)
        block.fail("only a model whose source is windows of audio of one length has it");
    const Graph &graph = graph_at(block.at("graph"), model);
    std::vector<std::string> set{input_at(value.at("target_ids"), graph, DType::i32, 2, "B T"),
                                 input_at(value.at("position"), graph, DType::i32, 1, "B")};
    set.insert(set.end(), generation.encoded.begin(), generation.encoded.end());
    check_all_set(block, graph, set);
    Alignment out{.graph = graph.name};
    if (block.has("median")) out.median = block.at("median").integer(1, widest_median);
    if (out.median % 2 == 0) block.at("median").fail("expected an odd number, which has a middle");
    for (const JsonView head : block.at("heads").items()) out.heads.push_back(read_head(head, graph, generation));
    if (out.heads.empty()) block.at("heads").fail("expected at least one head");
    return out;
}

} // namespace lamina::model
