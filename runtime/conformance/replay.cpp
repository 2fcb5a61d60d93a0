#include "conformance/replay.hpp"

#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "model/safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

namespace lamina::conformance {
namespace {

using Tensors = std::map<std::string, Tensor, std::less<>>;
using Params = std::map<std::string, abi::ParamValue, std::less<>>;

Tensor copy_of(const model::Weight &entry) {
    Tensor out(entry.type);
    std::memcpy(out.bytes().data(), entry.bytes().data(), entry.bytes().size());
    return out;
}

std::string choice_at(const lamina_param &p, size_t index) {
    std::string_view rest = p.choices;
    for (; index > 0; --index) rest.remove_prefix(rest.find('|') + 1);
    return std::string(rest.substr(0, rest.find('|')));
}

std::string params_text(const abi::LayerCall &call) {
    const lamina_layer &contract = *call.layer().contract;
    Json out = Json::object();
    for (uint32_t i = 0; i < contract.n_params; ++i) {
        const lamina_param &p = contract.params[i];
        const double v = call.params()[i];
        if (p.kind == LAMINA_BOOL)
            out[p.name] = v != 0;
        else if (p.kind == LAMINA_CHOICE)
            out[p.name] = choice_at(p, static_cast<size_t>(v));
        else
            out[p.name] = v;
    }
    return out.in_one_line();
}

Params params_of(const std::string &text, const std::string &where) {
    const JsonText document(text, where);
    Params params;
    for (const JsonView value : document.root().members()) {
        const std::string name(value.key());
        if (value.is_boolean())
            params[name] = value.boolean();
        else if (value.is_number())
            params[name] = value.number();
        else
            params[name] = std::string(value.string());
    }
    return params;
}

const std::string &metadata(const model::Safetensors &file, const char *key) {
    const auto found = file.metadata.find(key);
    if (found != file.metadata.end()) return found->second;
    throw Error(ErrorCode::input, file.weights.file().string() + ": not a replay: expected \"" + key +
                                      "\" in its metadata; 'lamina compare --replay' writes such files");
}

std::map<std::string, TensorType, std::less<>> types_of(const model::Weights &weights, const std::string &prefix) {
    std::map<std::string, TensorType, std::less<>> types;
    for (const auto &[name, entry] : weights.entries())
        if (name.starts_with(prefix)) types[name.substr(prefix.size())] = entry.type;
    return types;
}

// The file itself, or the only replay in a folder.
std::filesystem::path replay_in(const std::filesystem::path &path) {
    if (!std::filesystem::is_directory(path)) return path;
    std::vector<std::filesystem::path> files;
    for (const auto &entry : std::filesystem::directory_iterator(path))
        if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
    if (files.size() == 1) return files.front();
    throw Error(ErrorCode::input, path.string() + ": expected one replay (*.safetensors) in the folder, found " +
                                      std::to_string(files.size()) + (files.empty() ? "" : ": name the file"));
}

} // namespace

std::filesystem::path write_replay(const std::filesystem::path &folder, const ReplaySource &source) {
    const lamina_layer &contract = *source.step.call.layer().contract;
    Tensors tensors;
    const auto add = [&](const char *prefix, const lamina_port *ports, const std::vector<int32_t> &indices,
                         abi::PortList list, const std::function<Tensor(int32_t)> &read) {
        for (size_t i = 0; i < indices.size(); ++i)
            if (indices[i] != plan::none && source.step.call.bound(list)[i] == i)
                tensors[prefix + std::string(ports[i].name)] = read(indices[i]);
    };
    add("in.", contract.inputs, source.step.in, abi::PortList::in, source.expected);
    add("weight.", contract.weights, source.step.weight, abi::PortList::weight, [&](int32_t t) {
        return copy_of(source.weights.entries().at(source.plan.tensors[static_cast<size_t>(t)].name));
    });
    add("state.", contract.states, source.step.state, abi::PortList::state, source.before);
    add("out.", contract.outputs, source.step.out, abi::PortList::out, source.expected);
    add("state_after.", contract.states, source.step.state, abi::PortList::state, source.expected);
    add("got.", contract.outputs, source.step.out, abi::PortList::out, source.got);
    add("got.", contract.states, source.step.state, abi::PortList::state, source.got);

    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw Error(ErrorCode::failure, folder.string() + ": " + error.message());
    const std::filesystem::path file = folder / (source.step.name + ".safetensors");
    model::write_safetensors(file, tensors,
                             {{"layer", contract.id},
                              {"params", params_text(source.step.call)},
                              {"variant", source.variant},
                              {"device", source.device}});
    return file;
}

Replay read_replay(const std::filesystem::path &given, const abi::Registry &plugins) {
    const std::filesystem::path path = replay_in(given);
    const model::Safetensors file = model::open_safetensors(path);
    const abi::Layer &layer = plugins.layer(metadata(file, "layer"));
    const lamina_layer &contract = *layer.contract;
    const abi::CallTypes types{types_of(file.weights, "in."), types_of(file.weights, "weight."),
                               types_of(file.weights, "state.")};
    abi::LayerCall call(layer, params_of(metadata(file, "params"), path.string() + ": params"), types, path.string());
    const abi::LayerCall shapes = call;
    CaseGraph graph = make_case_graph(std::move(call), [&](abi::PortList list, uint32_t port, const TensorType &) {
        const std::string name = list == abi::PortList::in       ? std::string("in.") + contract.inputs[port].name
                                 : list == abi::PortList::weight ? std::string("weight.") + contract.weights[port].name
                                                                 : std::string("state.") + contract.states[port].name;
        Tensor value = copy_of(file.weights.entries().at(name));
        const auto range = list == abi::PortList::in ? shapes.values(abi::PortList::in, port) : std::nullopt;
        if (range)
            for (const int32_t v : value.i32())
                if (v < range->first || v >= range->second)
                    throw Error(ErrorCode::input,
                                path.string() + ": " + name + ": expected values from " + std::to_string(range->first) +
                                    " to " + std::to_string(range->second - 1) + ", found " + std::to_string(v));
        return value;
    });
    return {&layer, std::move(graph)};
}

} // namespace lamina::conformance
