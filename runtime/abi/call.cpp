#include "abi/call.hpp"

#include "abi/contract.hpp"
#include "base/nearest.hpp"

#include <lamina/plugin/prepare.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <sstream>

namespace lamina::abi {
namespace {

struct Ports {
    const lamina_port *ports;
    uint32_t n;
    const char *noun;
};

Ports ports_of(const lamina_layer &layer, PortList list) {
    switch (list) {
    case PortList::in:
        return {layer.inputs, layer.n_inputs, "input"};
    case PortList::weight:
        return {layer.weights, layer.n_weights, "weight"};
    case PortList::out:
        return {layer.outputs, layer.n_outputs, "output"};
    case PortList::state:
        return {layer.states, layer.n_states, "state"};
    }
    throw std::logic_error("unknown list of ports");
}

std::string text_of(const ParamValue &value) {
    if (const bool *b = std::get_if<bool>(&value)) return *b ? "true" : "false";
    if (const double *d = std::get_if<double>(&value)) {
        std::ostringstream out;
        out << *d;
        return out.str();
    }
    return "\"" + std::get<std::string>(value) + "\"";
}

double choice_index(const lamina_param &p, const std::string &value, const std::string &where) {
    std::istringstream choices(p.choices);
    std::string choice;
    std::vector<std::string> all;
    while (std::getline(choices, choice, '|')) {
        if (choice == value) return static_cast<double>(all.size());
        all.push_back(choice);
    }
    throw Error(ErrorCode::input,
                where + ": expected one of " + p.choices + ", found \"" + value + "\"" + did_you_mean(value, all));
}

double number_of(const lamina_param &p, const ParamValue &value, const std::string &where) {
    const auto fail = [&](const char *expected) -> double {
        throw Error(ErrorCode::input, where + ": expected " + expected + ", found " + text_of(value));
    };
    if (p.kind == LAMINA_BOOL)
        return std::holds_alternative<bool>(value) ? (std::get<bool>(value) ? 1 : 0) : fail("true or false");
    if (p.kind == LAMINA_CHOICE)
        return std::holds_alternative<std::string>(value) ? choice_index(p, std::get<std::string>(value), where)
                                                          : fail((std::string("one of ") + p.choices).c_str());
    if (!std::holds_alternative<double>(value)) return fail("a number");
    const double v = std::get<double>(value);
    if (p.kind == LAMINA_INT && v != std::floor(v)) return fail("a whole number");
    if (!(v >= p.min && v <= p.max)) {
        std::ostringstream expected;
        expected << "a number from " << p.min << " to " << p.max;
        return fail(expected.str().c_str());
    }
    return v;
}

// The shape as the contract's dims name it: (T, B, ...) becomes (B, T, ...) and back.
Shape batch_major(Shape shape, const lamina_port &port, bool batch_first) {
    if ((port.flags & LAMINA_SEQUENCE) != 0 && !batch_first && shape.size() >= 2) std::swap(shape[0], shape[1]);
    return shape;
}

// What the callbacks of one call leave behind.
struct HostState {
    std::string message;
    const LayerCall::PlanSink *sink = nullptr;
    std::exception_ptr thrown; // by a sink; carried over the C boundary and thrown again behind it
};

HostState &state_of(const lamina_host *host) { return *static_cast<HostState *>(host->context); }

template <class F> lamina_status through_boundary(const lamina_host *host, F &&body) noexcept {
    HostState &state = state_of(host);
    if (state.sink == nullptr) return LAMINA_INVALID;
    try {
        body(*state.sink);
        return LAMINA_OK;
    } catch (...) {
        if (!state.thrown) state.thrown = std::current_exception();
        return LAMINA_INVALID;
    }
}

constexpr lamina_prepare prepare_extension{
    sizeof(lamina_prepare),
    [](const lamina_host *h, uint64_t bytes, lamina_ref *out) {
        return through_boundary(h, [&](const auto &sink) { *out = sink.prepared(bytes); });
    },
    [](const lamina_host *h, const lamina_dispatch *dispatch) {
        return through_boundary(h, [&](const auto &sink) { sink.prepare(*dispatch); });
    },
};

lamina_host make_host(HostState &state) {
    lamina_host host{};
    host.struct_size = sizeof host;
    host.context = &state;
    host.error = [](const lamina_host *h, const char *message) {
        state_of(h).message = message != nullptr ? message : "";
    };
    host.scratch = [](const lamina_host *h, uint64_t bytes, lamina_ref *out) {
        return through_boundary(h, [&](const auto &sink) { *out = sink.scratch(bytes); });
    };
    host.constant = [](const lamina_host *h, const void *data, uint64_t bytes, lamina_ref *out) {
        return through_boundary(h, [&](const auto &sink) {
            *out = sink.constant({static_cast<const std::byte *>(data), static_cast<size_t>(bytes)});
        });
    };
    host.dispatch = [](const lamina_host *h, const lamina_dispatch *dispatch) {
        return through_boundary(h, [&](const auto &sink) { sink.dispatch(*dispatch); });
    };
    host.extension = [](const lamina_host *h, const char *id) -> const void * {
        const bool known = id != nullptr && std::string_view(id) == LAMINA_PREPARE && state_of(h).sink != nullptr;
        return known ? &prepare_extension : nullptr;
    };
    return host;
}

// Turns a status into an Error; returns false for LAMINA_UNSUPPORTED.
bool succeeded(lamina_status status, const HostState &state, const std::string &where) {
    if (state.thrown) std::rethrow_exception(state.thrown);
    const std::string why = state.message.empty() ? "the plugin gave no reason" : state.message;
    switch (status) {
    case LAMINA_OK:
        return true;
    case LAMINA_UNSUPPORTED:
        return false;
    case LAMINA_INVALID:
        throw Error(ErrorCode::input, where + ": " + why);
    default:
        throw Error(ErrorCode::plugin, where + ": the plugin failed: " + why);
    }
}

} // namespace

std::vector<double> resolve_params(const lamina_layer &layer,
                                   const std::map<std::string, ParamValue, std::less<>> &given,
                                   const std::string &where) {
    std::vector<double> out;
    std::vector<std::string> names;
    for (uint32_t i = 0; i < layer.n_params; ++i) {
        const lamina_param &p = layer.params[i];
        const std::string place = where + ": parameter '" + p.name + "'";
        const auto it = given.find(p.name);
        if (it != given.end())
            out.push_back(number_of(p, it->second, place));
        else if (p.follows != nullptr)
            out.push_back(out[place_of_name(layer.params, i, p.follows)]);
        else if ((p.flags & LAMINA_REQUIRED) != 0)
            throw Error(ErrorCode::input, place + " is required (" + p.summary + ")");
        else
            out.push_back(p.dflt);
        names.emplace_back(p.name);
    }
    for (const auto &[name, value] : given)
        if (std::find(names.begin(), names.end(), name) == names.end()) {
            throw Error(ErrorCode::input,
                        where + ": " + layer.id + " has no parameter '" + name + "'" + did_you_mean(name, names));
        }
    return out;
}

bool is_batch_first(const lamina_layer &layer, const std::vector<double> &params) {
    for (uint32_t i = 0; i < layer.n_params; ++i)
        if (std::string_view(layer.params[i].name) == "batch_first") return params[i] != 0;
    return true;
}

// The C structs of one call, alive as long as it.
struct LayerCall::Arguments {
    std::vector<lamina_tensor> in, weight, out, state;
    lamina_call call{};

    Arguments(const LayerCall &c, const Data *data, const lamina_device *device)
        : in(tensors(c, PortList::in, data ? &data->in : nullptr)),
          weight(tensors(c, PortList::weight, data ? &data->weight : nullptr)),
          out(tensors(c, PortList::out, data ? &data->out : nullptr)),
          state(tensors(c, PortList::state, data ? &data->state : nullptr)) {
        call.struct_size = sizeof call;
        call.params = c.params_.data();
        call.in = in.data(), call.weight = weight.data(), call.out = out.data(), call.state = state.data();
        call.layer = c.layer_->contract;
        call.device = device;
        call.tensor_size = sizeof(lamina_tensor);
    }

    static std::vector<lamina_tensor> tensors(const LayerCall &c, PortList which, const std::vector<void *> *data) {
        const auto &types = c.types(which);
        std::vector<lamina_tensor> out(types.size());
        for (size_t i = 0; i < types.size(); ++i) {
            lamina_tensor &t = out[i];
            const bool widened = data != nullptr && which != PortList::state && types[i].dtype != DType::i32;
            t.dtype = static_cast<uint32_t>(widened ? DType::f32 : types[i].dtype);
            t.rank = static_cast<uint32_t>(types[i].shape.size());
            std::copy(types[i].shape.begin(), types[i].shape.end(), t.dim);
            t.data = data != nullptr ? (*data)[i] : nullptr;
            t.flags = c.bound(which)[i] != i ? static_cast<uint32_t>(LAMINA_STANDS_IN) : 0u;
        }
        return out;
    }
};

LayerCall::LayerCall(const Layer &layer, const std::map<std::string, ParamValue, std::less<>> &params,
                     const CallTypes &types, std::string where)
    : layer_(&layer), where_(std::move(where)), params_(resolve_params(*layer.contract, params, where_)) {
    const lamina_layer &contract = *layer.contract;
    for (uint32_t i = 0; i < contract.n_params; ++i)
        if (contract.params[i].kind == LAMINA_INT)
            dims_.values[contract.params[i].name] = static_cast<int64_t>(params_[i]);
    resolve(PortList::in, types.in);
    resolve(PortList::weight, types.weight);
    resolve(PortList::state, types.state);
    solve();
    infer_outputs();
    if (contract.check == nullptr) return;
    HostState state;
    const lamina_host host = make_host(state);
    const Arguments arguments(*this, nullptr, nullptr);
    if (!succeeded(contract.check(&arguments.call, &host), state, where_))
        throw Error(ErrorCode::input, where_ + ": " + state.message);
}

void LayerCall::resolve(PortList which, const std::map<std::string, TensorType, std::less<>> &given) {
    const auto [ports, n, noun] = ports_of(*layer_->contract, which);
    List &list = lists_[static_cast<size_t>(which)];
    std::vector<std::string> names;
    for (uint32_t i = 0; i < n; ++i) {
        const lamina_port &port = ports[i];
        names.emplace_back(port.name);
        const auto it = given.find(port.name);
        if (it != given.end()) {
            if ((port.dtypes & static_cast<uint32_t>(it->second.dtype)) == 0)
                throw Error(ErrorCode::input, where_ + ": " + noun + " '" + port.name + "': expected " +
                                                  plugin::dtype_names(port.dtypes) + ", found " +
                                                  name_of(it->second.dtype));
            if (it->second.shape.empty() || it->second.shape.size() > LAMINA_MAX_RANK ||
                element_count(it->second.shape) == 0)
                throw Error(ErrorCode::input, where_ + ": " + noun + " '" + port.name +
                                                  "': expected a tensor of 1 to 8 axes, none empty, found shape " +
                                                  to_string(it->second.shape));
            if (!it->second.fits())
                throw Error(ErrorCode::input,
                            where_ + ": " + noun + " '" + port.name + "': " + name_of(it->second.dtype) + " stores " +
                                std::to_string(storage_of(it->second.dtype).block_values) +
                                " values of a row together; expected a last axis that is a multiple of it, found " +
                                to_string(it->second.shape));
            list.types.push_back(it->second);
            list.bound.push_back(i);
        } else if (port.follows != nullptr && which != PortList::state) {
            const uint32_t earlier = place_of_name(ports, i, port.follows);
            list.types.push_back(list.types[earlier]);
            list.bound.push_back(list.bound[earlier]);
        } else if ((port.flags & LAMINA_OPTIONAL) != 0 || which == PortList::state) {
            list.types.emplace_back();
            list.bound.push_back(i);
        } else {
            throw Error(ErrorCode::input, where_ + ": " + noun + " '" + port.name + "' is missing (" + port.dims +
                                              ": " + port.summary + ")");
        }
    }
    for (const auto &[name, type] : given)
        if (std::find(names.begin(), names.end(), name) == names.end()) {
            throw Error(ErrorCode::input, where_ + ": " + layer_->contract->id + " has no " + noun + " '" + name + "'" +
                                              did_you_mean(name, names));
        }
}

// Unifies all given ports until nothing more is learnt: a product with two unknown names waits for another port.
void LayerCall::solve() {
    const bool batch_first = is_batch_first(*layer_->contract, params_);
    bool complete = false;
    for (size_t before = dims_.values.size() + 1; !complete && before != dims_.values.size();) {
        before = dims_.values.size();
        complete = true;
        for (const PortList which : {PortList::in, PortList::weight, PortList::state}) {
            const auto [ports, n, noun] = ports_of(*layer_->contract, which);
            for (uint32_t i = 0; i < n; ++i) {
                const TensorType &type = types(which)[i];
                if (type.shape.empty()) continue;
                const std::string place = where_ + ": " + noun + " '" + ports[i].name + "'";
                complete =
                    unify(ports[i].dims, batch_major(type.shape, ports[i], batch_first), dims_, place) && complete;
            }
        }
    }
}

void LayerCall::infer_outputs() {
    const bool batch_first = is_batch_first(*layer_->contract, params_);
    const auto [ports, n, noun] = ports_of(*layer_->contract, PortList::out);
    List &list = lists_[static_cast<size_t>(PortList::out)];
    for (uint32_t i = 0; i < n; ++i) {
        const std::string place = where_ + ": " + noun + " '" + ports[i].name + "'";
        const DType dtype = ports[i].dtypes == LAMINA_I32 ? DType::i32 : DType::f32;
        list.types.push_back({dtype, batch_major(instantiate(ports[i].dims, dims_, place), ports[i], batch_first)});
        list.bound.push_back(i);
    }
}

std::optional<std::pair<int64_t, int64_t>> LayerCall::values(uint32_t input) const {
    const char *text = layer_->contract->inputs[input].values;
    if (text == nullptr) return std::nullopt;
    std::istringstream in(text);
    std::string low, high;
    in >> low >> high;
    const auto lo = evaluate(low, dims_);
    const auto hi = evaluate(high, dims_);
    if (!lo || !hi)
        throw Error(ErrorCode::plugin, where_ + ": input '" + layer_->contract->inputs[input].name +
                                           "': the contract's values \"" + text + "\" name something unknown");
    return std::pair(*lo, *hi);
}

void LayerCall::reference(const Data &data) const {
    HostState state;
    const lamina_host host = make_host(state);
    const Arguments arguments(*this, &data, nullptr);
    if (!succeeded(layer_->contract->reference(&arguments.call, &host), state, where_))
        throw Error(ErrorCode::plugin, where_ + ": the reference may not be unsupported: " + state.message);
}

bool LayerCall::run(const lamina_cpu_kernel &kernel, const Data &data) const {
    HostState state;
    const lamina_host host = make_host(state);
    const Arguments arguments(*this, &data, nullptr);
    return succeeded(kernel.run(&arguments.call, &host), state, where_);
}

bool LayerCall::plan(uint32_t variant, const lamina_device &device, const PlanSink &sink, std::string &why_not) const {
    HostState state;
    state.sink = &sink;
    const lamina_host host = make_host(state);
    const Arguments arguments(*this, nullptr, &device);
    const bool planned = succeeded(layer_->contract->plan(&arguments.call, variant, &host), state, where_);
    why_not = planned ? "" : state.message;
    return planned;
}

} // namespace lamina::abi
