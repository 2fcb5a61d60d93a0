// The layer skeleton: what it takes and gives, what it computes, and how a GPU does. README.md has the maths.
//
// A layer that works as it stands. Make it yours from top to bottom: the contract and the reference here, the kernel in
// skeleton.comp, the plan that runs it here again. `lamina check skeleton` proves each step.
#include <lamina/plugin.hpp>

#include "skeleton.kernels.hpp" // made by lamina_add_layer(): every *.comp beside skeleton.comp, by its name

namespace {
using namespace lamina::plugin;

struct Skeleton {
    static constexpr auto id = "skeleton"; // its "type" in model.json
    static constexpr auto summary = "factor * x * weight, over the last axis";
    static constexpr auto source = "the formula, or the paper: authors, title, where it is found";

    // ---- The contract: all that the host checks before anything here is called ----

    static constexpr std::array params{
        real("factor", "what every value is multiplied by", 1.0, -1000, 1000), // default, least, greatest
    };
    // A name in dims is one size wherever it stands, so y is as large as x and weight as long as a row; "..." is any
    // number of axes.
    static constexpr std::array inputs{
        input("x", "... C", "rows to scale"),
    };
    static constexpr std::array weights{
        optional(weight("weight", "C", "a factor for each column; 1 when left out")),
    };
    static constexpr std::array outputs{
        output("y", "... C", "scaled rows"),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    // The baseline runs on every device. Faster ways for some devices come after it, and plan() asks plan.variant.
    static constexpr std::array variants{
        baseline("one invocation an element"),
    };
    // What a kernel may differ from the reference, of a row's largest value and beside it: as little as it can keep.
    static constexpr std::array tolerances{tolerance(1e-6, 0)};
    // Shapes and options that this layer finds hard. More are made up from the contract.
    static constexpr std::array cases{
        "B=2 T=3 C=160 factor=0.5 +weight",
        "B=1 T=5 C=37 factor=-3 +weight weights=f16",
        "T=7 C=1",
    };

    // ---- The reference: the maths as plainly as it can be said, in double. Kernels are held to it ----

    static void reference(const Call &call) {
        const Tensor x = call.in("x"), weight = call.weight("weight"), y = call.out("y");
        const double factor = call.real("factor");
        for (int64_t r = 0; r < x.rows(); ++r) {
            const auto in = x.row(r), out = y.row(r);
            for (size_t c = 0; c < in.size(); ++c)
                out[c] = static_cast<float>(factor * in[c] * (weight ? weight.f32()[c] : 1.0));
        }
    }

    // ---- The plan: which kernels run, over what. Called once for every shape ----

    static void plan(const Call &call, Plan &plan) {
        const Tensor x = call.in("x");
        const struct { // as the shader's push constants
            uint32_t size, cols;
            float factor;
        } push{u32(x.size()), u32(x.cols()), static_cast<float>(call.real("factor"))};
        plan.dispatch(lamina_kernels::skeleton, plan.spread(ceil_div(x.size(), 64)),
                      {plan.in("x"), plan.weight("weight"), plan.out("y")}, push,
                      {{0, dtype_of(call.weight("weight"))}}); // specialization constant 0: WEIGHT in the shader
    }
};

} // namespace

LAMINA_PLUGIN(Skeleton)
