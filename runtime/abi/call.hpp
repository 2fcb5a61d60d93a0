// One layer with its parameters and all its tensors' types resolved: what a plugin's functions are called with.
#pragma once

#include "abi/dims.hpp"
#include "abi/library.hpp"

#include <lamina/tensor.hpp>

#include <functional>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace lamina::abi {

using ParamValue = std::variant<bool, double, std::string>;

enum class PortList { in, weight, out, state };

// A layer's parameters in its contract's order, with what is left out filled in. Throws Error(input), whose message
// begins with `where`.
[[nodiscard]] std::vector<double> resolve_params(const lamina_layer &layer,
                                                 const std::map<std::string, ParamValue, std::less<>> &given,
                                                 const std::string &where);
// Of those, batch_first: true for a layer that has no such parameter.
[[nodiscard]] bool is_batch_first(const lamina_layer &layer, const std::vector<double> &params);

// Types by port name; ports that are left out do not appear.
struct CallTypes {
    std::map<std::string, TensorType, std::less<>> in, weight, state;
};

class LayerCall {
  public:
    // Checks everything that the contract says (parameters, presence, dtypes, dims, the plugin's own check), fills in
    // what was left out, and infers the outputs. `where` ("layer 'encoder.0.attention'") begins every message.
    // Throws Error(input); Error(plugin) when the contract itself is at fault.
    LayerCall(const Layer &layer, const std::map<std::string, ParamValue, std::less<>> &params, const CallTypes &types,
              std::string where);

    [[nodiscard]] const Layer &layer() const { return *layer_; }
    [[nodiscard]] const std::string &where() const { return where_; }
    [[nodiscard]] const Dims &dims() const { return dims_; }
    [[nodiscard]] const std::vector<double> &params() const { return params_; } // in the contract's order

    // In the contract's order. Empty shape: left out. A port that another stands in for has that one's type.
    [[nodiscard]] const std::vector<TensorType> &types(PortList list) const {
        return lists_[static_cast<size_t>(list)].types;
    }
    // The port of the same list whose tensor is bound: itself, or the one that stands in for it.
    [[nodiscard]] const std::vector<uint32_t> &bound(PortList list) const {
        return lists_[static_cast<size_t>(list)].bound;
    }

    // The values that an I32 input may hold: [lo, hi). Nothing when any value will do.
    [[nodiscard]] std::optional<std::pair<int64_t, int64_t>> values(uint32_t input) const;

    // Host memory for each port in the contract's order; null where it is left out. Floating-point data is F32.
    struct Data {
        std::vector<void *> in, weight, out, state;
    };
    void reference(const Data &data) const;                            // throws Error
    bool run(const lamina_cpu_kernel &kernel, const Data &data) const; // false: UNSUPPORTED

    // Calls the plugin's plan(); the callbacks receive what it emits. False, and the reason, when it is UNSUPPORTED.
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
    };
    const Layer *layer_;
    std::string where_;
    Dims dims_;
    std::vector<double> params_;
    List lists_[4];

    struct Arguments;

    void resolve(PortList which, const std::map<std::string, TensorType, std::less<>> &given);
    void solve();
    void infer_outputs();
};

} // namespace lamina::abi
