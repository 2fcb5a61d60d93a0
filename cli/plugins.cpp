// lamina plugins: lists the plugins found and rejected; with a name, prints the whole contract of one layer.
#include "command.hpp"
#include "contract.hpp"
#include "table.hpp"

#include "base/joined.hpp"

#include <lamina/plugins.hpp>

namespace lamina::cli {
namespace {

std::vector<std::string> variant_names(const LayerContract &layer) {
    std::vector<std::string> out;
    for (const LayerVariant &variant : layer.variants) out.push_back(variant.name);
    return out;
}

Json list_as_json(const Plugins &plugins) {
    Json layers = Json::array(), rejected = Json::array();
    for (const auto &[id, layer] : plugins.layers)
        layers.push_back({{"id", id},
                          {"version", layer.version},
                          {"summary", layer.summary},
                          {"variants", variant_names(layer)},
                          {"path", layer.path.string()}});
    for (const RejectedPlugin &each : plugins.rejected)
        rejected.push_back({{"path", each.path.string()}, {"reason", each.reason}});
    Json out{{"layers", layers},
             {"executor", nullptr},
             {"rejected", rejected},
             {"kernels_left_out", kernels_left_out(plugins)}};
    if (const auto &executor = plugins.executor)
        out["executor"] = {{"id", executor->id},
                           {"version", executor->version},
                           {"summary", executor->summary},
                           {"kernels", executor->kernels},
                           {"path", executor->path.string()}};
    return out;
}

std::string list_as_text(const Plugins &plugins, const Output &output) {
    Table table({"LAYER", "VERSION", "VARIANTS", "PATH"});
    for (const auto &[id, layer] : plugins.layers)
        table.row({{id, Style::bold}, layer.version, joined(variant_names(layer)), {layer.path.string(), Style::dim}});
    if (const auto &executor = plugins.executor)
        table.row({{executor->id, Style::bold},
                   executor->version,
                   "runs the device cpu",
                   {executor->path.string(), Style::dim}});
    std::string out = table.str(output);
    for (const RejectedPlugin &each : plugins.rejected)
        out += "\n" + output.styled("rejected", Style::red) + "  " + each.path.string() + "\n          " + each.reason +
               "\n";
    return out;
}

int show_plugins(const std::string &name, const GlobalOptions &global, Output &output) {
    const Runtime runtime(global.runtime(output));
    if (name.empty()) {
        const Plugins all = lamina::plugins(runtime);
        if (output.json())
            output.print_json(list_as_json(all));
        else
            output.print(list_as_text(all, output));
        return 0;
    }
    const LayerContract layer = layer_contract(runtime, name);
    if (output.json())
        output.print_json(contract_as_json(layer));
    else
        output.print(contract_as_text(layer, output));
    return 0;
}

} // namespace

Command add_plugins(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app = lamina.command("plugins", "List the plugins, or print the contract of one layer.");
    auto name = std::make_shared<std::string>();
    app.positional("LAYER", *name, "print the contract of this layer: parameters, ports, variants, tolerances");
    return {app, [name, &global](Output &output) { return show_plugins(*name, global, output); }};
}

} // namespace lamina::cli
