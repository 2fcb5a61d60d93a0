#include "tensor_run.hpp"

#include "interrupt.hpp"
#include "table.hpp"
#include "taps.hpp"

#include "base/nearest.hpp"

#include <lamina/inspect.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace lamina::cli {
namespace {

struct Summary { // of the finite elements
    double min = std::numeric_limits<double>::infinity(), max = -min, mean = 0;
    int64_t finite = 0;
};

template <class T> Summary summary_of(std::span<const T> values) {
    Summary s;
    for (const T each : values) {
        const auto v = static_cast<double>(each);
        if (!std::isfinite(v)) continue;
        s.min = std::min(s.min, v), s.max = std::max(s.max, v);
        s.mean += (v - s.mean) / static_cast<double>(++s.finite);
    }
    return s;
}

Summary summary_of(const Tensor &tensor) {
    return tensor.dtype() == DType::i32 ? summary_of(tensor.i32()) : summary_of(tensor.f32());
}

Json as_json(const TensorMap &tensors, const Assignments &files) {
    Json out = Json::array();
    for (const auto &[name, tensor] : tensors) {
        const Summary s = summary_of(tensor);
        Json entry{{"name", name}, {"dtype", name_of(tensor.dtype())}, {"shape", tensor.shape()}};
        entry["min"] = s.finite != 0 ? Json(s.min) : Json(nullptr);
        entry["max"] = s.finite != 0 ? Json(s.max) : Json(nullptr);
        entry["mean"] = s.finite != 0 ? Json(s.mean) : Json(nullptr);
        entry["not_finite"] = tensor.size() - s.finite;
        if (const auto file = files.find(name); file != files.end()) entry["file"] = file->second;
        out.push_back(std::move(entry));
    }
    return out;
}

std::string as_text(const TensorMap &tensors, const Output &output) {
    Table table({"OUTPUT", "DTYPE", "SHAPE", {"MIN", Align::right}, {"MAX", Align::right}, {"MEAN", Align::right}, ""});
    for (const auto &[name, tensor] : tensors) {
        const Summary s = summary_of(tensor);
        const auto number = [&](double v) { return s.finite != 0 ? significant(v, 6) : std::string("-"); };
        const int64_t wrong = tensor.size() - s.finite;
        table.row({{name, Style::bold},
                   name_of(tensor.dtype()),
                   to_string(tensor.shape()),
                   number(s.min),
                   number(s.max),
                   number(s.mean),
                   {wrong == 0 ? "" : grouped(wrong) + " not finite", Style::red}});
    }
    return table.str(output);
}

} // namespace

Assignments files_of(const TensorArguments &options, const std::vector<std::string> &outputs) {
    Assignments files = assignments(options.outputs, "--output");
    for (const auto &[name, file] : files)
        if (is_pattern(name))
            throw Error(ErrorCode::usage, "--output " + name + "=" + file +
                                              ": expected the name of one tensor, found a pattern, which --tap takes");
    if (options.output_folder.empty()) return files;
    for (const std::string &name : outputs) files.emplace(name, (options.output_folder / (name + ".npy")).string());
    return files;
}

void make_output_folder(const std::filesystem::path &folder) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) throw Error(ErrorCode::failure, "--output-dir: " + folder.string() + ": " + failed.message());
}

void run_tensors(const TensorArguments &options, const Runtime &runtime, const Model &model, const Device &device,
                 SessionOptions how, Output &output) {
    const ModelContents contents = inspect(model);
    const std::string graph = graph_name(options.graph, contents);
    const Assignments files = files_of(options, names_of(contents.graphs.at(graph).outputs));
    const Taps taps(options.taps);
    std::vector<std::string> inside = taps.patterns(); // tensors inside the graph that --tap or --output name
    for (const auto &[name, file] : files)
        if (!contents.graphs.at(graph).outputs.contains(name)) inside.push_back(name);
    how.keep_all = !inside.empty();
    std::vector<Destination> destinations = taps.destinations(tensor_names(contents.graphs.at(graph)));
    for (const auto &[name, file] : files) destinations.push_back({name, file});
    refuse_shared_files(destinations);

    const TensorMap inputs = input_tensors(options.inputs);
    const TensorMap tensors = runtime.session(model, device, how).run(graph, inputs, inside);
    stop_if_interrupted();
    if (!options.output_folder.empty()) make_output_folder(options.output_folder);
    const Assignments written = write(destinations, tensors, output);
    if (output.json())
        output.print_json(as_json(tensors, written));
    else
        output.print(as_text(tensors, output));
}

void tap_texts(const TensorArguments &options, const std::vector<std::string> &texts, const Model &model,
               Session session, Output &output) {
    const ModelContents contents = inspect(model);
    const Taps taps(options.taps);
    std::vector<std::string> names;
    for (const auto &[name, graph] : contents.graphs)
        for (std::string &tensor : tensor_names(graph)) names.push_back(std::move(tensor));
    std::vector<Destination> destinations = taps.destinations(names);
    refuse_shared_files(destinations);

    const TensorMap tensors = taps.of_texts(session, texts);
    std::erase_if(destinations, [&](const Destination &d) { return !tensors.contains(d.tensor); }); // other graphs
    const Assignments written = write(destinations, tensors, output);
    if (output.json())
        output.print_json(as_json(tensors, written));
    else
        output.print(as_text(tensors, output));
}

} // namespace lamina::cli
