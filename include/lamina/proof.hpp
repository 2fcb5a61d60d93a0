// Proof: does a kernel compute what its layer's reference says, and a model on a device what all the references say?
// This is what `lamina check` and `lamina compare` run. testing.hpp makes Catch2 matchers of it.
//
//     lamina::Runtime runtime;
//     const lamina::CheckReport report = lamina::check(runtime, runtime.device("vulkan:0"), {.layers = {"rms_norm"}});
//     for (const lamina::CaseResult &r : report.results)
//         if (r.status == lamina::CaseResult::Status::failed) std::cerr << r.replay << '\n' << r.why << '\n';
#pragma once

#include <lamina/lamina.hpp>
#include <lamina/plugin.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lamina {

// ---- Tensors ----

// Whether a result is as close to what is expected as it has to be; its worst element tells by how much.
struct Verdict {
    size_t compared = 0; // elements
    bool passed = false;
    double ratio = 0; // the greatest error as a part of what is allowed there; infinite for a misplaced NaN
    // The element behind `ratio`.
    std::string tensor;
    Shape index;
    double got = 0, expected = 0;
    double error = 0, limit = 0;
    uint64_t ulps = 0; // between the two, as floats or as integers

    // "y[1, 36, 5]: expected 0.5, found 0.75: off by 0.25 (4194304 ULP), 12500 times the 2e-05 allowed in its row"
    [[nodiscard]] std::string text() const;
};

// In every row (the last axis): max|got - expected| <= rtol * max|expected| + atol, over finite values; NaN stands
// where NaN is expected, an infinity where one of its sign is. I32 must be equal. Nothing to compare is not passed, nor
// is another shape. `name` is the tensor's.
[[nodiscard]] Verdict compare(const Tensor &got, const Tensor &expected, const lamina_tolerance &tolerance,
                              const std::string &name);

// ---- Layers: every variant against the reference ----

struct CheckOptions {
    std::vector<std::string> layers{};   // by id; empty: all
    std::vector<std::string> variants{}; // by name; empty: all
    std::string case_text{};             // this case alone; empty: the layer's own cases and generated ones
    std::filesystem::path replay{};      // this one, which compare() wrote, alone; it names its layer itself
    bool own_cases_only = false;         // those that the layer declares, and no generated ones
    uint64_t seed = 1;                   // of the generated cases, and of those that name none
    bool thorough = false;               // 200 generated cases a layer, and larger ones, instead of 24
};

struct CaseResult {
    enum class Status { passed, failed, skipped };
    std::string layer, variant, case_text;
    Status status = Status::passed;
    std::string why;    // it failed or was skipped
    Verdict verdict;    // of the first run; nothing compared where it did not come to that
    std::string replay; // the command line that runs this case again
};

struct CheckReport {
    std::vector<CaseResult> results;
    size_t refused = 0; // generated combinations that layers refused, and that were drawn again
    [[nodiscard]] size_t count(CaseResult::Status status) const;
    // "LAYER, VARIANT": those that did not do a single one of several cases. Nothing is known of them.
    [[nodiscard]] std::vector<std::string> unproved() const;
    [[nodiscard]] bool passed() const; // something was run, nothing failed, and no variant is unproved
};

// A case passes when the outputs and states agree with the reference, a second run gives the same bits, and nothing was
// written beside a tensor or scratch block. Memory is poisoned with NaN before each run. A variant that does not do a
// case's shapes is skipped; a baseline that skips has failed. What goes wrong is a result, not an error.
//
// The device cpu has something to check where its executor has a fast kernel for a layer; the report of any other layer
// there is empty, since its reference is what runs.
//
// `progress` is called after every case. Throws Error(plugin) for an unknown layer or a layer's own case that is none,
// Error(usage) for a variant that no checked layer has, Error(input) for a case that is not one, and Error(no_device).
[[nodiscard]] CheckReport check(const Runtime &runtime, const Device &device, const CheckOptions &options = {},
                                const std::function<void(const CaseResult &)> &progress = {});

// ---- Admission: what may run on a device ----

// What was found out about a variant: whether sessions may take it on this device.
struct AdmittedVariant {
    std::string layer, variant;
    size_t passed = 0;     // cases that the layer declares
    bool admitted = false; // all of them that it does, one at least, and those like the steps of models that ran here
    std::string why;       // it is barred: the case that failed, and the command that replays it; else empty
};

// Proves anew, in full, which variants of these layers (all, when empty) may run on a Vulkan device: on every case that
// the layers declare, and on those like the steps of models that were run there. Sessions do the same bit by bit. What
// comes out is remembered where the runtime keeps that (RuntimeOptions::cache).
//
// `progress` is called after every variant; it may throw, to end the work, and what has been proved is kept. Throws
// Error(usage) for the CPU, whose fast kernels check() holds to the references, Error(plugin) for an unknown layer.
std::vector<AdmittedVariant> admit(const Runtime &runtime, const Device &device,
                                   const std::vector<std::string> &layers = {},
                                   const std::function<void(const AdmittedVariant &)> &progress = {});

// ---- Models: which layer goes wrong first, and by how much ----

struct LayerComparison {
    std::string graph, layer, type, variant; // variant: what the device computed it with
    Verdict own;         // the layer alone, fed with what the references computed: is this kernel right?
    Verdict accumulated; // in the running model, with the errors of all layers before it
    // Text is decoded token by token, with a cache: the token whose `own` this is, the worst so far.
    std::optional<size_t> step{};
    // Errors add up, and what they come to is for the model's author to judge; a NaN or an infinity in the running
    // model that is none by the references is wrong.
    [[nodiscard]] bool agrees() const;
};

struct Comparison {
    Device device;
    std::filesystem::path replay;        // the file that was written; empty: none
    std::string replay_command;          // what runs it
    std::vector<LayerComparison> layers; // in the order in which they run; a graph ends with its first wrong token
    // "GRAPH.OUTPUT": other bits when the graph runs as sessions run it, where tensors share memory, than when each has
    // its own.
    std::vector<std::string> changed_outputs;
    [[nodiscard]] const LayerComparison *first_wrong() const; // null when all agree
    [[nodiscard]] bool agrees() const { return first_wrong() == nullptr && changed_outputs.empty(); }
    // One line: "all 46 layers on vulkan:0 (...) agree with the reference", or the first that does not.
    [[nodiscard]] std::string summary() const;
};

struct CompareOptions {
    // What the model is run on: texts where it takes text (its own greedy output is what the decoder sees), or the
    // inputs of one graph. Neither: two short texts in the model's own tokens.
    std::vector<std::string> texts{};
    TensorMap inputs{};
    std::string graph{};                                        // for inputs; "": the only one
    std::string against = "reference";                          // or "cpu": the CPU's fast kernels, for large models
    std::map<std::string, std::string, std::less<>> variants{}; // layer id -> variant
    // Where the first layer that is wrong is written, with its inputs, weights and results, for CheckOptions::replay:
    // a folder, made when it is needed. Empty: nowhere.
    std::filesystem::path replay_folder{};
};

// Throws Error(usage) for a graph that the model does not have, or when it takes no text and no inputs were given.
[[nodiscard]] Comparison compare(const Runtime &runtime, const Model &model, const Device &device,
                                 const CompareOptions &options = {});

} // namespace lamina
