#include "trace.hpp"

#include "base/json.hpp"

namespace lamina::cli {
namespace {

enum class Track { graphs = 1, layers = 2, dispatches = 3 };

constexpr double microseconds = 1e6;

Json name_of_track(Track track, const std::string &name) {
    return {
        {"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", static_cast<int>(track)}, {"args", {{"name", name}}}};
}

Json event(Track track, const std::string &name, const std::string &category, double begin, double seconds, Json args) {
    return {{"name", name},
            {"cat", category},
            {"ph", "X"},
            {"ts", begin * microseconds},
            {"dur", seconds * microseconds},
            {"pid", 1},
            {"tid", static_cast<int>(track)},
            {"args", std::move(args)}};
}

void add_layer(const LayerTime &layer, double graph_began, Json &events) {
    if (layer.dispatches.empty()) return;
    const DispatchTime &first = layer.dispatches.front(), &last = layer.dispatches.back();
    events.push_back(event(Track::layers, layer.layer, layer.type, graph_began + first.begin,
                           last.begin + last.seconds - first.begin,
                           {{"type", layer.type},
                            {"variant", layer.variant},
                            {"bytes", layer.cost.bytes},
                            {"operations", layer.cost.operations}}));
    for (const DispatchTime &d : layer.dispatches)
        if (!d.kernel.empty())
            events.push_back(event(Track::dispatches, d.kernel, layer.type, graph_began + d.begin, d.seconds,
                                   {{"layer", layer.layer}, {"variant", layer.variant}}));
}

} // namespace

std::string trace_of(const std::vector<GraphTimes> &runs, std::chrono::steady_clock::time_point began,
                     const Device &device) {
    Json events = Json::array();
    events.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", 1},
                      {"tid", 0},
                      {"args", {{"name", "lamina on " + device.id + " (" + device.name + ")"}}}});
    events.push_back(name_of_track(Track::graphs, "graphs, by the host's clock"));
    events.push_back(name_of_track(Track::layers, "layers"));
    events.push_back(name_of_track(Track::dispatches, "dispatches"));
    for (const GraphTimes &run : runs) {
        const double at = std::chrono::duration<double>(run.began - began).count();
        events.push_back(event(Track::graphs, run.graph, "graph", at, run.seconds, Json::object()));
        for (const LayerTime &layer : run.layers) add_layer(layer, at, events);
    }
    return Json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.in_one_line() + "\n";
}

} // namespace lamina::cli
