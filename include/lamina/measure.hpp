// Measures how long layers and models take on a device, beside what the device can do at most. `lamina bench` and
// `lamina profile` print it.
//
//     lamina::Runtime runtime;
//     const lamina::Device device = runtime.device("vulkan:0");
//     const lamina::Limits limits = lamina::measure_limits(runtime, device);
//     for (const lamina::LayerMeasurement &m : lamina::measure_layer(runtime, device, "linear", "T=128 K=768 N=768"))
//         std::cout << m.variant << ": " << m.time.median << " s, of which "
//                   << limits.least_seconds(m.cost) << " s are the limit\n";
#pragma once

#include <lamina/lamina.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lamina {

// Times of repeated runs in seconds. Half of them lie between `low` and `high`.
struct Spread {
    size_t runs = 0;
    double median = 0, low = 0, high = 0;
};
// Of these values, at least one.
[[nodiscard]] Spread spread_of(std::vector<double> values);

// What a call cannot do without.
struct Cost {
    double bytes = 0;      // of its inputs, weights, outputs and states, each read or written once
    double operations = 0; // multiplications and additions; 0: the layer does not declare them
};

// ---- Layers ----

// What a device does at most, as measured with large tensors. A layer whose tensors stay in a cache may be faster.
struct Limits {
    double bytes_per_second = 0, operations_per_second = 0;
    std::string memory, product; // what was measured: "reading 256 MiB", "OpenBLAS 1024x1024x1024"

    // The time in which the device could move these bytes, or do these operations, whichever is longer.
    [[nodiscard]] double least_seconds(const Cost &cost) const;
};
// On the CPU, and on a software driver, which runs there: threads that read, and a product by OpenBLAS, or by the layer
// `linear` if OpenBLAS is not installed. On a GPU: the layers `activation` and `linear`, each with its fastest variant.
// Takes about a second. Throws Error(plugin) if they are missing, Error(no_device).
[[nodiscard]] Limits measure_limits(const Runtime &runtime, const Device &device);

struct MeasureOptions {
    // Measure every variant that can compute the case, proved or not; false: the one that a session would use.
    bool all_variants = false;
    std::string variant{}; // only this one; empty: see all_variants
    // How long each variant runs: at least three times, or once if a run takes longer than ten times this, and at most
    // 10,000 times. Two runs before that do not count, or one if it takes longer than this.
    double seconds = 0.5;
    bool yardstick = false; // also the product of the same matrices by OpenBLAS
};

struct LayerMeasurement {
    std::string layer, variant, case_text;
    std::string why_not; // why the variant was not measured; else empty
    Spread time;
    Cost cost;
    bool device_clock = false; // timed by the device, without submitting and waiting; else by the host
    // OpenBLAS on this machine's processor, if the case is a product of two matrices and OpenBLAS is installed.
    std::optional<Spread> openblas{};
};

// Measures a layer with the shapes, options and values of a case (CheckOptions::case_text in proof.hpp); empty: the
// largest of those that the layer declares. Lengths, masks and positions that the case does not set have their highest
// value, so that a cache is full; indices are spread over their table. Throws Error as check() does, and Error(input)
// for a variant that the layer does not have or that cannot compute the case.
[[nodiscard]] std::vector<LayerMeasurement> measure_layer(const Runtime &runtime, const Device &device,
                                                          const std::string &layer, const std::string &case_text,
                                                          const MeasureOptions &options = {});

// ---- Models ----

// How well a model foresees a text: the lower, the better. It is exp of the mean of -ln p, over all tokens that have
// others before them, where p is the probability that the model gives to a token after these.
struct Perplexity {
    double value = 0, error = 0; // error: the standard error of the value, if tokens were independent
    size_t tokens = 0;           // that count
};

struct PerplexityOptions {
    // The text is read in parts of so many tokens, and no token sees those of another part. As transformers computes it
    // if stride and length are both the window.
    size_t window = 512;
    std::function<void(size_t done, size_t all)> progress{}; // after every window, in tokens
};

// For a model that generates text and has no encoder. The text gets the special tokens that the model's tokenizer adds.
// Throws Error(usage) for another model, and for a window longer than the model's positions; Error(input) for a text of
// fewer than two tokens.
[[nodiscard]] Perplexity measure_perplexity(Session &session, const std::string &text,
                                            const PerplexityOptions &options = {});

// ---- Graphs ----

// How long one dispatch took. On the CPU, and on a device that has no timestamps, a layer is timed as a whole, or each
// dispatch together with its submission.
struct DispatchTime {
    std::string kernel; // empty on the CPU
    double begin = 0;   // seconds since the graph began
    double seconds = 0;
};

struct LayerTime {
    std::string layer, type, variant, device; // device: its id
    // Without the caches of earlier tokens, of which only the host's plan is known, and with no operations for a layer
    // that reads them.
    Cost cost;
    std::vector<DispatchTime> dispatches;
    [[nodiscard]] double seconds() const;
};

// One run of a graph: what SessionOptions::profile is called with.
struct GraphTimes {
    std::string graph;
    std::chrono::steady_clock::time_point began;
    double seconds = 0;        // by the host's clock, with uploads and downloads
    bool device_clock = false; // whether dispatches were timed by the device
    std::vector<LayerTime> layers;
};

} // namespace lamina
