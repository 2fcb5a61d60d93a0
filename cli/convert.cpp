// lamina convert: writes any model that Lamina can read as a model folder, with its matrices in another dtype if asked.
#include "command.hpp"
#include "load_arguments.hpp"
#include "table.hpp"

#include "base/binary_size.hpp"

#include <lamina/convert.hpp>

#include <algorithm>

namespace lamina::cli {
namespace {

struct ConvertCommand {
    std::filesystem::path from, folder;
    std::string weights; // empty: each keeps its dtype
    LoadArguments load;
};

std::vector<std::string> weight_dtype_names() {
    std::vector<std::string> out;
    for (const plugin::StorageType &type : plugin::storage_types)
        if ((type.dtype & plugin::weight_dtypes) != 0) out.emplace_back(type.name);
    return out;
}

std::optional<DType> dtype_named(const std::string &name) {
    for (const plugin::StorageType &type : plugin::storage_types)
        if (type.name == name) return DType{type.dtype};
    return std::nullopt;
}

// Checked first, because the conversion takes long.
void refuse_existing(const std::filesystem::path &folder) {
    std::error_code ignored; // if the folder is not accessible, writing into it gives a better error
    if (std::filesystem::is_directory(folder, ignored) && !std::filesystem::is_empty(folder, ignored))
        throw Error(ErrorCode::usage, folder.string() + ": not empty; choose another folder");
}

uint64_t bytes_of(const std::vector<ConvertedWeight> &weights, TensorType ConvertedWeight::*side) {
    uint64_t out = 0;
    for (const ConvertedWeight &weight : weights) out += (weight.*side).bytes();
    return out;
}

Json as_json(const ConvertCommand &command, const Conversion &made) {
    Json weights = Json::array();
    for (const ConvertedWeight &w : made.weights)
        weights.push_back({{"name", w.name},
                           {"shape", w.to.shape},
                           {"from", name_of(w.from.dtype)},
                           {"to", name_of(w.to.dtype)},
                           {"error", w.error},
                           {"worst", w.worst}});
    return {{"folder", command.folder.string()},
            {"bytes_before", bytes_of(made.weights, &ConvertedWeight::from)},
            {"bytes", bytes_of(made.weights, &ConvertedWeight::to)},
            {"weights", weights}};
}

// The weights that changed, and by how much.
std::string as_text(const Conversion &made, const Output &output) {
    Table table({"WEIGHT", "SHAPE", "FROM", "TO", {"ERROR", Align::right}, {"WORST", Align::right}});
    for (const ConvertedWeight &w : made.weights)
        if (!(w.from == w.to))
            table.row({{w.name, Style::bold},
                       to_string(w.to.shape),
                       name_of(w.from.dtype),
                       name_of(w.to.dtype),
                       significant(w.error, 3),
                       significant(w.worst, 3)});
    return table.empty() ? "" : table.str(output);
}

int convert(const ConvertCommand &command, const GlobalOptions &global, Output &output) {
    refuse_existing(command.folder);
    const auto progress_of = [&](const char *what) {
        return [&output, what](size_t done, size_t all) {
            stop_if_interrupted();
            output.progress(what, done, all);
        };
    };
    const Runtime runtime(global.runtime(output));
    const LoadOptions how = load_options(command.load);
    const Conversion made = lamina::convert(runtime, command.from,
                                            {.weights = dtype_named(command.weights),
                                             .adapters = how.adapters,
                                             .mmproj = how.mmproj,
                                             .progress = progress_of("converting")});
    made.model.save(command.folder, false, progress_of("saving"));
    output.clear_progress();
    output.note("wrote " + command.folder.string() + ": " + binary_size(bytes_of(made.weights, &ConvertedWeight::to)) +
                " of weights, previously " + binary_size(bytes_of(made.weights, &ConvertedWeight::from)));
    if (output.json())
        output.print_json(as_json(command, made));
    else
        output.print(as_text(made, output));
    return 0;
}

} // namespace

Command add_convert(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app = lamina.command("convert", "Write any model that Lamina can read as a model folder.");
    app.footer(
        "ERROR is the root mean square of a weight's changes, relative to that of its values; WORST is the largest "
        "change of one value, relative to the same. Vectors keep their dtype, and so does a matrix whose layer or "
        "row length does not allow the new one. If the row length is not a multiple of 256, q5_0, q5_1 and q8_0 "
        "replace q4_k, q5_k and q6_k, and iq4_nl replaces q2_k, q3_k, iq4_xs and i4_k.\n"
        "Examples: lamina convert SmolLM2-135M.gguf smollm2\n"
        "          lamina convert all-MiniLM-L6-v2 minilm --weights q8_0");
    auto command = std::make_shared<ConvertCommand>();
    app.positional("PATH", command->from, "folder, GGUF file or ORG/NAME, as Hugging Face names models").required();
    app.positional("FOLDER", command->folder, "the model folder to write, which must be new or empty")
        .required()
        .not_empty();
    add_load_options(app, command->load);
    app.choice("--weights", command->weights, weight_dtype_names(), "dtype of matrices; default: each keeps its own");
    return {app, [command, &global](Output &output) { return convert(*command, global, output); }};
}

} // namespace lamina::cli
