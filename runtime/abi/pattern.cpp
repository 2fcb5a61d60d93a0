#include "abi/pattern.hpp"

#include "abi/contract.hpp"
#include "base/json_reader.hpp"
#include "base/nearest.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace lamina::abi {
namespace {

std::vector<std::string> port_names(const lamina_layer &layer, PortList list) {
    std::vector<std::string> out;
    for (const lamina_port &port : ports_of(layer, list).ports) out.emplace_back(port.name);
    return out;
}

// The place of a name in a list; fails at `at` if it is not there.
uint32_t find_name(const std::vector<std::string> &names, const std::string &name, const std::string &what,
                   JsonView at) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) at.fail(what + " '" + name + "'" + instead_of(name, names));
    return static_cast<uint32_t>(found - names.begin());
}

class Reader {
  public:
    Reader(const lamina_layer &fusion, const std::map<std::string, Layer, std::less<>> &layers)
        : fusion_(fusion), layers_(layers) {
        for (uint32_t i = 0; i < fusion.n_params; ++i) params_.emplace_back(fusion.params[i].name);
        for (const std::string &name : port_names(fusion, PortList::in)) name_tensor(name);
    }

    Pattern read(JsonView value) {
        value.allow_keys({"layers", "outputs"});
        for (const JsonView layer : value.at("layers").items()) read_member(layer);
        if (pattern_.members.size() < 2) value.at("layers").fail("expected at least two layers");
        const std::vector<std::string> names = port_names(fusion_, PortList::out);
        pattern_.outputs.resize(names.size(), Pattern::left_out);
        for (const JsonView output : value.at("outputs").members())
            pattern_.outputs[find_name(names, std::string(output.key()), "the fusion has no output", output)] =
                tensor(output);
        for (size_t i = 0; i < names.size(); ++i) check_output(i, names[i], value.at("outputs"));
        for (const Pattern::Member &member : pattern_.members) {
            bool used = false;
            for (int32_t t = member.first_out; t < member.first_out + member.outputs(); ++t)
                used = used || pattern_.is_output(t) || pattern_.is_taken(t);
            if (!used) value.at("layers").fail("nothing takes what '" + member.name + "' computes");
        }
        expect_all_used(value);
        return std::move(pattern_);
    }

  private:
    void name_tensor(const std::string &name) { tensors_.emplace(name, pattern_.tensors++); }

    [[nodiscard]] int32_t tensor(JsonView value) const {
        const std::string name(value.string());
        const auto found = tensors_.find(name);
        if (found == tensors_.end()) value.fail("no tensor '" + name + "'" + instead_of(name, names_of(tensors_)));
        return found->second;
    }

    void check_output(size_t i, const std::string &name, JsonView place) const {
        const int32_t t = pattern_.outputs[i];
        if (t < static_cast<int32_t>(fusion_.n_inputs)) place.fail("expected a layer that computes '" + name + "'");
        const auto by_rows = [](const lamina_port &port) { return (port.flags & LAMINA_BY_ROWS) != 0; };
        for (const Pattern::Member &member : pattern_.members)
            if (t >= member.first_out && t < member.first_out + member.outputs() && by_rows(fusion_.outputs[i]) &&
                !by_rows(member.layer->contract->outputs[t - member.first_out]))
                place.fail("the fusion computes '" + name + "' by rows; '" + member.name + "' does not");
    }

    // The ports of one list of a member. Each has `value_of` what is written there.
    template <class Value>
    std::vector<int32_t> ports(JsonView member, const char *key, const lamina_layer &layer, PortList list,
                               Value value_of) const {
        const std::vector<std::string> names = port_names(layer, list);
        std::vector<int32_t> out(names.size(), Pattern::left_out);
        if (member.has(key))
            for (const JsonView port : member.at(key).members())
                out[find_name(names, std::string(port.key()),
                              std::string(layer.id) + " has no " + ports_of(layer, list).noun, port)] = value_of(port);
        for (uint32_t i = 0; i < out.size(); ++i) {
            const lamina_port &port = ports_of(layer, list).ports[i];
            if (out[i] == Pattern::left_out && list != PortList::state && (port.flags & LAMINA_OPTIONAL) == 0)
                member.fail(std::string(ports_of(layer, list).noun) + " '" + port.name + "' of " + layer.id +
                            " is required");
        }
        return out;
    }

    // A text that names a parameter of the fusion stands for that.
    [[nodiscard]] Pattern::Param param(JsonView value, const lamina_param &of) const {
        if (value.is_string()) {
            const auto found = std::ranges::find(params_, value.string());
            if (found != params_.end()) {
                const auto i = static_cast<uint32_t>(found - params_.begin());
                const lamina_param &own = fusion_.params[i];
                const auto choices = [](const lamina_param &p) { return std::string(p.choices ? p.choices : ""); };
                if (own.kind != of.kind || choices(own) != choices(of))
                    value.fail("parameter '" + *found + "' of the fusion is of another kind, or has other choices");
                return {i, 0};
            }
        }
        ParamValue fixed;
        if (value.is_boolean())
            fixed = value.boolean();
        else if (value.is_number())
            fixed = value.number();
        else
            fixed = std::string(value.string());
        return {std::nullopt, param_number(of, fixed, "'" + std::string(value.key()) + "'")};
    }

    std::vector<Pattern::Param> params(JsonView member, const lamina_layer &layer) const {
        std::vector<std::string> names;
        for (uint32_t i = 0; i < layer.n_params; ++i) names.emplace_back(layer.params[i].name);
        std::vector<std::optional<Pattern::Param>> given(names.size());
        if (member.has("params"))
            for (const JsonView value : member.at("params").members()) {
                const uint32_t i =
                    find_name(names, std::string(value.key()), std::string(layer.id) + " has no parameter", value);
                given[i] = param(value, layer.params[i]);
            }
        std::vector<Pattern::Param> out;
        for (uint32_t i = 0; i < names.size(); ++i) {
            const lamina_param &p = layer.params[i];
            if (!given[i] && p.follows == nullptr && (p.flags & LAMINA_REQUIRED) != 0)
                member.fail("parameter '" + names[i] + "' of " + layer.id + " is required");
            if (given[i])
                out.push_back(*given[i]);
            else if (p.follows != nullptr)
                out.push_back(out[place_of_name(layer.params, i, p.follows)]);
            else
                out.push_back({std::nullopt, p.dflt});
        }
        return out;
    }

    void read_member(JsonView value) {
        value.allow_keys({"name", "type", "params", "inputs", "weights", "states"});
        Pattern::Member member;
        member.name = value.at("name").string();
        const std::string type(value.at("type").string());
        const auto layer = layers_.find(type);
        if (layer == layers_.end()) value.at("type").fail("there is no layer '" + type + "'");
        if (layer->second.contract->fuses != nullptr) value.at("type").fail("'" + type + "' is itself a fusion");
        member.layer = &layer->second;
        const lamina_layer &contract = *layer->second.contract;
        member.params = params(value, contract);
        member.in = ports(value, "inputs", contract, PortList::in, [&](JsonView port) { return tensor(port); });
        for (const auto &[key, list, to] : {std::tuple("weights", PortList::weight, &member.weight),
                                            std::tuple("states", PortList::state, &member.state)}) {
            const std::vector<std::string> names = port_names(fusion_, list);
            const std::string missing = std::string("the fusion has no ") + ports_of(fusion_, list).noun;
            *to = ports(value, key, contract, list, [&](JsonView port) {
                return static_cast<int32_t>(find_name(names, std::string(port.string()), missing, port));
            });
        }
        member.first_out = pattern_.tensors;
        if (tensors_.contains(member.name)) value.at("name").fail("a second tensor '" + member.name + "'");
        for (const std::string &port : port_names(contract, PortList::out))
            name_tensor(contract.n_outputs == 1 ? member.name : member.name + "." + port);
        pattern_.members.push_back(std::move(member));
    }

    // What the fusion takes and no member does would be without effect.
    void expect_all_used(JsonView place) const {
        const auto used = [&](auto list, uint32_t i) {
            return std::ranges::any_of(pattern_.members, [&](const Pattern::Member &member) {
                return std::ranges::find(member.*list, static_cast<int32_t>(i)) != (member.*list).end();
            });
        };
        for (const auto &[list, of] :
             {std::pair(PortList::in, &Pattern::Member::in), std::pair(PortList::weight, &Pattern::Member::weight),
              std::pair(PortList::state, &Pattern::Member::state)})
            for (uint32_t i = 0; i < ports_of(fusion_, list).ports.size(); ++i)
                if (!used(of, i))
                    place.fail(std::string("no layer takes the fusion's ") + ports_of(fusion_, list).noun + " '" +
                               ports_of(fusion_, list).ports[i].name + "'");
    }

    const lamina_layer &fusion_;
    const std::map<std::string, Layer, std::less<>> &layers_;
    std::vector<std::string> params_; // of the fusion
    std::map<std::string, int32_t, std::less<>> tensors_;
    Pattern pattern_;
};

Params params_of(const Pattern::Member &member, const std::vector<double> &of_fusion) {
    const lamina_layer &contract = *member.layer->contract;
    Params out;
    for (uint32_t i = 0; i < contract.n_params; ++i) {
        const Pattern::Param &p = member.params[i];
        out[contract.params[i].name] = param_value(contract.params[i], p.of ? of_fusion[*p.of] : p.value);
    }
    return out;
}

// Types by name, of the ports that are given.
std::map<std::string, TensorType, std::less<>> given(const lamina_layer &layer, PortList list,
                                                     const std::vector<int32_t> &ports,
                                                     const std::vector<TensorType> &types) {
    std::map<std::string, TensorType, std::less<>> out;
    for (uint32_t i = 0; i < ports.size(); ++i)
        if (ports[i] != Pattern::left_out && !types[static_cast<size_t>(ports[i])].shape.empty())
            out[ports_of(layer, list).ports[i].name] = types[static_cast<size_t>(ports[i])];
    return out;
}

} // namespace

bool Pattern::is_output(int32_t tensor) const { return std::ranges::find(outputs, tensor) != outputs.end(); }

bool Pattern::is_taken(int32_t tensor) const {
    return std::ranges::any_of(
        members, [&](const Member &member) { return std::ranges::find(member.in, tensor) != member.in.end(); });
}

std::vector<std::string> types_of_members(const Pattern &pattern) {
    std::vector<std::string> out;
    for (const Pattern::Member &member : pattern.members) out.emplace_back(member.layer->id());
    return out;
}

std::shared_ptr<const Pattern> read_pattern(const lamina_layer &fusion,
                                            const std::map<std::string, Layer, std::less<>> &layers) {
    const JsonText text(fusion.fuses, "fuses");
    return std::make_shared<Pattern>(Reader(fusion, layers).read(text.root()));
}

std::vector<LayerCall> calls_of_members(const LayerCall &fusion) {
    const Pattern &pattern = *fusion.layer().pattern;
    std::vector<TensorType> tensors = fusion.types(PortList::in);
    std::vector<LayerCall> out;
    for (const Pattern::Member &member : pattern.members) {
        const lamina_layer &contract = *member.layer->contract;
        const CallTypes types{given(contract, PortList::in, member.in, tensors),
                              given(contract, PortList::weight, member.weight, fusion.types(PortList::weight)),
                              given(contract, PortList::state, member.state, fusion.types(PortList::state))};
        out.emplace_back(*member.layer, params_of(member, fusion.params()), types,
                         fusion.where() + ": '" + member.name + "'");
        const std::vector<TensorType> &computed = out.back().types(PortList::out);
        tensors.insert(tensors.end(), computed.begin(), computed.end());
    }
    for (size_t i = 0; i < pattern.outputs.size(); ++i) {
        const TensorType &declared = fusion.types(PortList::out)[i];
        const TensorType &computed = tensors[static_cast<size_t>(pattern.outputs[i])];
        if (declared != computed)
            throw Error(ErrorCode::plugin, fusion.where() + ": the contract declares output '" +
                                               fusion.layer().contract->outputs[i].name + "' as " +
                                               to_string(declared.shape) + ", but the layers that it fuses compute " +
                                               to_string(computed.shape));
    }
    return out;
}

void run_members(const LayerCall &fusion, const LayerCall::Data &data, std::span<const int64_t> rows) {
    const Pattern &pattern = *fusion.layer().pattern;
    std::vector<void *> tensors = data.in;
    std::vector<std::vector<float>> between; // f32 and i32 are equally large
    const std::vector<LayerCall> calls = calls_of_members(fusion);
    for (size_t m = 0; m < calls.size(); ++m) {
        const Pattern::Member &member = pattern.members[m];
        const auto pick = [](const std::vector<int32_t> &ports, const std::vector<void *> &from) {
            std::vector<void *> out;
            for (const int32_t port : ports)
                out.push_back(port == Pattern::left_out ? nullptr : from[static_cast<size_t>(port)]);
            return out;
        };
        LayerCall::Data own{
            pick(member.in, tensors), pick(member.weight, data.weight), {}, pick(member.state, data.state)};
        bool by_rows = true; // other members may take any row
        for (int32_t t = member.first_out; t < member.first_out + member.outputs(); ++t) {
            by_rows = by_rows && !pattern.is_taken(t);
            const auto output = std::ranges::find(pattern.outputs, t);
            if (output != pattern.outputs.end()) {
                own.out.push_back(data.out[static_cast<size_t>(output - pattern.outputs.begin())]);
            } else {
                const TensorType &type = calls[m].types(PortList::out)[own.out.size()];
                between.emplace_back(static_cast<size_t>(element_count(type.shape)),
                                     std::numeric_limits<float>::quiet_NaN());
                own.out.push_back(between.back().data());
            }
            tensors.push_back(own.out.back());
        }
        calls[m].reference(own, by_rows ? rows : std::span<const int64_t>());
    }
}

} // namespace lamina::abi
