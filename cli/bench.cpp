// lamina bench: how fast layers and models are on a device, beside what the device can do at most.
#include "bench_chart.hpp"
#include "bench_layers.hpp"
#include "bench_model.hpp"
#include "bench_report.hpp"
#include "command.hpp"
#include "draft.hpp"
#include "limits.hpp"
#include "load_arguments.hpp"
#include "model_arguments.hpp"

#include "base/file.hpp"
#include "base/nearest.hpp"

#include <lamina/plugins.hpp>

#include <algorithm>
#include <iterator>

namespace lamina::cli {
namespace {

struct BenchOptions {
    std::vector<std::string> targets;
    LayerBench layers;
    ModelBench models;
    SessionArguments session;
    LoadArguments load; // of all models
    std::string beside, format = "table";
    std::filesystem::path report, svg;
};

struct Targets {
    std::vector<std::string> layers, models;
};

// A name that is a layer's is one; anything else is a path, or ORG/NAME.
Targets split(const std::vector<std::string> &targets, const Runtime &runtime) {
    const Plugins known = plugins(runtime);
    Targets out;
    for (const std::string &target : targets) {
        const bool is_layer = known.layers.contains(target);
        if (!is_layer && !std::filesystem::exists(target) && target.find('/') == std::string::npos)
            throw Error(ErrorCode::usage,
                        "there is no layer and no model '" + target + "'" + instead_of(target, names_of(known.layers)));
        (is_layer ? out.layers : out.models).push_back(target);
    }
    return out;
}

void check_usage(const Targets &targets, const BenchOptions &options, const Arguments &app) {
    if (options.report.empty() && options.targets.empty())
        throw Error(ErrorCode::usage,
                    "name layers or models to measure, or use --report FILE (see lamina bench --help)");
    if (!options.report.empty()) {
        if (!options.targets.empty())
            throw Error(ErrorCode::usage, "--report measures its own choice of layers: name no other");
        refuse_given(app,
                     {"--case", "--variants", "--yardstick", "--seconds", "--svg", "--prompt-tokens", "--tokens",
                      "--batch", "--rounds", "--text", "--input", "--graph", "--perplexity", "--window", "--cache",
                      "--precision", "--variant", "--compare-device", "--format"},
                     "cannot be used with --report, which is always the same, so that machines can be compared");
        return;
    }
    if (targets.layers.empty())
        refuse_given(app, {"--case", "--variants", "--yardstick", "--seconds", "--svg"}, "is about layers: name one");
    if (targets.models.empty())
        refuse_given(app,
                     {"--prompt-tokens", "--tokens", "--batch", "--rounds", "--text", "--cache", "--precision",
                      "--input", "--graph", "--perplexity", "--window", "--split", "--max-memory"},
                     "is about models: name one");
    if (options.models.perplexity.empty())
        refuse_given(app, {"--window"}, "is about --perplexity");
    else
        refuse_given(app, {"--prompt-tokens", "--tokens", "--batch", "--rounds", "--text", "--input", "--graph"},
                     "cannot be used with --perplexity, which reads a text once");
    if (!targets.layers.empty() && !targets.models.empty())
        throw Error(ErrorCode::usage, "layers and models have different figures: measure them one after the other");
    if (options.layers.measure.all_variants)
        refuse_given(app, {"--variant"}, "cannot be used with --variants, which measures all");
}

Json name_as_json(const Device &device) {
    return {{"id", device.id}, {"name", device.name}, {"driver", device.driver}};
}

// All but what is about one device, or several.
SessionOptions on_another_device(SessionOptions options) {
    options.variants.clear();
    options.split.clear();
    options.max_memory.clear();
    return options;
}

Sheet bench_models(const Runtime &runtime, const Device &device, const DeviceLimits &limits,
                   const std::vector<std::string> &models, const BenchOptions &options, Output &output) {
    const SessionOptions here = session_options(options.session, runtime, device);
    const SessionOptions there = on_another_device(here);
    std::vector<ModelFigure> figures, beside;
    const auto add = [&](std::vector<ModelFigure> &to, std::vector<ModelFigure> found) {
        std::ranges::move(found, std::back_inserter(to));
    };
    for (const std::string &path : models) {
        const Model model = runtime.load(path, load_options(options.load));
        add(figures, bench_model(runtime, model, device, here, &limits, options.models, output));
        if (const auto &other = options.layers.beside)
            add(beside, bench_model(runtime, model, *other, there, nullptr, options.models, output));
    }
    return model_sheet(figures, beside, options.layers.beside ? options.layers.beside->id : "");
}

void print(const Sheet &sheet, const Device &device, const Json &limits, const std::string &note,
           const std::string &format, Output &output) {
    if (output.json()) {
        output.print_json({{"device", name_as_json(device)}, {"limits", limits}, {"results", sheet.json()}});
        return;
    }
    output.print(sheet.str(format_named(format), output));
    output.note(note);
}

// On the device, and on the one to compare with.
void print_perplexities(const Runtime &runtime, const Device &device, const std::vector<std::string> &models,
                        const BenchOptions &options, Output &output) {
    const SessionOptions here = session_options(options.session, runtime, device);
    std::vector<ModelFigure> figures, beside;
    for (const std::string &path : models) {
        const Model model = runtime.load(path, load_options(options.load));
        std::ranges::move(bench_perplexity(runtime, model, device, here, options.models, output),
                          std::back_inserter(figures));
        if (const auto &other = options.layers.beside)
            std::ranges::move(bench_perplexity(runtime, model, *other, on_another_device(here), options.models, output),
                              std::back_inserter(beside));
    }
    const Sheet sheet = model_sheet(figures, beside, options.layers.beside ? options.layers.beside->id : "");
    if (output.json())
        output.print_json({{"device", name_as_json(device)}, {"results", sheet.json()}});
    else
        output.print(sheet.str(format_named(options.format), output));
}

int bench(BenchOptions options, const Arguments &app, const GlobalOptions &global, Output &output) {
    const Runtime runtime(global.runtime(output));
    const Targets targets = split(options.targets, runtime);
    check_usage(targets, options, app);
    check_output_file(options.report, "--report", ".md");
    check_output_file(options.svg, "--svg", ".svg");
    for (const std::string &path : targets.models)
        check_workload_usage(app, options.models.work, runtime.load(path, load_options(options.load)));
    const Device device = chosen_device(runtime, global, output);
    if (!options.beside.empty()) options.layers.beside = runtime.device(options.beside);
    const Assignments named = variants(options.session.variants, runtime, device);
    if (!options.models.perplexity.empty()) {
        print_perplexities(runtime, device, targets.models, options, output);
        return 0;
    }

    output.progress("measuring what the device can do", 0, 0);
    if (!targets.models.empty()) {
        const DeviceLimits limits(runtime, device);
        output.clear_progress();
        const Sheet sheet = bench_models(runtime, device, limits, targets.models, options, output);
        print(sheet, device, limits.json(), limits.text(), options.format, output);
        return 0;
    }
    const Limits limits = measure_limits(runtime, device);
    output.clear_progress();
    if (!options.report.empty()) {
        std::filesystem::path chart = options.report;
        chart.replace_extension(".svg");
        const Report report = report_of(runtime, device, limits, chart.filename().string(), output);
        write_file(options.report, report.page);
        write_file(chart, report.chart);
        output.note("wrote " + options.report.string() + " and " + chart.string());
        return 0;
    }
    const LayerResults found = bench_layers(runtime, device, limits, targets.layers, options.layers, named, output);
    print(found.sheet, device, limits_as_json(limits), "the limit: " + limits_as_text(limits), options.format, output);
    if (!options.svg.empty()) write_file(options.svg, draw(found.measured));
    return 0;
}

} // namespace

Command add_bench(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app = lamina.command("bench", "Measure how fast layers or models are on a device.");
    app.footer(
        "TIME is the median of all runs, SPREAD the distance between the quartiles. OF LIMIT is the time in which the "
        "device could move the bytes of all tensors once, or do the operations, whichever is longer, as a fraction of "
        "TIME. What the device can do is measured first: much memory is read, or copied on a GPU, and a large product "
        "computed. A layer whose tensors fit in a cache may exceed it. GAIN is how many times as fast a variant is as "
        "the first one of its case. GPUs time their own work; on the CPU, the host's clock does. Use an idle machine.\n"
        "Examples: lamina bench linear --case \"T=1,16,128 K=768 N=3072\" --device vulkan:0\n"
        "          lamina bench attention --case \"Tq=512 Tk=512 D=64 heads=8\" -d cpu\n"
        "          lamina bench SmolLM2-135M-Instruct.gguf --prompt-tokens 256\n"
        "          lamina bench SmolLM2-135M-Instruct.gguf --perplexity book.txt\n"
        "          lamina bench --report gpu.md --device vulkan:0\n"
        "          lamina bench whisper-tiny.en --text speech.wav --compare-device cpu");
    auto options = std::make_shared<BenchOptions>();
    app.positional("TARGET", options->targets, "layers, or models, to measure");
    app.option("--case", options->layers.cases, "TEXT",
               "shapes and options of a layer, as 'lamina check --case' takes them; T=16,128 stands for two cases; may "
               "be repeated; default: the largest case that the layer declares");
    app.flag("--variants", options->layers.measure.all_variants,
             "measure every variant that can compute the case, proved or not");
    app.flag("--yardstick", options->layers.measure.yardstick,
             "also measure the same product by OpenBLAS, if it is installed, on this machine's processor");
    app.option("--seconds", options->layers.measure.seconds, "S", "how long each variant is run")
        .within(0.0, 600.0)
        .shows_default();
    add_workload_options(app, options->models.work);
    app.option("--rounds", options->models.rounds, "N", "how often a model runs, after one run that does not count")
        .within(int64_t{1}, int64_t{1'000'000})
        .shows_default();
    app.option("--text", options->models.work.texts, "TEXT",
               "give a model this text, or audio file, instead; may be repeated");
    app.option("--perplexity", options->models.perplexity, "FILE",
               "how well a model predicts this text, instead of how fast it is: exp of the mean surprise of its tokens")
        .not_empty();
    app.option("--window", options->models.window, "N",
               "with --perplexity: how many tokens are read at a time, without those before them")
        .within(int64_t{2}, int64_t{1} << 20)
        .shows_default();
    add_load_options(app, options->load);
    add_draft_option(app, options->models.draft);
    add_cache_option(app, options->session);
    add_session_options(app, options->session);
    app.option("--compare-device", options->beside, "ID", "also measure on this device").not_empty();
    add_format_option(app, options->format);
    app.option("--svg", options->svg, "FILE", "also draw the times of layers as bars").not_empty();
    app.option("--report", options->report, "FILE.md",
               "write a page about this device: its driver, which variants compute right results, and how fast they "
               "are; and a chart of these times, FILE.svg")
        .not_empty();
    return {app, [options, app, &global](Output &output) { return bench(*options, app, global, output); }};
}

} // namespace lamina::cli
