// lamina profile: where the time of a model goes, layer by layer and dispatch by dispatch.
#include "command.hpp"
#include "interrupt.hpp"
#include "limits.hpp"
#include "model_arguments.hpp"
#include "sheet.hpp"
#include "trace.hpp"
#include "workload.hpp"

#include "base/file.hpp"

#include <lamina/measure.hpp>

#include <algorithm>
#include <map>

namespace lamina::cli {
namespace {

struct ProfileOptions {
    std::filesystem::path model, trace;
    WorkloadOptions work;
    SessionArguments session;
    std::string by = "type", format = "table";
};

// A line of the table: all dispatches that --by puts together.
struct Portion {
    std::vector<std::string> names; // graph, device, layer, type, variant, kernel; "" for those that --by leaves out
    size_t calls = 0;
    double seconds = 0, least = 0; // least: what the limits allow
    bool part = false;             // of a layer, whose cost is that of all its dispatches
};

class Profile {
  public:
    Profile(std::string by, const DeviceLimits &limits) : by_(std::move(by)), limits_(limits) {}

    void add(const GraphTimes &run) {
        double inside = 0;
        for (const LayerTime &layer : run.layers) {
            const std::string name = by_ == "type" ? "" : layer.layer;
            if (by_ == "dispatch") {
                for (const DispatchTime &d : layer.dispatches)
                    add({run.graph, layer.device, name, layer.type, layer.variant, d.kernel}, d.seconds, layer,
                        layer.dispatches.size() != 1);
            } else {
                add({run.graph, layer.device, name, layer.type, layer.variant, ""}, layer.seconds(), layer, false);
            }
            inside += layer.seconds();
        }
        // The clocks of host and device need not agree to the last digit.
        between_ += std::max(0.0, run.seconds - inside);
        graphs_ += run.seconds;
    }

    // All lines, those that take longest first. `all`: seconds of the whole run.
    [[nodiscard]] std::vector<Portion> lines(double all) const {
        std::vector<Portion> out;
        for (const auto &[names, line] : lines_) out.push_back(line);
        out.push_back({{"", "", "", "copies, submitting, waiting", "", ""}, 0, between_, 0, true});
        out.push_back({{"", "", "", "everything else on the host", "", ""}, 0, std::max(0.0, all - graphs_), 0, true});
        std::stable_sort(out.begin(), out.end(),
                         [](const Portion &a, const Portion &b) { return a.seconds > b.seconds; });
        return out;
    }

  private:
    void add(const std::vector<std::string> &names, double seconds, const LayerTime &layer, bool part) {
        Portion &line = lines_.try_emplace(names, Portion{names}).first->second;
        ++line.calls;
        line.seconds += seconds;
        line.least += limits_.least_seconds(layer);
        line.part |= part;
    }

    std::string by_;
    const DeviceLimits &limits_;
    std::map<std::vector<std::string>, Portion> lines_;
    double between_ = 0, graphs_ = 0;
};

Sheet sheet_of(const std::vector<Portion> &lines, double all, const std::string &by, const Device &device) {
    Sheet sheet({{"graph", "GRAPH"},
                 {"device", device.parts.empty() ? "" : "DEVICE"},
                 {"layer", by == "type" ? "" : "LAYER"},
                 {"type", "TYPE"},
                 {"variant", "VARIANT"},
                 {"kernel", by == "dispatch" ? "KERNEL" : ""},
                 {"calls", "CALLS", Align::right},
                 {"seconds", "TIME", Align::right},
                 {"mean_seconds", "MEAN", Align::right},
                 {"share", "SHARE", Align::right},
                 {"share_of_limit", "OF LIMIT", Align::right}});
    for (const Portion &line : lines) {
        std::vector<Entry> row(line.names.begin(), line.names.end());
        const bool layer = line.calls != 0;
        row.push_back(layer ? Entry(Json(line.calls), grouped(static_cast<int64_t>(line.calls))) : Entry(Json(), ""));
        row.emplace_back(Json(line.seconds), duration(line.seconds));
        const double mean = line.seconds / static_cast<double>(std::max<size_t>(line.calls, 1));
        row.push_back(layer ? Entry(Json(mean), duration(mean)) : Entry(Json(), ""));
        row.emplace_back(Json(line.seconds / all), significant(100 * line.seconds / all, 3) + " %");
        const double share = line.least / line.seconds;
        row.push_back(line.part || line.seconds == 0 ? Entry(Json(), "") : Entry(Json(share), significant(share, 2)));
        sheet.row(std::move(row));
    }
    return sheet;
}

int profile(const ProfileOptions &options, const Arguments &app, const GlobalOptions &global, Output &output) {
    check_output_file(options.trace, "--trace", ".json");
    const Runtime runtime(global.runtime(output));
    const Model model = runtime.load(options.model);
    check_workload_usage(app, options.work, model);
    const Device device = chosen_device(runtime, global, output);
    const Workload work(model, options.work);
    SessionOptions how = session_options(options.session, runtime, device);
    const DeviceLimits limits(runtime, device);

    std::vector<GraphTimes> runs;
    how.profile = [&](const GraphTimes &times) {
        stop_if_interrupted();
        runs.push_back(times);
    };
    Session session = runtime.session(model, device, how);
    (void)work.run(session); // plans, compiles and fills caches
    runs.clear();
    const auto began = std::chrono::steady_clock::now();
    const double all = work.run(session).all;

    Profile profile(options.by, limits);
    for (const GraphTimes &run : runs) profile.add(run);
    const Sheet sheet = sheet_of(profile.lines(all), all, options.by, device);
    if (output.json()) {
        output.print_json({{"model", model.name()},
                           {"device", {{"id", device.id}, {"name", device.name}, {"driver", device.driver}}},
                           {"clock", !runs.empty() && runs.front().device_clock ? "device" : "host"},
                           {"seconds", all},
                           {"runs_of_graphs", runs.size()},
                           {"profile", sheet.json()}});
    } else {
        output.print(sheet.str(format_named(options.format), output));
        output.note("in all " + duration(all) + ", " + std::to_string(runs.size()) + " runs of graphs" +
                    (runs.empty() || runs.front().device_clock || device.kind == "cpu"
                         ? ""
                         : "; the device has no timestamps, so waiting for every dispatch counts"));
    }
    if (!options.trace.empty()) write_file(options.trace, trace_of(runs, began, device));
    return 0;
}

} // namespace

Command add_profile(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app = lamina.command("profile", "Show where the time of a model goes.");
    app.footer(
        "Runs the model twice on the same text and shows the second run. GPUs time their own work; on the CPU, the "
        "host's clock does. OF LIMIT is the time in which the device could have moved the bytes of a layer, or done "
        "its operations, as a fraction of the time it took; the caches of earlier tokens do not count.\n"
        "Examples: lamina profile SmolLM2-135M-Instruct.gguf --prompt-tokens 256\n"
        "          lamina profile models/g2p vulkan --by dispatch --trace trace.json\n"
        "Open the trace at https://ui.perfetto.dev or in chrome://tracing.");
    auto options = std::make_shared<ProfileOptions>();
    app.positional("MODEL", options->model, "folder, GGUF file or ORG/NAME, as Hugging Face names models").required();
    app.positional("TEXT", options->work.texts, "texts, or audio files; if there are none, a text is made up");
    add_workload_options(app, options->work);
    app.choice("--by", options->by, {"type", "layer", "dispatch"},
               "what each line shows: a type of layer, a layer or a dispatch")
        .shows_default();
    app.option("--trace", options->trace, "FILE", "write every dispatch as a Chrome trace, for Perfetto").not_empty();
    add_cache_option(app, options->session);
    add_session_options(app, options->session);
    add_format_option(app, options->format);
    return {app, [options, app, &global](Output &output) { return profile(*options, app, global, output); }};
}

} // namespace lamina::cli
