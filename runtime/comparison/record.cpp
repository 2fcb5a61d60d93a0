#include "comparison/record.hpp"

#include "base/json_reader.hpp"
#include "base/utf8.hpp"
#include "model/safetensors.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <sstream>

namespace lamina::comparison {
namespace {

Tensor copy_of(const model::Weight &weight) {
    Tensor out(weight.type);
    std::ranges::copy(weight.bytes(), out.bytes().begin());
    return out;
}

std::vector<std::string> words_of(const std::string &text) {
    std::istringstream in(text);
    std::vector<std::string> out;
    for (std::string word; in >> word;) out.push_back(word);
    return out;
}

// "GRAPH.NAME" of a tensor of the record, as one of its graphs and a name.
std::pair<Record::Graph *, std::string> place_of(Record &record, const std::string &name) {
    const size_t dot = name.find('.');
    const auto graph = std::ranges::find(record.graphs, name.substr(0, dot), &Record::Graph::name);
    if (dot == std::string::npos || graph == record.graphs.end()) return {nullptr, ""};
    return {&*graph, name.substr(dot + 1)};
}

std::string type_of(const Tensor &tensor) {
    return std::string(name_of(tensor.dtype())) + " " + to_string(tensor.shape());
}

// Why the ids of texts and their lengths cannot be what they are called; empty if they can.
std::string fault_of(const Record::Graph &graph) {
    const auto ids = graph.inputs.find("ids"), lengths = graph.inputs.find("lengths");
    if (ids == graph.inputs.end()) return "";
    if (ids->second.dtype() != DType::i32 || ids->second.shape().size() != 2)
        return "the input 'ids' is " + type_of(ids->second) + "; expected i32 and a row for each text";
    const Shape rows{ids->second.shape()[0]};
    if (lengths == graph.inputs.end() || (lengths->second.dtype() == DType::i32 && lengths->second.shape() == rows))
        return "";
    return "the input 'lengths' is " + type_of(lengths->second) + "; expected i32 " + to_string(rows) +
           ", a number for each text";
}

} // namespace

Record Record::read(const std::filesystem::path &file) {
    const model::Safetensors stored = model::open_safetensors(file);
    const auto refuse = [&](const std::string &why) {
        throw Error(ErrorCode::input, file.string() + ": " + why +
                                          ". Expected a record, as 'lamina compare MODEL --with transformers --record "
                                          "FILE' writes it");
    };
    const auto note = [&](const char *key) {
        const auto found = stored.metadata.find(key);
        return found == stored.metadata.end() ? std::string() : found->second;
    };
    Record out{.made_by = note("made_by")};
    for (const std::string &name : words_of(note("graphs"))) out.graphs.push_back({name, {}, {}});
    if (out.graphs.empty()) refuse("its metadata names no graphs");
    if (out.made_by.empty()) out.made_by = "another program";
    if (const std::string texts = note("texts"); !texts.empty()) {
        const JsonText json(texts, file.string() + ": texts");
        for (const JsonView text : json.root().items()) out.texts.emplace_back(text.string());
    }
    for (const auto &[name, weight] : stored.weights.entries()) {
        if (weight.type.dtype != DType::f32 && weight.type.dtype != DType::i32)
            refuse("tensor " + in_quotes(name) + " is " + name_of(weight.type.dtype) + "; expected f32 or i32");
        if (name.starts_with("at.")) {
            out.modules.emplace(name.substr(3), copy_of(weight));
            continue;
        }
        const bool input = name.starts_with("in."), output = name.starts_with("out.");
        const auto [graph, own] = place_of(out, input || output ? name.substr(name.find('.') + 1) : "");
        if (graph == nullptr) refuse("there is a tensor " + in_quotes(name));
        (input ? graph->inputs : graph->outputs).emplace(own, copy_of(weight));
    }
    for (const Graph &graph : out.graphs)
        if (graph.inputs.empty() || graph.outputs.empty())
            refuse("there are no inputs, or no outputs, of graph " + in_quotes(graph.name));
    for (const Graph &graph : out.graphs)
        if (const std::string fault = fault_of(graph); !fault.empty()) refuse(fault);
    if (!stored.weights.others().empty()) refuse("tensor " + in_quotes(stored.weights.others().begin()->first));
    stored.weights.expect_whole();
    return out;
}

const Tensor *Record::module(const std::string &name) const {
    if (const auto same = modules.find(name); same != modules.end()) return &same->second;
    if (const size_t dot = name.find('.'); dot != std::string::npos)
        if (const auto without = modules.find(name.substr(dot + 1)); without != modules.end()) return &without->second;
    const Tensor *out = nullptr;
    for (const auto &[theirs, tensor] : modules)
        if (const size_t dot = theirs.find('.'); dot != std::string::npos && theirs.substr(dot + 1) == name) {
            if (out != nullptr) return nullptr;
            out = &tensor;
        }
    return out;
}

} // namespace lamina::comparison
