// Devices, models and sessions, of lamina.hpp and inspect.hpp.
#include "call.hpp"
#include "module.hpp"
#include "tensors.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <lamina/inspect.hpp>

#include <algorithm>

namespace lamina::python {
namespace {

using Names = std::map<std::string, std::string>;

Runtime make_runtime(const std::vector<std::filesystem::path> &plugin_folders, bool cache, bool validation) {
    return unlocked([&] {
        RuntimeOptions options = runtime_options();
        options.plugin_folders = plugin_folders;
        options.cache = cache;
        options.validation = validation;
        return Runtime(options);
    });
}

Session make_session(const Runtime &runtime, const Model &model, const Device &device, const Names &variants,
                     bool keep_all, bool fusion, const std::string &precision, const std::string &kv_cache,
                     const std::vector<size_t> &split, const std::vector<uint64_t> &max_memory) {
    SessionOptions options;
    options.variants.insert(variants.begin(), variants.end());
    options.keep_all = keep_all;
    options.fusion = fusion;
    options.precision = precision_named(precision);
    options.cache = cache_named(kv_cache);
    options.split = split;
    options.max_memory = max_memory;
    return unlocked([&] { return runtime.session(model, device, options); });
}

std::map<std::string, OwnArray> run(Session &session, const std::string &graph, const Arrays &inputs,
                                    const std::vector<std::string> &taps) {
    const TensorMap tensors = tensors_of(inputs);
    return arrays_of(unlocked([&] { return session.run(graph, tensors, taps); }));
}

} // namespace

void add_runtime(nb::module_ &m) {
    nb::class_<Device>(m, "Device", "A device of this machine, usable or not.")
        .def_ro("id", &Device::id, "What load() takes: \"cpu\", \"vulkan:0\".")
        .def_ro("name", &Device::name)
        .def_ro("kind", &Device::kind, "\"discrete\", \"integrated\", \"virtual\", \"software\" or \"cpu\".")
        .def_ro("driver", &Device::driver)
        .def_ro("api_version", &Device::api_version)
        .def_ro("uuid", &Device::uuid)
        .def_ro("memory_bytes", &Device::memory_bytes)
        .def_ro("unusable", &Device::unusable, "Why it cannot be used; empty if it can.")
        .def_ro("reason", &Device::reason, "Why \"auto\" chose it.")
        .def("__repr__", [](const Device &d) { return "<lamina.Device " + d.id + ": " + d.name + ">"; });

    nb::class_<ModelTensor>(m, "ModelTensor", "An input of a graph.")
        .def_ro("name", &ModelTensor::name)
        .def_prop_ro("dtype", [](const ModelTensor &t) { return name_of(t.dtype); })
        .def_ro("dims", &ModelTensor::dims, "Sizes: numbers, and names that have the same size in the whole graph.")
        .def("__repr__", [](const ModelTensor &t) { return t.name + ": " + name_of(t.dtype) + " (" + t.dims + ")"; });
    nb::class_<ModelGraph>(m, "Graph", "A graph of a model: what Model.run() runs.")
        .def_ro("inputs", &ModelGraph::inputs)
        .def_prop_ro(
            "outputs",
            [](const ModelGraph &graph) {
                std::vector<std::string> names;
                for (const auto &[name, tensor] : graph.outputs) names.push_back(name);
                return names;
            },
            "Names of the outputs.")
        .def_prop_ro(
            "layers",
            [](const ModelGraph &graph) {
                std::vector<std::pair<std::string, std::string>> names;
                for (const ModelLayer &layer : graph.layers) names.emplace_back(layer.name, layer.type);
                return names;
            },
            "Names and types of the layers, in the order in which they run.")
        .def("__repr__", [](const ModelGraph &graph) {
            return "<lamina.Graph of " + std::to_string(graph.layers.size()) + " layers>";
        });

    m.def("end_calls", &end_calls, "Ends the calls of all other threads, and waits until none is left.");
    m.def("forget_calls", &forget_calls, "After a fork: the threads that are in calls are the parent's.");
    nb::class_<Stop>(m, "Stop", "Ends calls from another thread.").def(nb::init<>()).def("set", &Stop::set);
    m.def("stoppable", &stoppable, nb::arg("stop"), nb::arg("work"));
    nb::class_<Model>(m, "Model").def_prop_ro("name", &Model::name).def_prop_ro("folder", &Model::folder);
    m.def("graphs", [](const Model &model) {
        const ModelContents contents = inspect(model);
        return std::map<std::string, ModelGraph>(contents.graphs.begin(), contents.graphs.end());
    });

    nb::class_<Session>(m, "Session")
        .def_prop_ro("device", &Session::device)
        .def_prop_ro("parts",
                     [](const Session &session) {
                         std::vector<std::tuple<Device, size_t, std::string, std::string>> out;
                         for (const Session::Part &part : unlocked([&] { return session.parts(); }))
                             out.emplace_back(part.device, part.layers, part.first, part.last);
                         return out;
                     })
        .def(
            "use_draft", [](Session &session, const Session &draft) { unlocked([&] { session.use_draft(draft); }); },
            nb::arg("draft"))
        .def("run", &run, nb::arg("graph"), nb::arg("inputs"), nb::arg("taps"));

    nb::class_<Runtime>(m, "Runtime")
        .def(
            "__init__",
            [](Runtime *self, const std::vector<std::filesystem::path> &plugin_folders, bool cache, bool validation) {
                new (self) Runtime(make_runtime(plugin_folders, cache, validation));
            },
            nb::arg("plugin_folders"), nb::arg("cache") = true, nb::arg("validation") = false)
        .def("devices", [](const Runtime &runtime) { return unlocked([&] { return runtime.devices(); }); })
        .def("no_vulkan", [](const Runtime &runtime) { return unlocked([&] { return runtime.no_vulkan(); }); })
        .def(
            "device",
            [](const Runtime &runtime, const std::string &id) { return unlocked([&] { return runtime.device(id); }); },
            nb::arg("id"))
        .def(
            "load",
            [](const Runtime &runtime, const std::filesystem::path &path,
               const std::vector<std::pair<std::filesystem::path, double>> &lora, const std::filesystem::path &mmproj) {
                LoadOptions options{.adapters = {}, .mmproj = mmproj};
                for (const auto &[adapter, scale] : lora) options.adapters.push_back({adapter, scale});
                return unlocked([&] { return runtime.load(path, options); });
            },
            nb::arg("path"), nb::arg("lora") = std::vector<std::pair<std::filesystem::path, double>>(),
            nb::arg("mmproj") = "") // a path would become "."
        .def("session", &make_session, nb::arg("model"), nb::arg("device"), nb::arg("variants"), nb::arg("keep_all"),
             nb::arg("fusion"), nb::arg("precision"), nb::arg("kv_cache"), nb::arg("split"), nb::arg("max_memory"));
}

} // namespace lamina::python
