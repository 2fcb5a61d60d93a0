// One layer with its parameters resolved, and its shapes solved as far as sizes are known.
#pragma once

#include "abi/dims.hpp"
#include "abi/library.hpp"
#include "abi/params.hpp"

#include <lamina/tensor.hpp>

#include <array>
#include <functional>
#include <span>
#include <utility>

namespace lamina::abi {

enum class PortList { in, weight, out, state };
inline constexpr std::array port_lists{PortList::in, PortList::weight, PortList::out, PortList::state};

struct Ports {
    std::span<const lamina_port> ports;
    const char *noun; // "input"
};
[[nodiscard]] Ports ports_of(const lamina_layer &layer, PortList list);

// Converts between the order of a tensor's axes and that of the port's dims: for a sequence without batch_first, the
// first two are swapped.
template <class AnyShape> [[nodiscard]] AnyShape reordered(AnyShape shape, const lamina_port &port, bool batch_first) {
    if ((port.flags & LAMINA_SEQUENCE) != 0 && !batch_first && shape.size() >= 2) std::swap(shape[0], shape[1]);
    return shape;
}

struct OpenType {
    DType dtype = DType::f32;
    OpenShape shape;

    OpenType() = default;
    OpenType(DType of, OpenShape sizes) : dtype(of), shape(std::move(sizes)) {}
    explicit OpenType(const TensorType &t) : dtype(t.dtype), shape(t.shape.begin(), t.shape.end()) {}

    // The type with known sizes. Its size in bytes fits in 63 bits, so later products of sizes need no overflow check.
    // Throws Error(plugin) if a size is open, Error(input) for a size that no tensor can have.
    [[nodiscard]] TensorType known(const Solver &solver) const;
};

// The states that the host provides. `dtype` is used if the contract allows it, else F32.
struct HostStates {
    std::optional<Size> capacity{};
    DType dtype = DType::f32;
};

// Types by port name; ports that are left out do not appear.
struct OpenTypes {
    std::map<std::string, OpenType, std::less<>> in, weight, state;
    HostStates host_states{}; // used instead of `state` for states with a capacity
};

class OpenCall {
  public:
    // Checks a call against the contract (parameters, presence, dtypes, dims), fills in defaults, and infers the
    // outputs. The solver learns what the dims say about open sizes, and must outlive this object. Every message begins
    // with `where` ("layer 'encoder.0.attention'"). Throws Error(input), or Error(plugin) if the contract is wrong.
    OpenCall(const Layer &layer, const Params &params, const OpenTypes &types, Solver &solver, std::string where);

    [[nodiscard]] const Layer &layer() const { return *layer_; }
    [[nodiscard]] const std::string &where() const { return where_; }
    [[nodiscard]] const std::vector<double> &params() const { return params_; } // in the contract's order
    [[nodiscard]] const Dims &dims() const { return dims_; }

    // In the contract's order. An empty shape means that the port was left out. A port that another stands in for has
    // the type of that one.
    [[nodiscard]] const std::vector<OpenType> &types(PortList list) const { return of(list).types; }
    // The port of the same list whose tensor is bound: the port itself, or the one that stands in for it.
    [[nodiscard]] const std::vector<uint32_t> &bound(PortList list) const { return of(list).bound; }
    // "WHERE: input 'query'".
    [[nodiscard]] std::string place(PortList list, uint32_t port) const;

    // The values that each input may hold, and each output does: [lo, hi). Nothing if any value is allowed, and for
    // other lists.
    using Range = std::pair<Size, Size>;
    [[nodiscard]] const std::optional<Range> &range(PortList list, uint32_t port) const {
        return of(list).ranges[port];
    }

  private:
    struct List {
        std::vector<OpenType> types;
        std::vector<uint32_t> bound;
        std::vector<std::optional<Range>> ranges;
    };
    const Layer *layer_;
    std::string where_;
    std::vector<double> params_;
    Dims dims_;
    std::array<List, 4> lists_;

    [[nodiscard]] const List &of(PortList list) const { return lists_[static_cast<size_t>(list)]; }
    void resolve(PortList which, const std::map<std::string, OpenType, std::less<>> &given, const Solver &solver);
    void unify(PortList which);
    void infer(PortList which, uint32_t port, DType wanted); // F32 if the contract does not allow that dtype
    void infer_states(const OpenTypes &types);
    void infer_ranges(PortList which);
};

} // namespace lamina::abi
