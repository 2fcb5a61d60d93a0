#include "compile.hpp"

#include "interrupt.hpp"
#include "table.hpp"

#include "base/joined.hpp"

#include <algorithm>
#include <map>

namespace lamina::cli {
namespace {

Json as_json(const std::optional<double> &figure) { return figure ? Json(*figure) : Json(); }

Json as_json(const CompiledKernel &kernel) {
    Json constants = Json::object(), variants = Json::array(), statistics = Json::object();
    for (const auto &[id, bits] : kernel.constants) constants[std::to_string(id)] = bits;
    for (const std::string &variant : kernel.variants) variants.push_back(variant);
    for (const auto &[name, value] : kernel.statistics) statistics[name] = value;
    const KernelFigures figures = kernel.figures();
    Json out{{"layer", kernel.layer},
             {"kernel", kernel.kernel},
             {"constants", constants},
             {"variants", variants},
             {"needed_by", kernel.needed_by},
             {"registers", as_json(figures.registers)},
             {"spills", as_json(figures.spills)},
             {"subgroups", as_json(figures.subgroups)},
             {"instructions", as_json(figures.instructions)},
             {"statistics", statistics}};
    if (!kernel.error.empty()) out["error"] = kernel.error;
    return out;
}

Json as_json(const CompiledStep &step) {
    Json variants = Json::array();
    for (const CompiledStep::Variant &v : step.variants) {
        Json variant{{"name", v.name}, {"computes", v.why_not.empty()}};
        if (!v.why_not.empty()) variant["why_not"] = v.why_not;
        variants.push_back(variant);
    }
    return {{"run", step.run},     {"layer", step.layer},   {"name", step.name},
            {"count", step.count}, {"fusion", step.fusion}, {"variants", variants}};
}

Json as_json(const CompileReport &report, const Device &device) {
    Json kernels = Json::array(), steps = Json::array();
    for (const CompiledKernel &k : report.kernels) kernels.push_back(as_json(k));
    for (const CompiledStep &s : report.steps) steps.push_back(as_json(s));
    Json out{{"device", {{"id", device.id}, {"name", device.name}, {"driver", device.driver}}},
             {"compiles", report.passed()},
             {"statistics", report.statistics},
             {"kernels", kernels}};
    if (!report.steps.empty()) out["steps"] = steps;
    return out;
}

// A figure of all pipelines of a kernel.
class FigureRange {
  public:
    void take(const std::optional<double> &value) {
        if (!value) return;
        least_ = known_ ? std::min(least_, *value) : *value;
        greatest_ = known_ ? std::max(greatest_, *value) : *value;
        known_ = true;
    }
    [[nodiscard]] double greatest() const { return greatest_; }
    [[nodiscard]] std::string text() const {
        if (!known_) return "-";
        const std::string most = grouped(static_cast<int64_t>(greatest_));
        return least_ == greatest_ ? most : grouped(static_cast<int64_t>(least_)) + "-" + most;
    }

  private:
    bool known_ = false;
    double least_ = 0, greatest_ = 0;
};

struct KernelPipelines {
    size_t pipelines = 0, refused = 0;
    FigureRange registers, spills, subgroups, instructions;

    void take(const CompiledKernel &kernel) {
        ++pipelines;
        refused += kernel.error.empty() ? 0 : 1;
        const KernelFigures figures = kernel.figures();
        registers.take(figures.registers);
        spills.take(figures.spills);
        subgroups.take(figures.subgroups);
        instructions.take(figures.instructions);
    }
};

std::string kernels_as_text(const CompileReport &report, const Output &output) {
    std::map<std::pair<std::string, std::string>, KernelPipelines> lines; // by layer and kernel
    for (const CompiledKernel &k : report.kernels) lines[{k.layer, k.kernel}].take(k);
    Table table({"LAYER",
                 "KERNEL",
                 {"PIPELINES", Align::right},
                 {"REFUSED", Align::right},
                 {"REGISTERS", Align::right},
                 {"SPILLS", Align::right},
                 {"SUBGROUPS", Align::right},
                 {"INSTRUCTIONS", Align::right}});
    for (const auto &[name, line] : lines)
        table.row({{name.first, Style::bold},
                   name.second,
                   grouped(static_cast<int64_t>(line.pipelines)),
                   {grouped(static_cast<int64_t>(line.refused)), line.refused == 0 ? Style::plain : Style::red},
                   line.registers.text(),
                   {line.spills.text(), line.spills.greatest() == 0 ? Style::plain : Style::yellow},
                   line.subgroups.text(),
                   line.instructions.text()});
    return table.str(output);
}

std::string steps_as_text(const CompileReport &report, const Output &output) {
    Table table({"RUN", "LAYER", {"STEPS", Align::right}, "VARIANTS"});
    std::map<std::string, std::string> reasons; // by layer and variant
    for (const CompiledStep &s : report.steps) {
        std::vector<std::string> able;
        for (const CompiledStep::Variant &v : s.variants)
            if (v.why_not.empty())
                able.push_back(v.name);
            else
                reasons.try_emplace(s.layer + ", " + v.name, v.why_not + " (" + s.run + ": " + s.name + ")");
        table.row({s.run,
                   {s.layer, Style::bold},
                   grouped(static_cast<int64_t>(s.count)),
                   s.computed() ? Cell(joined(able)) : Cell("none", s.fusion ? Style::plain : Style::red)});
    }
    std::string out = table.str(output) + "\n";
    for (const auto &[variant, why] : reasons) out += "not " + variant + ": " + why + "\n";
    return out + (reasons.empty() ? "" : "\n");
}

std::string as_text(const CompileReport &report, const Device &device, const Output &output) {
    std::string out = report.steps.empty() ? "" : steps_as_text(report, output);
    out += kernels_as_text(report, output) + "\n";
    size_t refused = 0;
    for (const CompiledKernel &k : report.kernels) {
        if (k.error.empty()) continue;
        if (++refused <= 3)
            out += output.styled(k.layer + ", " + k.kernel, Style::red) + ": " + k.error + " (" + k.needed_by + ")\n";
    }
    if (refused > 3) out += "and " + grouped(static_cast<int64_t>(refused - 3)) + " more; --json shows all\n";
    const std::string place = device.id + " (" + device.name + ")";
    const auto count = static_cast<int64_t>(report.kernels.size());
    if (report.kernels.empty()) return out + "there is nothing to compile\n";
    if (!report.statistics) out += "this driver does not say what its compiler made of kernels\n";
    if (refused != 0)
        return out +
               output.styled(place + " refuses " + grouped(static_cast<int64_t>(refused)) + " of " + grouped(count) +
                                 " pipelines",
                             Style::red) +
               "\n";
    if (!report.passed()) return out + output.styled(place + " computes some steps with no variant", Style::red) + "\n";
    return out +
           output.styled("all " + grouped(count) + " pipelines compile on " + place + "; none has run", Style::green) +
           "\n";
}

} // namespace

int compile(CompileOptions options, const std::filesystem::path &model, const Runtime &runtime, const Device &device,
            Output &output) {
    options.begin = [&](const std::string &what, size_t done, size_t count) {
        stop_if_interrupted();
        output.progress("compiling " + what, done, count);
    };
    const CompileReport report = model.empty() ? lamina::compile(runtime, device, options)
                                               : lamina::compile(runtime, runtime.load(model), device, options);
    output.clear_progress();
    if (output.json())
        output.print_json(as_json(report, device));
    else
        output.print(as_text(report, device, output));
    return report.passed() ? 0 : static_cast<int>(ErrorCode::failure);
}

} // namespace lamina::cli
