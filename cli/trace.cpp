#include "trace.hpp"

#include "base/json.hpp"

#include <map>

namespace lamina::cli {
namespace {

// The graphs come first; each device has a track for its layers, and one for their dispatches.
constexpr int graphs = 1;

struct Tracks {
    int layers, dispatches;
};

constexpr double microseconds = 1e6;

Json name_of_track(int track, const std::string &name) {
    return {{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", track}, {"args", {{"name", name}}}};
}

Json event(int track, const std::string &name, const std::string &category, double begin, double seconds, Json args) {
    return {{"name", name},
            {"cat", category},
            {"ph", "X"},
            {"ts", begin * microseconds},
            {"dur", seconds * microseconds},
            {"pid", 1},
            {"tid", track},
            {"args", std::move(args)}};
}

void add_layer(const LayerTime &layer, double graph_began, const Tracks &tracks, Json &events) {
    if (layer.dispatches.empty()) return;
    const DispatchTime &first = layer.dispatches.front(), &last = layer.dispatches.back();
    events.push_back(event(tracks.layers, layer.layer, layer.type, graph_began + first.begin,
                           last.begin + last.seconds - first.begin,
                           {{"type", layer.type},
                            {"variant", layer.variant},
                            {"bytes", layer.cost.bytes},
                            {"operations", layer.cost.operations}}));
    for (const DispatchTime &d : layer.dispatches)
        if (!d.kernel.empty())
            events.push_back(event(tracks.dispatches, d.kernel, layer.type, graph_began + d.begin, d.seconds,
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
    events.push_back(name_of_track(graphs, "graphs, by the host's clock"));
    std::map<std::string, Tracks> tracks; // by device
    for (const Device &each : device.parts.empty() ? std::vector{device} : device.parts) {
        const int next = graphs + 1 + 2 * static_cast<int>(tracks.size());
        const std::string where = device.parts.empty() ? "" : " on " + each.id;
        tracks[each.id] = {next, next + 1};
        events.push_back(name_of_track(next, "layers" + where));
        events.push_back(name_of_track(next + 1, "dispatches" + where));
    }
    for (const GraphTimes &run : runs) {
        const double at = std::chrono::duration<double>(run.began - began).count();
        events.push_back(event(graphs, run.graph, "graph", at, run.seconds, Json::object()));
        for (const LayerTime &layer : run.layers) add_layer(layer, at, tracks.at(layer.device), events);
    }
    return Json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.in_one_line() + "\n";
}

} // namespace lamina::cli
