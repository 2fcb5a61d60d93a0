// lamina plugins: what was found and what was refused; with a name, the whole contract of one layer.
#include "command.hpp"
#include "contract.hpp"
#include "table.hpp"

#include "abi/library.hpp"

namespace lamina::cli {
namespace {

std::string variant_names(const lamina_layer &layer) {
    std::string out;
    for (uint32_t i = 0; i < layer.n_variants; ++i) out += (i == 0 ? "" : ", ") + std::string(layer.variants[i].name);
    return out;
}

Json list_as_json(const abi::Registry &plugins) {
    Json layers = Json::array(), rejected = Json::array();
    for (const auto &[id, layer] : plugins.layers()) {
        Json variants = Json::array();
        for (uint32_t i = 0; i < layer.contract->n_variants; ++i) variants.push_back(layer.contract->variants[i].name);
        layers.push_back({{"id", id},
                          {"version", layer.contract->version},
                          {"summary", layer.contract->summary},
                          {"variants", variants},
                          {"path", layer.path.string()}});
    }
    for (const abi::Rejected &each : plugins.rejected())
        rejected.push_back({{"path", each.path.string()}, {"reason", each.reason}});
    Json out{{"layers", layers}, {"executor", nullptr}, {"rejected", rejected}};
    if (const abi::Executor *executor = plugins.executor()) {
        Json kernels = Json::array();
        for (uint32_t i = 0; i < executor->descriptor->n_kernels; ++i)
            kernels.push_back(executor->descriptor->kernels[i].layer);
        out["executor"] = {{"id", executor->descriptor->id},
                           {"version", executor->descriptor->version},
                           {"summary", executor->descriptor->summary},
                           {"kernels", kernels},
                           {"path", executor->path.string()}};
    }
    return out;
}

std::string list_as_text(const abi::Registry &plugins, const Output &output) {
    Table table({"LAYER", "VERSION", "VARIANTS", "PATH"});
    for (const auto &[id, layer] : plugins.layers())
        table.row({{id, Style::bold},
                   layer.contract->version,
                   variant_names(*layer.contract),
                   {layer.path.string(), Style::dim}});
    if (const abi::Executor *executor = plugins.executor())
        table.row({{executor->descriptor->id, Style::bold},
                   executor->descriptor->version,
                   "runs the device cpu",
                   {executor->path.string(), Style::dim}});
    std::string out = table.str(output);
    for (const abi::Rejected &each : plugins.rejected())
        out += "\n" + output.styled("rejected", Style::red) + "  " + each.path.string() + "\n          " + each.reason +
               "\n";
    return out;
}

int show_plugins(const std::string &name, const GlobalOptions &global, Output &output) {
    const auto plugins = abi::Registry::discover(abi::Registry::search_path(global.plugin_folders));
    if (name.empty()) {
        if (output.json())
            output.print_json(list_as_json(*plugins));
        else
            output.print(list_as_text(*plugins, output));
        return 0;
    }
    const abi::Layer &layer = plugins->layer(name);
    if (output.json())
        output.print_json(contract_as_json(layer));
    else
        output.print(contract_as_text(layer, output));
    return 0;
}

} // namespace

Command add_plugins(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app = lamina.command("plugins", "List the plugins that were found, or print one layer's contract.");
    auto name = std::make_shared<std::string>();
    app.positional("LAYER", *name, "print this layer's contract: parameters, ports, variants, tolerances");
    return {app, [name, &global](Output &output) { return show_plugins(*name, global, output); }};
}

} // namespace lamina::cli
