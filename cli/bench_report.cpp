#include "bench_report.hpp"

#include "bench_chart.hpp"
#include "bench_layers.hpp"
#include "interrupt.hpp"

#include "base/binary_size.hpp"
#include "base/processor.hpp"

#include <lamina/proof.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <thread>

namespace lamina::cli {
namespace {

struct Shape {
    const char *layer, *cases;
};
// An encoder layer of 512 channels at two lengths; a token and a prompt of a language model of 2048 channels; and
// products for which a variant is made: a short prompt, few columns and a token with a long K.
constexpr std::array shapes{
    Shape{"linear", "T=1,128,512 K=512 N=512"},
    Shape{"linear", "T=128,512 K=512 N=2048"},
    Shape{"linear", "T=1,256 K=2048 N=8192"},
    Shape{"linear", "T=1,256 K=2048 N=8192 weights=f16,q8_0,q4_k"},
    Shape{"linear", "T=16 K=2048 N=2048 weights=f16"},
    Shape{"linear", "T=64 K=1536 N=576 weights=f16"},
    Shape{"linear", "T=1 K=8192 N=2048 weights=f16,q4_k"},
    Shape{"feed_forward", "T=128 C=512 H=2048"},
    Shape{"attention", "B=1 Tq=128 Tk=128 D=64 heads=8"},
    Shape{"attention", "B=1 Tq=512 Tk=512 D=64 heads=8"},
    Shape{"attention", "B=1 Tq=1 Tk=1 D=64 M=2048 heads=32 kv_heads=8 causal=1 +v +position +key_cache +value_cache"},
    Shape{"layer_norm", "T=512 C=512 +weight +bias"},
    Shape{"rms_norm", "T=256 C=2048 +weight"},
    Shape{"softmax", "T=512 C=2048"},
    Shape{"embedding", "T=256 V=32000 C=2048"},
};

std::string line(const std::string &name, const std::string &value) {
    return value.empty() ? "" : "| " + name + " | " + value + " |\n";
}

std::string machine(const Device &device, const Limits &limits) {
    return "| | |\n| --- | --- |\n" + line("device", device.name + " (" + device.kind + ")") +
           line("driver", device.driver) + line("Vulkan", device.api_version) +
           line("memory", device.memory_bytes == 0 ? "" : binary_size(device.memory_bytes)) +
           line("processor",
                processor_name() + ", " + std::to_string(std::thread::hardware_concurrency()) + " threads") +
           line("system", system_name()) + line("Lamina", LAMINA_VERSION) +
           line("bandwidth", significant(limits.bytes_per_second * 1e-9, 3) + " GB/s: " + limits.memory) +
           line("product", significant(limits.operations_per_second * 1e-9, 3) + " GFLOP/s: " + limits.product);
}

// How many of its own cases each variant passed.
std::string verdicts(const Runtime &runtime, const Device &device, Output &output) {
    using Status = CaseResult::Status;
    struct Count {
        size_t passed = 0, failed = 0, skipped = 0;
        std::string why;
    };
    std::map<std::pair<std::string, std::string>, Count> counts;
    CheckOptions options;
    options.own_cases_only = true;
    options.begin = [&](const std::string &what, size_t done, size_t all) {
        stop_if_interrupted();
        output.progress("checking " + what, done, all);
    };
    (void)check(runtime, device, options, [&](const CaseResult &r) {
        Count &count = counts[{r.layer, r.variant}];
        ++(r.status == Status::passed ? count.passed : r.status == Status::failed ? count.failed : count.skipped);
        if (r.status != Status::passed && (count.why.empty() || r.status == Status::failed)) count.why = r.why;
    });
    output.clear_progress();
    Sheet sheet({{"layer", "LAYER"},
                 {"variant", "VARIANT"},
                 {"passed", "PASSED", Align::right},
                 {"failed", "FAILED", Align::right},
                 {"skipped", "SKIPPED", Align::right},
                 {"why", "WHY"}});
    const auto number = [](size_t n) { return Entry(Json(n), std::to_string(n)); };
    for (const auto &[names, c] : counts)
        sheet.row({names.first, names.second, number(c.passed), number(c.failed), number(c.skipped), c.why});
    return sheet.str(Format::md, output);
}

LayerResults figures(const Runtime &runtime, const Device &device, const Limits &limits, Output &output) {
    LayerBench how;
    how.measure.all_variants = device.kind != "cpu"; // whose other variant is the slow reference
    how.measure.seconds = 0.2;
    how.without_refused = true;
    LayerResults all = bench_layers(runtime, device, limits, {}, how, {}, output); // only the headings
    for (const Shape &shape : shapes) {
        how.cases = {shape.cases};
        LayerResults some = bench_layers(runtime, device, limits, {shape.layer}, how, {}, output);
        all.sheet.append(some.sheet);
        std::ranges::move(some.measured, std::back_inserter(all.measured));
    }
    return all;
}

} // namespace

Report report_of(const Runtime &runtime, const Device &device, const Limits &limits, const std::string &chart,
                 Output &output) {
    const std::string begin =
        "# " + device.name + "\n\n" + machine(device, limits) +
        (device.kind == "software"
             ? "\nA software driver computes on the processor: its times say nothing about a GPU.\n"
             : "") +
        "\n## Are the results right?\n\nThe cases that the layers declare, compared with the references.\n\n" +
        verdicts(runtime, device, output) +
        "\n## How fast are the layers?\n\nTIME is the median, SPREAD the distance between the quartiles. OF LIMIT "
        "compares with the copy and the product above. GAIN is how many times as fast a variant is as the first of its "
        "case, the baseline. A variant that cannot compute a case has no row. In the chart, the longest bar of each "
        "case is its fastest "
        "variant; the numbers are times, and speeds as multiples of the first variant's.\n\n";
    const LayerResults found = figures(runtime, device, limits, output);
    return {begin + found.sheet.str(Format::md, output) + "\n![Times of the variants](" + chart + ")\n",
            draw(found.measured)};
}

} // namespace lamina::cli
