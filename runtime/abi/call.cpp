#include "abi/call.hpp"

#include "abi/pattern.hpp"

#include <lamina/plugin/arranged.h>
#include <lamina/plugin/prepare.h>

#include <algorithm>
#include <exception>

namespace lamina::abi {
namespace {

// What the callbacks of one call record.
struct HostState {
    std::string message;
    const LayerCall::PlanSink *sink = nullptr;
    const BoundCall::Arranged *arranged = nullptr;
    std::exception_ptr thrown; // by a sink; stored at the C boundary and rethrown on the other side
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

template <class T> T &given(T *pointer) {
    if (pointer == nullptr) throw Error(ErrorCode::plugin, "a plugin passed a null pointer to a function of the host");
    return *pointer;
}

constexpr lamina_prepare prepare_extension{
    sizeof(lamina_prepare),
    [](const lamina_host *h, uint64_t bytes, lamina_ref *out) {
        return through_boundary(h, [&](const auto &sink) { given(out) = sink.prepared(bytes); });
    },
    [](const lamina_host *h, const lamina_dispatch *dispatch) {
        return through_boundary(h, [&](const auto &sink) { sink.prepare(given(dispatch)); });
    },
};

constexpr lamina_arranged arranged_extension{
    sizeof(lamina_arranged),
    [](const lamina_host *h, uint32_t weight, uint64_t bytes, lamina_status (*fill)(void *, void *),
       void *context) -> const void * {
        HostState &state = state_of(h);
        try {
            return (*state.arranged)(
                weight, bytes, [&](void *memory) { return fill != nullptr && fill(context, memory) == LAMINA_OK; });
        } catch (...) {
            if (!state.thrown) state.thrown = std::current_exception();
            return nullptr;
        }
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
        return through_boundary(h, [&](const auto &sink) { given(out) = sink.scratch(bytes); });
    };
    host.constant = [](const lamina_host *h, const void *data, uint64_t bytes, lamina_ref *out) {
        return through_boundary(h, [&](const auto &sink) {
            given(out) = sink.constant({static_cast<const std::byte *>(data), static_cast<size_t>(bytes)});
        });
    };
    host.dispatch = [](const lamina_host *h, const lamina_dispatch *dispatch) {
        return through_boundary(h, [&](const auto &sink) { sink.dispatch(given(dispatch)); });
    };
    host.extension = [](const lamina_host *h, const char *id) -> const void * {
        if (id == nullptr) return nullptr;
        if (std::string_view(id) == LAMINA_PREPARE && state_of(h).sink != nullptr) return &prepare_extension;
        if (std::string_view(id) == LAMINA_ARRANGED && state_of(h).arranged != nullptr) return &arranged_extension;
        return nullptr;
    };
    return host;
}

// Turns a status into an Error; returns false for LAMINA_UNSUPPORTED.
bool succeeded(lamina_status status, const HostState &state, const std::string &where) {
    if (state.thrown) std::rethrow_exception(state.thrown);
    if (status == LAMINA_OK) return true;
    if (status == LAMINA_UNSUPPORTED) return false;
    const std::string why = state.message.empty() ? "the plugin gave no reason" : state.message;
    switch (status) {
    case LAMINA_INVALID:
        throw Error(ErrorCode::input, where + ": " + why);
    case LAMINA_NO_MEMORY:
        throw Error(ErrorCode::memory, where + ": " + why);
    default:
        throw Error(ErrorCode::plugin, where + ": the plugin failed: " + why);
    }
}

OpenTypes open(const CallTypes &known) {
    OpenTypes out;
    const auto fill = [](const auto &from, auto &to) {
        for (const auto &[name, type] : from) to.emplace_hint(to.end(), name, OpenType(type));
    };
    fill(known.in, out.in), fill(known.weight, out.weight), fill(known.state, out.state);
    return out;
}

std::vector<lamina_tensor> tensors_of(const LayerCall &call, PortList list, const std::vector<void *> *data,
                                      uint32_t stored_dtypes = 0) {
    const std::vector<TensorType> &types = call.types(list);
    std::vector<lamina_tensor> out(types.size());
    for (size_t i = 0; i < types.size(); ++i) {
        lamina_tensor &t = out[i];
        const bool stored = (static_cast<uint32_t>(types[i].dtype) & (stored_dtypes | LAMINA_I32)) != 0;
        const bool widened = data != nullptr && list != PortList::state && !stored;
        t.dtype = static_cast<uint32_t>(widened ? DType::f32 : types[i].dtype);
        t.rank = static_cast<uint32_t>(types[i].shape.size());
        std::copy(types[i].shape.begin(), types[i].shape.end(), t.dim);
        t.data = data != nullptr ? (*data)[i] : nullptr;
        t.flags = call.bound(list)[i] != i ? static_cast<uint32_t>(LAMINA_STANDS_IN) : 0u;
    }
    return out;
}

std::optional<LayerCall::Range> known_range(const OpenCall &call, PortList list, uint32_t port, const Solver &solver) {
    const auto &range = call.range(list, port);
    if (!range) return std::nullopt;
    const auto low = solver.resolve(range->first).number(), high = solver.resolve(range->second).number();
    if (!low || !high)
        throw Error(ErrorCode::plugin, call.place(list, port) +
                                           ": expected a contract that determines the range of values, found " +
                                           solver.text(OpenShape{range->first, range->second}));
    return std::pair(*low, *high);
}

} // namespace

BoundCall::BoundCall(const LayerCall &call, const LayerCall::Data *data, const lamina_device *device,
                     uint32_t stored_dtypes)
    : call_(&call), in_(tensors_of(call, PortList::in, data ? &data->in : nullptr)),
      weight_(tensors_of(call, PortList::weight, data ? &data->weight : nullptr, stored_dtypes)),
      out_(tensors_of(call, PortList::out, data ? &data->out : nullptr)),
      state_(tensors_of(call, PortList::state, data ? &data->state : nullptr)) {
    arguments_.struct_size = sizeof arguments_;
    arguments_.params = call.params().data();
    arguments_.in = in_.data(), arguments_.weight = weight_.data();
    arguments_.out = out_.data(), arguments_.state = state_.data();
    arguments_.layer = call.layer().contract;
    arguments_.device = device;
    arguments_.tensor_size = sizeof(lamina_tensor);
}

void BoundCall::reference(std::span<const int64_t> rows) const {
    if (call_->layer().pattern != nullptr) {
        LayerCall::Data data;
        for (const auto &[from, to] : {std::pair(&in_, &data.in), std::pair(&weight_, &data.weight),
                                       std::pair(&out_, &data.out), std::pair(&state_, &data.state)})
            for (const lamina_tensor &tensor : *from) to->push_back(tensor.data);
        return run_members(*call_, data, rows);
    }
    HostState state;
    const lamina_host host = make_host(state);
    lamina_call arguments = arguments_;
    if (!rows.empty()) arguments.rows = rows.data(), arguments.n_rows = rows.size();
    if (!succeeded(call_->layer().contract->reference(&arguments, &host), state, call_->where()))
        throw Error(ErrorCode::plugin, call_->where() + ": the reference may not be unsupported: " + state.message);
}

bool BoundCall::run(const lamina_cpu_kernel &kernel, const Arranged &arranged) const {
    HostState state;
    if (arranged) state.arranged = &arranged;
    const lamina_host host = make_host(state);
    return succeeded(kernel.run(&arguments_, &host), state, call_->where());
}

LayerCall::LayerCall(const Layer &layer, const Params &params, const CallTypes &types, std::string where)
    : LayerCall(layer, params, types, std::move(where), Solver()) {
    check();
}

LayerCall::LayerCall(const Layer &layer, const Params &params, const CallTypes &types, std::string where, Solver solver)
    : LayerCall(OpenCall(layer, params, open(types), solver, std::move(where)), solver) {}

LayerCall::LayerCall(const OpenCall &call, const Solver &solver)
    : layer_(&call.layer()), where_(call.where()), params_(call.params()) {
    for (const PortList list : port_lists) {
        List &own = lists_[static_cast<size_t>(list)];
        own.bound = call.bound(list);
        for (uint32_t i = 0; i < own.bound.size(); ++i) {
            own.types.push_back(
                located([&] { return call.place(list, i); }, [&] { return call.types(list)[i].known(solver); }));
            own.ranges.push_back(known_range(call, list, i, solver));
        }
    }
    for (const auto &[name, size] : call.dims().names())
        if (const auto number = solver.resolve(size).number()) sizes_.emplace_hint(sizes_.end(), name, *number);
    if (const auto &axes = call.dims().leading()) // of a known shape
        for (const Size &size : *axes) leading_.push_back(solver.resolve(size).number().value());
}

void LayerCall::check() const {
    if (layer_->pattern != nullptr) (void)calls_of_members(*this); // each is checked
    if (layer_->contract->check == nullptr) return;
    HostState state;
    const lamina_host host = make_host(state);
    const BoundCall call(*this, nullptr, nullptr, 0);
    if (!succeeded(layer_->contract->check(&call.arguments_, &host), state, where_))
        throw Error(ErrorCode::input, where_ + ": " + state.message);
}

std::optional<int64_t> LayerCall::size(std::string_view name) const {
    const auto found = sizes_.find(name);
    return found == sizes_.end() ? std::nullopt : std::optional(found->second);
}

int64_t LayerCall::rows() const {
    int64_t most = 0;
    for (const TensorType &t : types(PortList::out)) most = std::max(most, rows_of(t.shape));
    return most;
}

bool LayerCall::by_rows() const {
    const lamina_layer &contract = *layer_->contract;
    return std::all_of(contract.outputs, contract.outputs + contract.n_outputs,
                       [](const lamina_port &port) { return (port.flags & LAMINA_BY_ROWS) != 0; });
}

LayerCall LayerCall::with(uint32_t input, uint32_t output) const {
    LayerCall out = *this;
    List &in = out.lists_[static_cast<size_t>(PortList::in)];
    in.types[input] = types(PortList::out)[output];
    in.ranges[input] = values(PortList::out, output);
    in.bound[input] = input;
    return out;
}

void LayerCall::reference(const Data &data, std::span<const int64_t> rows) const {
    BoundCall(*this, data).reference(rows);
}

bool LayerCall::plan(uint32_t variant, const lamina_device &device, const PlanSink &sink, std::string &why_not) const {
    HostState state;
    state.sink = &sink;
    const lamina_host host = make_host(state);
    const BoundCall call(*this, nullptr, &device, 0);
    const bool planned = succeeded(layer_->contract->plan(&call.arguments_, variant, &host), state, where_);
    why_not = planned ? "" : state.message;
    return planned;
}

} // namespace lamina::abi
