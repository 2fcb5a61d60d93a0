// Kernels and models beside their references, of proof.hpp.
#include "call.hpp"
#include "module.hpp"
#include "tensors.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <lamina/proof.hpp>

namespace lamina::python {
namespace {

const char *name_of(CaseResult::Status status) {
    using Status = CaseResult::Status;
    return status == Status::passed ? "passed" : status == Status::failed ? "failed" : "skipped";
}

void add_verdict(nb::module_ &m) {
    nb::class_<Verdict>(m, "Verdict", "Whether a result is close enough to the expected one, and its worst element.")
        .def_ro("compared", &Verdict::compared, "How many elements.")
        .def_ro("passed", &Verdict::passed)
        .def_ro("ratio", &Verdict::ratio, "The largest error, divided by the error that is allowed there.")
        .def_ro("tensor", &Verdict::tensor)
        .def_ro("index", &Verdict::index)
        .def_ro("got", &Verdict::got)
        .def_ro("expected", &Verdict::expected)
        .def_ro("error", &Verdict::error)
        .def_ro("limit", &Verdict::limit)
        .def_ro("ulps", &Verdict::ulps)
        .def("__str__", &Verdict::text)
        .def("__repr__", [](const Verdict &v) { return "<lamina.Verdict " + v.text() + ">"; });
}

void add_check(nb::module_ &m) {
    nb::class_<CheckOptions>(m, "CheckOptions")
        .def(nb::init<>())
        .def_rw("layers", &CheckOptions::layers)
        .def_rw("variants", &CheckOptions::variants)
        .def_rw("case_text", &CheckOptions::case_text)
        .def_rw("replay", &CheckOptions::replay)
        .def_rw("own_cases_only", &CheckOptions::own_cases_only)
        .def_rw("seed", &CheckOptions::seed)
        .def_rw("thorough", &CheckOptions::thorough)
        .def_rw("soak", &CheckOptions::soak)
        .def_rw("progress", &CheckOptions::begin);
    nb::class_<CaseResult>(m, "CaseResult", "A case of a layer, run by one of its variants.")
        .def_ro("layer", &CaseResult::layer)
        .def_ro("variant", &CaseResult::variant)
        .def_ro("case_text", &CaseResult::case_text)
        .def_prop_ro(
            "status", [](const CaseResult &r) { return name_of(r.status); }, "\"passed\", \"failed\" or \"skipped\".")
        .def_ro("why", &CaseResult::why, "Why it failed or was skipped.")
        .def_ro("verdict", &CaseResult::verdict)
        .def_ro("replay", &CaseResult::replay, "The command line that runs this case again.")
        .def("__repr__", [](const CaseResult &r) {
            return "<lamina.CaseResult " + r.layer + ", " + r.variant + ", " + r.case_text + ": " + name_of(r.status) +
                   ">";
        });
    nb::class_<CheckReport>(m, "CheckReport")
        .def_ro("results", &CheckReport::results)
        .def_prop_ro("passed", &CheckReport::passed)
        .def_prop_ro("unproved", &CheckReport::unproved)
        .def("summary", &CheckReport::summary, nb::arg("device"));
    m.def(
        "check",
        [](const Runtime &runtime, const Device &device, const CheckOptions &options) {
            return unlocked([&] { return check(runtime, device, options); });
        },
        nb::arg("runtime"), nb::arg("device"), nb::arg("options"));
}

void add_compare(nb::module_ &m) {
    nb::class_<LayerComparison>(m, "LayerComparison", "A layer of a model beside its reference.")
        .def_ro("graph", &LayerComparison::graph)
        .def_ro("layer", &LayerComparison::layer)
        .def_ro("type", &LayerComparison::type)
        .def_ro("variant", &LayerComparison::variant)
        .def_ro("device", &LayerComparison::device, "The id of the one that runs it.")
        .def_ro("own", &LayerComparison::own, "The layer alone, given what the references computed.")
        .def_ro("accumulated", &LayerComparison::accumulated,
                "In the running model, with the errors of all layers before it.")
        .def_ro("prompt", &LayerComparison::prompt)
        .def_ro("step", &LayerComparison::step, "The token that `own` is about.")
        .def_ro("rows", &LayerComparison::rows, "Of the layer's outputs, in all steps.")
        .def_ro("compared_rows", &LayerComparison::compared_rows, "How many of them the reference computed.")
        .def_ro("other_choices", &LayerComparison::other_choices,
                "Rows for which the running model chose other indices than the reference would have.")
        .def_ro("least_margin", &LayerComparison::least_margin, "Of those choices: -0.01 is up to 1 % worse.")
        .def_ro("not_numbers", &LayerComparison::not_numbers, "Whether the reference, too, gave NaN.")
        .def_prop_ro("agrees", &LayerComparison::agrees)
        .def("__repr__", [](const LayerComparison &l) {
            return "<lamina.LayerComparison " + l.layer + (l.agrees() ? ": agrees>" : ": wrong>");
        });
    nb::class_<Comparison>(m, "Comparison")
        .def_ro("device", &Comparison::device)
        .def_ro("layers", &Comparison::layers)
        .def_ro("changed_outputs", &Comparison::changed_outputs)
        .def_ro("unproven", &Comparison::unproven)
        .def_ro("proof_command", &Comparison::proof_command)
        .def_ro("replay_command", &Comparison::replay_command)
        .def_prop_ro("agrees", &Comparison::agrees)
        .def_prop_ro("first_wrong",
                     [](const Comparison &c) {
                         const LayerComparison *wrong = c.first_wrong();
                         return wrong == nullptr ? std::nullopt : std::optional<LayerComparison>(*wrong);
                     })
        .def_prop_ro("summary", &Comparison::summary)
        .def_prop_ro("svg", &Comparison::svg);
    m.def(
        "compare",
        [](const Runtime &runtime, const Model &model, const Device &device, const std::vector<std::string> &texts,
           const Arrays &inputs, const std::string &graph, const std::string &against,
           const std::map<std::string, std::string> &variants, bool fusion, const std::string &precision,
           const std::string &kv_cache, const std::vector<size_t> &split, const std::vector<uint64_t> &max_memory,
           size_t repeat, const std::filesystem::path &replay_folder, bool all_rows) {
            CompareOptions options;
            options.texts = texts;
            options.inputs = tensors_of(inputs);
            options.graph = graph;
            options.against = against;
            options.variants.insert(variants.begin(), variants.end());
            options.fusion = fusion;
            options.precision = precision_named(precision);
            options.cache = cache_named(kv_cache);
            options.split = split;
            options.max_memory = max_memory;
            options.repeat = repeat;
            options.replay_folder = replay_folder;
            options.all_rows = all_rows;
            return unlocked([&] { return compare(runtime, model, device, options); });
        },
        nb::arg("runtime"), nb::arg("model"), nb::arg("device"), nb::arg("texts"), nb::arg("inputs"), nb::arg("graph"),
        nb::arg("against"), nb::arg("variants"), nb::arg("fusion"), nb::arg("precision"), nb::arg("kv_cache"),
        nb::arg("split"), nb::arg("max_memory"), nb::arg("repeat"), nb::arg("replay_folder"), nb::arg("all_rows"));
}

void add_compare_with_record(nb::module_ &m) {
    nb::class_<RecordedLayer>(m, "RecordedLayer", "A result of a model beside that of another program.")
        .def_ro("graph", &RecordedLayer::graph)
        .def_ro("layer", &RecordedLayer::layer)
        .def_ro("type", &RecordedLayer::type, "Empty for an output of the graph.")
        .def_ro("error", &RecordedLayer::error, "The largest difference, relative to the largest value.")
        .def_prop_ro("agrees", &RecordedLayer::agrees)
        .def("__repr__", [](const RecordedLayer &l) {
            return "<lamina.RecordedLayer " + l.layer + (l.agrees() ? ": agrees>" : ": differs>");
        });
    nb::class_<RecordComparison>(m, "RecordComparison", "What `compare_with` has found.")
        .def_ro("device", &RecordComparison::device)
        .def_ro("made_by", &RecordComparison::made_by)
        .def_ro("tokens", &RecordComparison::tokens, "How the tokens of the texts differ; empty if they do not.")
        .def_ro("layers", &RecordComparison::layers)
        .def_prop_ro("agrees", &RecordComparison::agrees)
        .def_prop_ro("first_wrong",
                     [](const RecordComparison &c) {
                         const RecordedLayer *wrong = c.first_wrong();
                         return wrong == nullptr ? std::nullopt : std::optional<RecordedLayer>(*wrong);
                     })
        .def_prop_ro("summary", &RecordComparison::summary)
        .def("__repr__", &RecordComparison::summary);
    m.def(
        "compare_with_record",
        [](const Runtime &runtime, const Model &model, const Device &device, const std::filesystem::path &record) {
            return unlocked([&] { return compare_with_record(runtime, model, device, record); });
        },
        nb::arg("runtime"), nb::arg("model"), nb::arg("device"), nb::arg("record"));
}

} // namespace

void add_proof(nb::module_ &m) {
    add_verdict(m);
    add_check(m);
    add_compare(m);
    add_compare_with_record(m);
}

} // namespace lamina::python
