// lamina compare: compares a model on a device with the layers' references, layer by layer.
#include "command.hpp"
#include "image_run.hpp"
#include "interrupt.hpp"
#include "load_arguments.hpp"
#include "model_arguments.hpp"
#include "record.hpp"
#include "table.hpp"

#include "base/file.hpp"
#include "base/temporary.hpp"

#include <lamina/proof.hpp>

#include <cmath>
#include <optional>

namespace lamina::cli {
namespace {

struct CompareCommandOptions {
    std::filesystem::path model;
    std::vector<std::string> texts, inputs;
    SessionArguments session;
    LoadArguments load;
    std::string graph, against = "reference", with;
    std::filesystem::path svg, replay, record;
    size_t repeat = 1;
    bool all_rows = false;
};

Json as_json(const Verdict &verdict) {
    const bool across_zero = std::signbit(verdict.got) != std::signbit(verdict.expected); // where ULPs say nothing
    return {{"passed", verdict.passed},
            {"error", verdict.error},
            {"limit", verdict.limit},
            {"ratio", verdict.ratio},
            {"tensor", verdict.tensor},
            {"index", verdict.index},
            {"found", verdict.got},
            {"expected", verdict.expected},
            {"ulps", across_zero ? Json() : Json(verdict.ulps)}};
}

Json as_json(const Comparison &comparison) {
    Json layers = Json::array();
    for (const LayerComparison &layer : comparison.layers)
        layers.push_back({{"graph", layer.graph},
                          {"layer", layer.layer},
                          {"type", layer.type},
                          {"variant", layer.variant},
                          {"device", layer.device},
                          {"prompt", layer.prompt},
                          {"token", layer.step ? Json(*layer.step) : Json()},
                          {"rows", layer.rows},
                          {"compared_rows", layer.compared_rows},
                          {"other_choices", layer.other_choices},
                          {"least_margin", layer.least_margin},
                          {"not_numbers", layer.not_numbers},
                          {"own", as_json(layer.own)},
                          {"accumulated", as_json(layer.accumulated)}});
    return {{"device",
             {{"id", comparison.device.id}, {"name", comparison.device.name}, {"driver", comparison.device.driver}}},
            {"agrees", comparison.agrees()},
            {"changed_outputs", comparison.changed_outputs},
            {"unproven", comparison.unproven},
            {"proof_command", comparison.proof_command.empty() ? Json() : Json(comparison.proof_command)},
            {"summary", comparison.summary()},
            {"replay", comparison.replay.empty() ? Json() : Json(comparison.replay.string())},
            {"replay_command", comparison.replay_command.empty() ? Json() : Json(comparison.replay_command)},
            {"layers", layers}};
}

// "agrees in 14 of 80 rows", "agrees; chose otherwise in 2 of 80 rows, up to 0.01 % worse", "WRONG", "NaN"
std::string verdict_of(const LayerComparison &layer) {
    if (!layer.agrees()) return layer.own.passed && layer.not_numbers ? "NaN" : "WRONG";
    std::string out = "agrees";
    if (layer.compared_rows != layer.rows)
        out += " in " + std::to_string(layer.compared_rows) + " of " + std::to_string(layer.rows) + " rows";
    if (layer.other_choices == 0) return out;
    return out + "; chose otherwise in " + std::to_string(layer.other_choices) + " of " + std::to_string(layer.rows) +
           " rows, up to " + significant(-100 * layer.least_margin, 2) + " % worse";
}

std::string as_text(const Comparison &comparison, const Output &output) {
    Table table({"GRAPH",
                 "LAYER",
                 "TYPE",
                 "VARIANT",
                 {"OWN ERROR", Align::right},
                 {"/ LIMIT", Align::right},
                 {"ACCUMULATED", Align::right},
                 {"/ LIMIT", Align::right},
                 "VERDICT"});
    for (const LayerComparison &layer : comparison.layers) {
        table.row({{layer.graph + (layer.prompt ? " (prompt)" : ""), Style::dim},
                   {layer.layer, Style::bold},
                   layer.type,
                   layer.variant,
                   significant(layer.own.error, 3),
                   significant(layer.own.ratio, 2),
                   significant(layer.accumulated.error, 3),
                   significant(layer.accumulated.ratio, 2),
                   {verdict_of(layer), layer.agrees() ? Style::green : Style::red}});
    }
    return table.str(output) + "\n" +
           output.styled(comparison.summary(), comparison.agrees() ? Style::green : Style::red) + "\n" +
           (comparison.sampled() == 0 ? "" : "to compare all rows: --all-rows\n") +
           (comparison.replay.empty() ? "" : "to run it alone: " + comparison.replay_command + "\n");
}

Json as_json(const RecordComparison &comparison) {
    Json layers = Json::array();
    for (const RecordedLayer &layer : comparison.layers)
        layers.push_back({{"graph", layer.graph},
                          {"layer", layer.layer},
                          {"type", layer.type.empty() ? Json() : Json(layer.type)},
                          {"error", std::isfinite(layer.error) ? Json(layer.error) : Json()},
                          {"agrees", layer.agrees()}});
    return {{"device", comparison.device.id},  {"made_by", comparison.made_by},
            {"agrees", comparison.agrees()},   {"tokens", comparison.tokens.empty() ? Json() : Json(comparison.tokens)},
            {"summary", comparison.summary()}, {"layers", layers}};
}

std::string as_text(const RecordComparison &comparison, const Output &output) {
    Table table({"GRAPH", "LAYER", "TYPE", {"ERROR", Align::right}, {"/ LIMIT", Align::right}, "VERDICT"});
    for (const RecordedLayer &layer : comparison.layers)
        table.row({{layer.graph, Style::dim},
                   {layer.layer, Style::bold},
                   layer.type.empty() ? "(output)" : layer.type,
                   significant(layer.error, 3),
                   significant(layer.error / RecordedLayer::limit, 2),
                   {layer.agrees() ? "agrees" : "DIFFERS", layer.agrees() ? Style::green : Style::red}});
    return table.str(output) + "\n" +
           output.styled(comparison.summary(), comparison.agrees() ? Style::green : Style::red) + "\n";
}

// --with: beside what another program computed.
int compare_with(const CompareCommandOptions &options, const Runtime &runtime, const Model &model, const Device &device,
                 Output &output) {
    const bool records = options.with == "transformers";
    if (records && !options.load.lora.empty())
        throw Error(ErrorCode::usage,
                    "--lora: --with transformers computes the model without adapters; expected a record "
                    "of the model that PEFT's merge_and_unload() makes");
    if (!options.inputs.empty() || (!records && !options.texts.empty()))
        throw Error(ErrorCode::usage, "a record has inputs of its own: leave out TEXT and --input, or make another one "
                                      "with --with transformers");
    std::optional<Temporary> own; // a folder that is removed at the end
    std::filesystem::path record = records ? options.record : std::filesystem::path(options.with);
    if (!records && !std::filesystem::exists(record))
        throw Error(ErrorCode::usage, "--with " + options.with +
                                          ": no such file; expected 'transformers', or a record "
                                          "that --with transformers --record made");
    if (records && record.empty()) {
        own.emplace(std::filesystem::temp_directory_path() / "lamina-record", Temporary::Kind::folder);
        record = own->path() / "record.safetensors";
    }
    if (records) record_with_transformers(options.model, options.texts, record);
    const RecordComparison comparison = compare_with_record(runtime, model, device, record);
    if (output.json())
        output.print_json(as_json(comparison));
    else
        output.print(as_text(comparison, output));
    return comparison.agrees() ? 0 : static_cast<int>(ErrorCode::tolerance);
}

// What --repeat has shown; empty if there is nothing to say.
std::string repeated(const Comparison &comparison, size_t times) {
    if (times < 2 || !comparison.agrees()) return "";
    return "every layer and every graph ran " + grouped(static_cast<int64_t>(times)) +
           " times, with the same bits: " + odds_of_missing(times) + "\n";
}

int compare(const CompareCommandOptions &options, const Arguments &app, const GlobalOptions &global, Output &output) {
    if (!options.inputs.empty() && !options.texts.empty())
        throw Error(ErrorCode::usage, "TEXT and --input cannot be used together: give words or tensors");
    if (options.inputs.empty() && !options.graph.empty())
        throw Error(ErrorCode::usage, "--graph needs --input NAME=FILE.npy");
    check_output_file(options.svg, "--svg", ".svg");
    const Runtime runtime(global.runtime(output));
    const Model model = runtime.load(options.model, load_options(options.load));
    refuse_cache(app, inspect(model));
    const Device device = chosen_device(runtime, global, output);
    if (!options.with.empty()) return compare_with(options, runtime, model, device, output);
    if (!options.record.empty()) throw Error(ErrorCode::usage, "--record needs --with transformers");

    CompareOptions how;
    if (const ModelContents contents = inspect(model); !options.inputs.empty()) {
        how.inputs = input_tensors(options.inputs);
        how.graph = graph_name(options.graph, contents);
    } else if (!options.texts.empty() && are_images(options.texts, contents)) {
        GraphRun run = image_inputs(model, read_images(options.texts));
        how.graph = run.graph, how.inputs = std::move(run.inputs);
    } else if (!options.texts.empty()) {
        how.texts = options.texts;
    }
    how.against = options.against;
    const SessionOptions session = session_options(options.session, runtime, device);
    how.precision = session.precision;
    how.cache = session.cache;
    how.fusion = session.fusion;
    how.variants = session.variants;
    how.split = session.split;
    how.max_memory = session.max_memory;
    how.replay_folder = options.replay;
    how.repeat = options.repeat;
    how.all_rows = options.all_rows;

    const Comparison comparison = lamina::compare(runtime, model, device, how);
    stop_if_interrupted();
    if (output.json())
        output.print_json(as_json(comparison));
    else
        output.print(as_text(comparison, output) + repeated(comparison, options.repeat));
    if (!options.svg.empty()) write_file(options.svg, comparison.svg());
    for (const std::string &layer : comparison.unproven)
        output.note("'lamina run' refuses layer '" + layer + "', because no kernel of it passed its proof");
    if (!comparison.unproven.empty()) output.note("to prove it again: " + comparison.proof_command);
    if (!comparison.agrees()) return static_cast<int>(ErrorCode::tolerance);
    return comparison.unproven.empty() ? 0 : static_cast<int>(ErrorCode::unproven);
}

} // namespace

Command add_compare(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app = lamina.command("compare", "Compare a model on a device with the references, layer by layer.");
    app.footer(
        "OWN ERROR is the error of a layer's kernel alone: its inputs are what the references computed. ACCUMULATED is "
        "the error in the running model, with the errors of all layers before it. / LIMIT is the error as a fraction "
        "of the tolerance that the layer declares. A layer agrees if its own error is within the tolerance. Where a "
        "reference would take long, it computes a sample of the rows, and those that differ from what the CPU's kernel "
        "computes; VERDICT says how many. The exit "
        "status is 7 if a layer does not agree, and 9 if all agree but one has no kernel that passed its proof.\n"
        "Example: lamina compare models/g2p --device vulkan:0");
    auto options = std::make_shared<CompareCommandOptions>();
    app.positional("MODEL", options->model, "folder, GGUF file or ORG/NAME, as Hugging Face names models").required();
    app.positional("TEXT", options->texts, "words, or image files, to run the model on");
    app.option("-i,--input", options->inputs, "NAME=FILE.npy",
               "run a graph on this tensor instead of words; may be repeated");
    app.option("--graph", options->graph, "NAME", "graph to run on --input; default: the only one").not_empty();
    app.choice("--reference", options->against, {"reference", "cpu"},
               "what to compare with: the layers' references, or the CPU's fast kernels, for large models")
        .shows_default();
    app.option("--with", options->with, "WHAT",
               "compare with another program instead: 'transformers' runs the Python package of this name on the same "
               "files (LAMINA_PYTHON names the Python), FILE is a record that it made")
        .not_empty();
    app.option("--record", options->record, "FILE",
               "keep what --with transformers computed, a safetensors file, to compare with it elsewhere")
        .not_empty();
    add_load_options(app, options->load);
    add_cache_option(app, options->session);
    add_session_options(app, options->session);
    app.option("--svg", options->svg, "FILE", "draw layers and errors as a heat map").not_empty();
    app.option(
           "--repeat", options->repeat, "N",
           "run every layer and every graph N times, to find faults that appear now and then, and say how likely one "
           "would have been missed")
        .within(uint64_t{1}, uint64_t{1'000'000'000})
        .shows_default();
    app.flag("--all-rows", options->all_rows, "let the references compute all rows, however long it takes");
    app.option("--replay", options->replay, "DIR",
               "save the first wrong layer in this folder, for 'lamina check --replay'")
        .not_empty();
    return {app, [options, app, &global](Output &output) { return compare(*options, app, global, output); }};
}

} // namespace lamina::cli
