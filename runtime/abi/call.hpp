// One layer with its parameters and all its tensors' types resolved: what a plugin's functions are called with.
#pragma once

#include "abi/open_call.hpp"

#include <functional>
#include <span>

namespace lamina::abi {

// Types by port name; ports that are left out do not appear.
struct CallTypes {
    std::map<std::string, TensorType, std::less<>> in, weight, state;
};

// How many rows a tensor has: what its last axis holds is one.
[[nodiscard]] inline int64_t rows_of(const Shape &shape) {
    return shape.empty() || shape.back() == 0 ? 0 : element_count(shape) / shape.back();
}

class BoundCall;

class LayerCall {
  public:
    // Checks the call against the contract, then calls the plugin's own check. Every message begins with `where`
    // ("layer 'encoder.0.attention'"). Throws Error(input), or Error(plugin) if the contract itself is wrong.
    LayerCall(const Layer &layer, const Params &params, const CallTypes &types, std::string where);

    // For a call whose sizes the solver has determined. Does not call the plugin's check. Throws Error(plugin) for a
    // size that is still open, Error(input) for a size that no tensor can have.
    LayerCall(const OpenCall &call, const Solver &solver);

    void check() const; // calls the plugin's check, of a fusion those of what it fuses, too; throws Error

    [[nodiscard]] const Layer &layer() const { return *layer_; }
    [[nodiscard]] const std::string &where() const { return where_; }
    [[nodiscard]] const std::vector<double> &params() const { return params_; } // in the contract's order

    // In the contract's order. An empty shape means that the port was left out. A port that another stands in for has
    // the type of that one.
    [[nodiscard]] const std::vector<TensorType> &types(PortList list) const { return of(list).types; }
    // The port of the same list whose tensor is bound: the port itself, or the one that stands in for it.
    [[nodiscard]] const std::vector<uint32_t> &bound(PortList list) const { return of(list).bound; }

    // The size of a name in the contract's dims; nothing if the name occurs only in ports that were left out.
    [[nodiscard]] std::optional<int64_t> size(std::string_view name) const;
    [[nodiscard]] const Shape &leading() const { return leading_; } // what "..." stands for
    [[nodiscard]] int64_t rows() const;                             // of the longest output
    [[nodiscard]] bool by_rows() const; // whether the reference can compute a sample of the rows of every output

    // The values that an I32 input may hold, or that an output holds: [lo, hi). Nothing if any value is allowed, if the
    // input was left out, and for other lists.
    using Range = std::pair<int64_t, int64_t>;
    [[nodiscard]] const std::optional<Range> &values(PortList list, uint32_t port) const {
        return of(list).ranges[port];
    }

    // Host memory for each port in the contract's order; null if the port was left out. Floating-point data is F32,
    // except for weights that a kernel takes as they are stored.
    struct Data {
        std::vector<void *> in, weight, out, state;
    };
    // As BoundCall's, for a call that is made once.
    void reference(const Data &data, std::span<const int64_t> rows = {}) const;

    // The same call with one more input, which is like that output.
    [[nodiscard]] LayerCall with(uint32_t input, uint32_t output) const;

    // Calls the plugin's plan(), which emits to the callbacks. Returns false, and the reason, for UNSUPPORTED.
    struct PlanSink {
        std::function<lamina_ref(uint64_t bytes)> scratch;
        std::function<lamina_ref(std::span<const std::byte>)> constant;
        std::function<void(const lamina_dispatch &)> dispatch; // may throw Error, as all of these
        // <lamina/plugin/prepare.h>
        std::function<lamina_ref(uint64_t bytes)> prepared;
        std::function<void(const lamina_dispatch &)> prepare;
    };
    bool plan(uint32_t variant, const lamina_device &device, const PlanSink &sink, std::string &why_not) const;

  private:
    struct List {
        std::vector<TensorType> types;
        std::vector<uint32_t> bound;
        std::vector<std::optional<Range>> ranges;
    };
    const Layer *layer_;
    std::string where_;
    std::vector<double> params_;
    std::array<List, port_lists.size()> lists_;
    std::map<std::string, int64_t, std::less<>> sizes_;
    Shape leading_;

    friend class BoundCall;

    LayerCall(const Layer &layer, const Params &params, const CallTypes &types, std::string where, Solver solver);
    [[nodiscard]] const List &of(PortList list) const { return lists_[static_cast<size_t>(list)]; }
};

// A call with the memory of its tensors. It can be made again and again, and takes no memory for that.
class BoundCall {
  public:
    // `call` must outlive this. stored_dtypes: the dtypes of weights that are passed as they are stored.
    BoundCall(const LayerCall &call, const LayerCall::Data &data, uint32_t stored_dtypes = 0)
        : BoundCall(call, &data, nullptr, stored_dtypes) {}
    BoundCall(const BoundCall &) = delete;
    BoundCall &operator=(const BoundCall &) = delete;
    BoundCall(BoundCall &&) = default; // arguments_ points to what vectors own
    BoundCall &operator=(BoundCall &&) = default;
    ~BoundCall() = default;

    // rows: what is computed of outputs that are by_rows(), ascending; empty: all. Throws Error.
    void reference(std::span<const int64_t> rows = {}) const;
    // <lamina/plugin/arranged.h>: memory of a weight of the call, which fill() writes when it is new and which then
    // returns whether it has. Null: there is none.
    using Fill = std::function<bool(void *memory)>;
    using Arranged = std::function<const void *(uint32_t weight, uint64_t bytes, const Fill &fill)>;
    // False: UNSUPPORTED.
    bool run(const lamina_cpu_kernel &kernel, const Arranged &arranged = nullptr) const;

  private:
    friend class LayerCall; // which also makes calls without memory, for a device or none
    BoundCall(const LayerCall &call, const LayerCall::Data *data, const lamina_device *device, uint32_t stored_dtypes);

    const LayerCall *call_;
    std::vector<lamina_tensor> in_, weight_, out_, state_;
    lamina_call arguments_{};
};

} // namespace lamina::abi
