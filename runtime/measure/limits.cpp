#include "measure/limits.hpp"

#include "measure/layer.hpp"
#include "measure/memory_speed.hpp"
#include "measure/openblas.hpp"

#include <algorithm>
#include <limits>

namespace lamina {

double Limits::least_seconds(const Cost &cost) const {
    return std::max(cost.bytes / bytes_per_second, cost.operations / operations_per_second);
}

namespace measure {
namespace {

constexpr double each = 0.2; // seconds

struct Fastest {
    double seconds = std::numeric_limits<double>::infinity();
    Cost cost;
    std::string what; // "linear T=1024 K=1024 N=1024, tiled"
};

// Of all variants on a GPU. On the CPU, of the one that sessions use: the reference is not worth waiting for.
Fastest fastest(detail::RuntimeState &runtime, const Device &device, const std::string &layer,
                const std::string &case_text) {
    Fastest out;
    MeasureOptions options;
    options.all_variants = device.kind != "cpu";
    options.seconds = each;
    for (const LayerMeasurement &m : measure_layer(runtime, device, layer, case_text, options))
        if (m.why_not.empty() && m.time.median < out.seconds)
            out = {m.time.median, m.cost, layer + " " + case_text + ", " + m.variant};
    return out;
}

} // namespace

Limits limits(detail::RuntimeState &runtime, const Device &device) {
    Limits out;
    const bool gpu = device.kind != "cpu" && device.kind != "software";
    if (!gpu) {
        out.bytes_per_second = read_bytes_per_second(each);
        out.memory = "reading 256 MiB";
        constexpr int64_t size = 1024;
        if (const auto time = openblas_product(size, size, size, each)) {
            out.operations_per_second = 2.0 * size * size * size / time->median;
            out.product = "OpenBLAS 1024x1024x1024";
            return out;
        }
    } else {
        const Fastest copy = fastest(runtime, device, "activation", "B=4096 T=8192"); // relu: two times 128 MiB
        out.bytes_per_second = copy.cost.bytes / copy.seconds;
        out.memory = copy.what;
    }
    const Fastest product = fastest(runtime, device, "linear", gpu ? "T=4096 K=4096 N=4096" : "T=1024 K=1024 N=1024");
    out.operations_per_second = product.cost.operations / product.seconds;
    out.product = product.what;
    return out;
}

} // namespace measure
} // namespace lamina
