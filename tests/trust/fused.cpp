// A fusion of an activation and a dropout. That of relu is wrong, that of silu is right.
#include <lamina/plugin.hpp>

#include LAYER_KERNELS

#include <string_view>

namespace {
using namespace lamina::plugin;

struct Fused {
#ifdef LAYER_fused_relu
    static constexpr auto id = "fused_relu";
    static constexpr auto fuses = R"({"layers": [
        {"name": "active", "type": "activation", "inputs": {"x": "x"}, "params": {"activation": "relu"}},
        {"name": "same", "type": "dropout", "inputs": {"x": "active"}}], "outputs": {"y": "same"}})";
#else
    static constexpr auto id = "fused_silu";
    static constexpr auto fuses = R"({"layers": [
        {"name": "active", "type": "activation", "inputs": {"x": "x"}, "params": {"activation": "silu"}},
        {"name": "same", "type": "dropout", "inputs": {"x": "active"}}], "outputs": {"y": "same"}})";
#endif
    static constexpr auto summary = "dropout(activation(x))", source = "";
    static constexpr std::array inputs{input("x", "...", "any tensor")};
    static constexpr std::array outputs{output("y", "...", "activated")};
    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{baseline("one invocation per element")};
    static constexpr std::array tolerances{tolerance(1e-5, 1e-6)};
    static constexpr std::array cases{"T=37", "B=2 T=130"};

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        const struct { uint32_t size; } push{u32(x.size())};
        plan.dispatch(lamina_kernels::fused, plan.spread(ceil_div(x.size(), 64)), {plan.in("x"), plan.out("y")}, push,
                      {{0, std::string_view(id) == "fused_relu" ? 1u : 0u}});
    }
};

} // namespace

LAMINA_PLUGIN(Fused)
