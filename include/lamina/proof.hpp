// Compares kernels with their layers' references, and models on a device with the references of all their layers.
// `lamina check` and `lamina compare` run this; testing.hpp wraps it in Catch2 matchers.
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

// Whether a result is close enough to the expected one, and its worst element.
struct Verdict {
    size_t compared = 0; // elements
    bool passed = false;
    double ratio = 0; // the largest error divided by the error allowed there; infinite for a misplaced NaN
    // The element behind `ratio`.
    std::string tensor;
    Shape index;
    double got = 0, expected = 0;
    double error = 0, limit = 0;
    uint64_t ulps = 0; // units in the last place between the two floats, or the difference of integers

    // "y[1, 36, 5]: expected 0.5, found 0.75: off by 0.25 (4194304 ULP), 12500 times the 2e-05 allowed in its row"
    [[nodiscard]] std::string text() const;
};

// In every row (the last axis): max|got - expected| <= rtol * max|expected| + atol, over finite values. NaN must be
// where NaN is expected, and infinities where infinities of the same sign are. I32 must be equal. An empty tensor or
// one of another shape does not pass. `name` is the tensor's.
[[nodiscard]] Verdict compare(const Tensor &got, const Tensor &expected, const lamina_tolerance &tolerance,
                              const std::string &name);

// What so many runs without a fault say about one that appears now and then, such as a race: "a fault in 1 of 100 runs
// would have been missed with probability 0.05". A fault in a fraction p of runs is missed with probability (1-p)^runs.
[[nodiscard]] std::string odds_of_missing(size_t runs);

// ---- Layers: every variant against the reference ----

struct CheckOptions {
    std::vector<std::string> layers{};   // by id; empty: all
    std::vector<std::string> variants{}; // by name; empty: all
    std::string case_text{};             // run only this case; empty: the layer's own cases and generated ones
    std::filesystem::path replay{};      // run only this case, which compare() wrote; it names its layer itself
    bool own_cases_only = false;         // run only the cases that the layer declares, no generated ones
    uint64_t seed = 1;                   // of the generated cases, and of cases that name none
    bool thorough = false;               // 200 generated cases per layer instead of 24, and larger ones
    size_t soak = 0;                     // run every case so many times more; all must give the same bits
    // Called before each case: "linear, baseline", and how many cases of all are done. May throw to stop.
    std::function<void(const std::string &what, size_t done, size_t all)> begin{};
};

struct CaseResult {
    enum class Status { passed, failed, skipped };
    std::string layer, variant, case_text;
    Status status = Status::passed;
    std::string why;    // why it failed or was skipped
    Verdict verdict;    // of the first run; compares nothing if there was none
    std::string replay; // the command line that runs this case again
    // Skipped because the device lacks a feature that the variant needs, or the build a kernel.
    bool missing = false;
    bool broke = false; // failed without a result: the device or its driver refused
};

struct CheckReport {
    std::vector<CaseResult> results;
    size_t refused = 0; // generated combinations that layers refused, and that were replaced by others
    // What no case reached, though the device or a model may: "linear: no case dispatches kernel 'product_matrix',
    // ...". Only if all cases of a layer ran.
    std::vector<std::string> unreached{};
    [[nodiscard]] size_t count(CaseResult::Status status) const;
    // "LAYER, VARIANT" for each variant that skipped all of several cases, although nothing that it needs is missing.
    // Nothing is known about it.
    [[nodiscard]] std::vector<std::string> unproved() const;
    [[nodiscard]] bool passed() const; // something ran, nothing failed, and no variant is unproved
    // One line: "124 cases on vulkan:0 (...) agree with the references, 3 skipped", or what is wrong.
    [[nodiscard]] std::string summary(const Device &device) const;
};

// A case passes if the outputs and states agree with the reference, a second run gives the same bits, and nothing was
// written outside of tensors and scratch blocks. Memory is filled with NaN before each run. A variant that does not
// handle a case's shapes is skipped; a baseline that skips has failed. Failures are results, not exceptions.
//
// On the device interpreter, kernels run without a driver. It is slow and has no optional feature but subgroups. There
// a case also fails if a kernel does what drivers may let pass: two invocations access the same memory, one of them
// writes, and no barrier lies in between; an index is beyond an array, be it in a buffer, shared or local; a value is
// read that nothing has written; some invocations do not reach a barrier; arithmetic is undefined.
//
// On the device cpu only layers with a fast kernel are checked. For any other layer the report is empty, because there
// the reference itself runs.
//
// `progress` is called after every case. Throws Error(plugin) for an unknown layer or an invalid case of a layer,
// Error(usage) for a variant that no checked layer has, Error(input) for an invalid `case_text`, and Error(no_device).
[[nodiscard]] CheckReport check(const Runtime &runtime, const Device &device, const CheckOptions &options = {},
                                const std::function<void(const CaseResult &)> &progress = {});

// ---- Admission: what may run on a device ----

// Whether sessions may use a variant on a device.
struct AdmittedVariant {
    std::string layer, variant;
    size_t passed = 0; // how many of the cases that the layer declares
    // Passed all declared cases that it handles, at least one, and those like the steps of models that ran here.
    bool admitted = false;
    std::string why;      // if it is barred: the case that failed, and the command that replays it; else empty
    size_t tried = 0;     // how many of the declared cases ran or were skipped so far
    size_t cases = 0;     // how many the layer declares
    size_t of_models = 0; // how many cases like the steps of models have passed
    std::string device{}; // its id
};

// Proves from scratch which variants of these layers (all, if empty) may run on a device. It runs every case
// that the layers declare, and the cases like the steps of models that were run there. Sessions do the same a little at
// a time. The results are kept in the runtime's cache (RuntimeOptions::cache).
//
// `progress` is called after every variant. It may throw to stop; what has been proved is kept. Throws Error(usage) for
// "reference", and Error(plugin) for an unknown layer.
std::vector<AdmittedVariant> admit(const Runtime &runtime, const Device &device,
                                   const std::vector<std::string> &layers = {},
                                   const std::function<void(const AdmittedVariant &)> &progress = {});

// What is known of the variants of these layers (all, if empty) on a device, without proving anything: what sessions
// and admit() have found so far, in this process and in earlier ones. Does not wait for a proof that is running. A
// layer that runs its reference there has no variants. Of several devices, on each. Throws as admit() does.
[[nodiscard]] std::vector<AdmittedVariant> proved(const Runtime &runtime, const Device &device,
                                                  const std::vector<std::string> &layers = {});

// ---- Models: which layer goes wrong first, and by how much ----

struct LayerComparison {
    std::string graph, layer, type, variant; // variant: the one that the device used
    Verdict own;         // the layer alone, given what the references computed: is this kernel right?
    Verdict accumulated; // in the running model, with the errors of all layers before it
    // Text is decoded as in generation, with a cache: what a prompt has before its last token goes through as a block,
    // by the layers that the cache depends on; all that follows goes token by token.
    bool prompt = false;          // in the block
    std::optional<size_t> step{}; // the token that `own` is about, the worst so far
    size_t changed_runs = 0;      // of CompareOptions::repeat: how many gave other bits than the first
    // The rows of the layer's outputs in all steps (a row is what the last axis holds), and how many of them the
    // reference computed, so that `own` is about them: see CompareOptions::all_rows.
    size_t rows = 0, compared_rows = 0;
    // For a layer that chooses indices by scores, such as a router: the rows for which the running model chose
    // otherwise than the reference would have, given what it computed, and the least margin of their choices there:
    // -0.01 says that what was chosen is up to 1 % worse. The references of later layers follow the running model's
    // choice.
    size_t other_choices = 0;
    double least_margin = 0;
    std::string device{}; // the id of the one that runs it
    // The reference, too, gave NaN: a weight, or what the layer is given, is NaN, infinite or too large.
    bool not_numbers = false;
    // Whether `own` passed, all runs gave the same bits, the references gave no NaN, and the running model has no NaN
    // or infinity that they do not have. Other accumulated errors are for the model's author to judge.
    [[nodiscard]] bool agrees() const;
};

struct Comparison {
    Device device;
    std::filesystem::path replay;        // the file that was written; empty if none was
    std::string replay_command;          // the command that runs it
    std::vector<LayerComparison> layers; // in the order in which they run; a graph ends with its first wrong token
    // "GRAPH.OUTPUT" for each output whose bits depend on whether tensors share memory, as they do in sessions, or that
    // differed from run to run.
    std::vector<std::string> changed_outputs;
    // Types of layers of which no variant has passed its proof. Sessions refuse them; here they ran to be compared.
    std::vector<std::string> unproven;
    std::string proof_command; // the command that proves them again; empty if there are none
    [[nodiscard]] const LayerComparison *first_wrong() const; // null if all agree
    [[nodiscard]] bool agrees() const { return first_wrong() == nullptr && changed_outputs.empty(); }
    // One line: "all 46 layers on vulkan:0 (...) agree with the reference, 12 of them in a sample of their rows", or
    // the first that does not.
    [[nodiscard]] std::string summary() const;
    // How many layers were compared in a sample of their rows.
    [[nodiscard]] size_t sampled() const;
    // A picture, as the text of an SVG file: a row for each layer, with its own and the accumulated error as fractions
    // of their limits. Blue is far below the limit, white at it, red above it; the scale is logarithmic, with four
    // decades on either side.
    [[nodiscard]] std::string svg() const;
};

struct CompareOptions {
    // What the model runs on: texts, if it takes text (the decoder gets the model's own greedy output), or the inputs
    // of one graph. With neither, two short texts of the model's own tokens.
    std::vector<std::string> texts{};
    TensorMap inputs{};
    std::string graph{};                                        // for inputs; "": the only one
    std::string against = "reference";                          // or "cpu": the CPU's fast kernels, for large models
    std::map<std::string, std::string, std::less<>> variants{}; // layer id -> variant
    Precision precision = Precision::full;                      // as in SessionOptions, also the next four
    bool fusion = true;
    DType cache = DType::f32;
    std::vector<size_t> split{};
    std::vector<uint64_t> max_memory{};
    size_t repeat = 1; // run each layer and each graph so often; all runs must give the same bits
    // The folder in which the first wrong layer is saved with its inputs, weights and results, for
    // CheckOptions::replay. It is created if needed. Empty: nothing is saved.
    std::filesystem::path replay_folder{};
    // Whether the references compute all rows, however long it takes. Otherwise, one that would need more than 1e9
    // multiplications in all steps computes some rows: a sample, as in the cases that a device is proved with, and
    // those in which the device's result and that of the CPU's kernel differ by more than half the tolerance. Later
    // layers are then given what the CPU's kernel computed. A layer that has none there is compared in all rows.
    bool all_rows = false;
};

// If no variant of a layer has passed its proof, the first one that can run is compared. Throws Error(usage) for a
// graph that the model does not have, if it takes no text and no inputs are given, and if the device is the one that
// it would be compared with.
[[nodiscard]] Comparison compare(const Runtime &runtime, const Model &model, const Device &device,
                                 const CompareOptions &options = {});

// ---- Models: beside what another program computed ----

// A result that is in a record.
struct RecordedLayer {
    static constexpr double limit = 1e-4;

    std::string graph;
    std::string layer;
    std::string type; // empty: an output of the graph
    double error = 0; // the largest difference, relative to the largest value; NaN if the sizes differ

    [[nodiscard]] bool agrees() const { return error <= limit; }
};

struct RecordComparison {
    Device device;
    std::string made_by;               // "transformers 5.2.0"
    std::string tokens;                // how the tokens of the texts differ; empty: they do not, or there are none
    std::vector<RecordedLayer> layers; // in the order in which they run; each graph's outputs follow its layers

    [[nodiscard]] bool agrees() const { return tokens.empty() && !layers.empty() && first_wrong() == nullptr; }
    [[nodiscard]] const RecordedLayer *first_wrong() const; // null if all agree
    [[nodiscard]] std::string summary() const;
};

// Compares what a model computes on a device with a record, which `lamina compare --with transformers` makes. The
// layers that are compared are those which both programs have, by their names. Throws Error(input) for a file that is
// no record, or not of this model.
[[nodiscard]] RecordComparison compare_with_record(const Runtime &runtime, const Model &model, const Device &device,
                                                   const std::filesystem::path &record);

} // namespace lamina
