// lamina check: every kernel on a device against its layer's reference, case by case.
#include "command.hpp"
#include "compile.hpp"
#include "interrupt.hpp"
#include "seed.hpp"
#include "table.hpp"

#include <lamina/proof.hpp>

#include <algorithm>

namespace lamina::cli {
namespace {

using Status = CaseResult::Status;

const char *name_of(Status status) {
    return status == Status::passed ? "passed" : status == Status::failed ? "failed" : "skipped";
}

Json as_json(const CaseResult &result) {
    Json out{{"layer", result.layer},
             {"variant", result.variant},
             {"case", result.case_text},
             {"status", name_of(result.status)}};
    if (!result.why.empty()) out["why"] = result.why;
    if (result.verdict.compared != 0) out["ratio"] = result.verdict.ratio;
    if (result.status == Status::failed) out["replay"] = result.replay;
    return out;
}

Json as_json(const CheckReport &report, const Device &device) {
    Json results = Json::array();
    for (const CaseResult &r : report.results) results.push_back(as_json(r));
    return {{"device", {{"id", device.id}, {"name", device.name}, {"driver", device.driver}}},
            {"passed", report.count(Status::passed)},
            {"failed", report.count(Status::failed)},
            {"skipped", report.count(Status::skipped)},
            {"refused", report.refused},
            {"unproved", report.unproved()},
            {"unreached", report.unreached},
            {"agrees", report.passed()},
            {"cases", results}};
}

// One line of the table: all cases of a variant of a layer.
struct Line {
    std::string layer, variant;
    size_t passed = 0, failed = 0, skipped = 0;
    double worst = 0; // of the cases that passed

    void add(const CaseResult &result) {
        ++(result.status == Status::passed ? passed : result.status == Status::failed ? failed : skipped);
        if (result.status == Status::passed) worst = std::max(worst, result.verdict.ratio);
    }
};

std::vector<Line> lines_of(const CheckReport &report) {
    std::vector<Line> lines;
    for (const CaseResult &r : report.results) {
        auto line = std::find_if(lines.begin(), lines.end(),
                                 [&](const Line &l) { return l.layer == r.layer && l.variant == r.variant; });
        if (line == lines.end()) line = lines.insert(line, Line{r.layer, r.variant});
        line->add(r);
    }
    return lines;
}

// The first cases that failed, or why none could run.
std::string problems(const Line &line, const CheckReport &report, const Output &output) {
    constexpr size_t shown = 3;
    const std::string name = line.layer + ", " + line.variant;
    std::string out;
    size_t failed = 0;
    for (const CaseResult &r : report.results) {
        if (r.layer != line.layer || r.variant != line.variant) continue;
        if (r.status == Status::failed && ++failed <= shown)
            out += output.styled(name, Style::red) + ": " + r.why + "\n  " + r.replay + "\n\n";
        else if (r.status == Status::skipped && report.count(Status::passed) == 0)
            out += output.styled(name, Style::yellow) + " skipped: " + r.why + "\n\n";
    }
    if (failed <= shown) return out;
    return out + output.styled(name, Style::red) + ": " + grouped(static_cast<int64_t>(failed - shown)) +
           " more cases failed; --json shows all\n\n";
}

std::string as_text(const CheckReport &report, const Device &device, const Output &output) {
    Table table({"LAYER",
                 "VARIANT",
                 {"PASSED", Align::right},
                 {"FAILED", Align::right},
                 {"SKIPPED", Align::right},
                 {"WORST / LIMIT", Align::right}});
    for (const Line &line : lines_of(report))
        table.row({{line.layer, Style::bold},
                   line.variant,
                   grouped(static_cast<int64_t>(line.passed)),
                   {grouped(static_cast<int64_t>(line.failed)), line.failed == 0 ? Style::plain : Style::red},
                   grouped(static_cast<int64_t>(line.skipped)),
                   line.passed == 0 ? "-" : significant(line.worst, 2)});
    std::string out = table.empty() ? "" : table.str(output) + "\n";
    for (const Line &line : lines_of(report)) out += problems(line, report, output);
    for (const std::string &what : report.unreached) out += "not reached: " + what + "\n";
    if (!report.unreached.empty()) out += "\n";
    return out + output.styled(report.summary(device), report.passed() ? Style::green : Style::red) + "\n";
}

// --admit: checks again, in full, which variants may run on this device, and saves the result.
int admit(const CheckOptions &options, const Runtime &runtime, const Device &device, bool keep, Output &output) {
    if (!keep) output.note("--no-cache: these results are not saved");
    Json json = Json::array();
    Table table({"LAYER", "VARIANT", {"CASES", Align::right}, "VERDICT"});
    bool all_admitted = true;
    for (const AdmittedVariant &v : lamina::admit(runtime, device, options.layers)) {
        all_admitted &= v.admitted;
        json.push_back({{"layer", v.layer},
                        {"variant", v.variant},
                        {"cases", v.passed},
                        {"admitted", v.admitted},
                        {"why", v.why}});
        table.row({{v.layer, Style::bold},
                   v.variant,
                   grouped(static_cast<int64_t>(v.passed)),
                   {!v.why.empty() ? "barred: " + v.why
                    : v.admitted   ? "admitted"
                                   : "not admitted: it cannot run any of its layer's cases here",
                    v.admitted ? Style::green : Style::red}});
    }
    if (output.json())
        output.print_json(
            {{"device", {{"id", device.id}, {"name", device.name}, {"driver", device.driver}}}, {"variants", json}});
    else
        output.print(table.str(output));
    return all_admitted ? 0 : static_cast<int>(ErrorCode::tolerance);
}

struct CheckCommandOptions {
    CheckOptions check;
    bool admit = false, compile = false;
    std::filesystem::path model; // to compile for
};

// What --soak has shown; empty if there is nothing to say.
std::string soaked(const CheckReport &report, size_t soak) {
    if (soak == 0 || !report.passed()) return "";
    return "every case ran " + grouped(static_cast<int64_t>(soak)) +
           " times more, with the same bits: " + odds_of_missing(soak) + "\n";
}

int check(const CheckCommandOptions &all, const Arguments &app, const GlobalOptions &global, Output &output) {
    CheckOptions options = all.check;
    options.begin = [&](const std::string &what, size_t done, size_t count) {
        stop_if_interrupted();
        output.progress("checking " + what, done, count);
    };
    if (all.compile) {
        refuse_given(app, {"--variant", "--case", "--thorough", "--replay", "--soak", "--admit"},
                     "cannot be used with --compile, which runs nothing and compiles what all variants run");
        if (!all.model.empty() && !options.layers.empty())
            throw Error(ErrorCode::usage, "LAYER cannot be used with --model, whose own layers are compiled");
        if (!all.model.empty())
            refuse_given(app, {"--own-cases", "--seed"}, "is about cases of layers: it cannot be used with --model");
    } else {
        refuse_given(app, {"--model"}, "needs --compile");
    }
    if (all.admit)
        refuse_given(app, {"--variant", "--case", "--seed", "--thorough", "--own-cases", "--replay", "--soak"},
                     "cannot be used with --admit, which runs all cases that a variant has to pass");
    if (!options.replay.empty())
        refuse_given(app, {"--case", "--seed", "--thorough", "--own-cases"},
                     "cannot be used with --replay, which runs one case with its own values");
    if (!options.replay.empty() && !options.layers.empty())
        throw Error(ErrorCode::usage, "LAYER cannot be used with --replay, which names its own");
    if (!options.case_text.empty() && options.layers.size() != 1)
        throw Error(ErrorCode::usage, "--case needs exactly one LAYER");
    if (!options.case_text.empty())
        refuse_given(app, {"--thorough", "--own-cases"}, "cannot be used with --case, which runs only that case");
    if ((" " + options.case_text).find(" seed=") != std::string::npos)
        refuse_given(app, {"--seed"}, "cannot be used with a --case that contains a seed");
    if (options.own_cases_only)
        refuse_given(app, {"--thorough"}, "cannot be used with --own-cases: it is about generated cases");
    const Runtime runtime(global.runtime(output));
    if (global.device == "reference")
        throw Error(ErrorCode::usage, "other devices are checked against 'reference': name another device");
    const Device device = chosen_device(runtime, global, output);
    if (all.compile)
        return compile({options.layers, options.own_cases_only, options.seed, {}}, all.model, runtime, device, output);
    if (all.admit) return admit(options, runtime, device, !global.no_cache, output);
    const CheckReport report = lamina::check(runtime, device, options);
    output.clear_progress();
    if (output.json())
        output.print_json(as_json(report, device));
    else
        output.print(as_text(report, device, output) + soaked(report, options.soak));
    return report.passed() ? 0 : static_cast<int>(ErrorCode::tolerance);
}

} // namespace

Command add_check(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app = lamina.command("check", "Check every kernel on a device against its layer's reference.");
    app.footer("Runs the cases that layers declare, and others that are generated from their contracts: sizes around "
               "tile sizes, every optional port, every dtype of weights. A case passes if all results are within the "
               "layer's tolerance, a second run gives the same bits, and nothing was written outside of a tensor. The "
               "exit status is 7 if a case fails or none could be run. For each failure the report has the command "
               "that runs the case again.\n"
               "The device 'interpreter' needs no driver. It is slow, and it finds what drivers may let pass: races, "
               "indices beyond an array, shared or not, and reads of memory that nothing has written.\n"
               "With --compile, nothing runs: kernels are compiled, and the driver's compiler tells how many registers "
               "they take, how many values it had to spill to memory, how many subgroups fit on a part of the GPU at a "
               "time, and how many instructions there are. The exit status is 1 if the driver refuses a kernel.\n"
               "Examples: lamina check --device vulkan:0\n"
               "          lamina check layer_norm --device interpreter\n"
               "          lamina check --compile --model SmolLM2-135M-Instruct.gguf\n"
               "          lamina check layer_norm --case \"B=2 T=37 C=113 +bias weights=f16\"");
    auto all = std::make_shared<CheckCommandOptions>();
    CheckOptions *options = &all->check;
    app.positional("LAYER", options->layers, "layers to check; default: all");
    app.option("--variant", options->variants, "NAME", "variant to check; may be repeated; default: all");
    app.option("--case", options->case_text, "TEXT", "run only this case").not_empty();
    add_seed(app, options->seed, "seed of the generated cases, and of all values");
    app.flag("--thorough", options->thorough, "generate 200 cases per layer instead of 24, and larger ones");
    app.flag("--own-cases", options->own_cases_only, "run only the cases that layers declare, no generated ones");
    app.option(
           "--soak", options->soak, "N",
           "run every case N times more, to find faults that appear now and then, and say how likely one would have "
           "been missed")
        .within(uint64_t{1}, uint64_t{1'000'000'000});
    app.option("--replay", options->replay, "PATH",
               "run the case that 'lamina compare --replay' saved in this file or folder")
        .not_empty();
    app.flag("--admit", all->admit,
             "prove which variants may run on this device, with all cases that layers declare and those of models "
             "that were run here, and save the result");
    app.flag("--compile", all->compile,
             "run nothing; only compile the kernels that the cases need, and show what the driver's compiler says");
    app.option("--model", all->model, "PATH",
               "with --compile: compile what a model runs for a text of 128 tokens, the next token, and 8 texts")
        .not_empty();
    return {app, [all, app, &global](Output &output) { return check(*all, app, global, output); }};
}

} // namespace lamina::cli
