// convert() of convert.hpp: the parts of a model folder, from whatever the model was read from.
#include <lamina/convert.hpp>

#include "api/access.hpp"
#include "api/model_check.hpp"
#include "architectures/listed_tokens.hpp"
#include "architectures/made_tokenizer.hpp"
#include "architectures/open.hpp"
#include "base/file.hpp"
#include "base/json_reader.hpp"
#include "model/gguf.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace lamina {
namespace {

// ---- Files beside model.json ----

constexpr uint64_t largest_text = 512u << 20; // as that of a tokenizer

// How many tokens the model's texts may have.
size_t tokens_of(const model::Model &model) {
    size_t out = model.reading ? model.reading->tokenizer.size()
                 : model.pages ? model.pages->reading.tokenizer.size()
                               : 0;
    if (model.generation)
        for (const auto &codec : {model.generation->source, model.generation->target})
            if (codec != nullptr) out = std::max(out, codec->size());
    return out;
}

// A file of the model's folder, or the tokenizer.json that its tokenizer's files amount to.
std::string text_of(const model::Model &model, const std::string &name) {
    const std::filesystem::path file = model.folder / name;
    const bool published = name == "tokenizer.json" && model.file == model.folder;
    if (published)
        if (auto made = architectures::made_tokenizer(model.folder, model.summary)) return *made;
    const std::vector<std::byte> bytes = read_file(file, largest_text, FileReader::Kind::ordinary);
    std::string text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    if (!published) return text;
    const Tokenizer whole = architectures::with_listed_tokens(Tokenizer::parse(text, file.string()), model.folder,
                                                              static_cast<int64_t>(tokens_of(model)));
    return architectures::with_tokens_of(whole, text, file.string()).value_or(std::move(text));
}

// The vocabularies and tokenizers that model.json names, by file.
std::map<std::string, std::string, std::less<>> texts_of(const model::Model &model) {
    const JsonText document(model.json, (model.folder / "model.json").string());
    std::set<std::string> files;
    const auto add = [&](JsonView codec) {
        for (const char *kind : {"vocabulary", "tokenizer"})
            if (codec.has(kind)) files.emplace(codec.at(kind).string());
    };
    if (document.root().has("reading")) add(document.root().at("reading"));
    if (document.root().has("pages")) add(document.root().at("pages").at("reading"));
    if (document.root().has("generation"))
        for (const char *side : {"source", "target"})
            if (const JsonView generation = document.root().at("generation"); generation.has(side))
                add(generation.at(side));

    const bool folder = std::filesystem::is_directory(model.folder); // else a GGUF file, which holds its tokenizer
    std::map<std::string, std::string, std::less<>> out;
    for (const std::string &file : files)
        out[file] = folder ? text_of(model, file) : model::metadata_file(model::open_gguf(model.folder));
    return out;
}

// ---- Weights ----

struct TakenWeight {
    std::string name;
    uint32_t dtypes; // that all layers which take it allow
};

// In the order in which layers take them, each once.
std::vector<TakenWeight> taken_weights(const model::Model &model, const abi::Registry &plugins) {
    std::vector<TakenWeight> out;
    for (const auto &[graph_name, graph] : model.graphs)
        for (const model::Node &node : graph.nodes) {
            const lamina_layer &contract = *plugins.layer(node.type).contract;
            for (const lamina_port &port : std::span(contract.weights, contract.n_weights)) {
                const std::string name = plan::weight_name(node, port.name);
                if (!model.weights.entries().contains(name)) continue; // it is left out
                const auto known = std::ranges::find(out, name, &TakenWeight::name);
                if (known == out.end())
                    out.push_back({name, port.dtypes});
                else
                    known->dtypes &= port.dtypes;
            }
        }
    return out;
}

// For rows that are no whole blocks of 256 values: the format of 32 values that GGML's own tools take instead.
constexpr std::array<std::pair<DType, DType>, 8> of_32_values{{{DType::q4_k, DType::q5_0},
                                                               {DType::q5_k, DType::q5_1},
                                                               {DType::q6_k, DType::q8_0},
                                                               {DType::i8_k, DType::q8_0},
                                                               {DType::i4_k, DType::iq4_nl},
                                                               {DType::q2_k, DType::iq4_nl},
                                                               {DType::q3_k, DType::iq4_nl},
                                                               {DType::iq4_xs, DType::iq4_nl}}};

DType dtype_for(const TensorType &type, uint32_t taken, DType wanted) {
    const bool matrix = type.shape.size() > 1 && type.dtype != DType::i32;
    const auto fits = [&](DType dtype) {
        return matrix && (static_cast<uint32_t>(dtype) & taken) != 0 && TensorType{dtype, type.shape}.fits();
    };
    if (fits(wanted)) return wanted;
    for (const auto &[large, small] : of_32_values)
        if (large == wanted && fits(small)) return small;
    return type.dtype;
}

// Row by row, since the values of a whole table may take more memory than all that is stored.
Tensor narrowed_rows(const model::Weight &weight, ConvertedWeight &report) {
    const plugin::StorageType &from = storage_of(report.from.dtype), &to = storage_of(report.to.dtype);
    Tensor out(report.to);
    const int64_t columns = report.from.shape.back(), rows = columns == 0 ? 0 : out.size() / columns;
    std::vector<float> values(static_cast<size_t>(columns)), narrowed(values.size());
    double squares = 0, changes = 0, most = 0;
    for (int64_t r = 0; r < rows; ++r) {
        std::byte *row = out.bytes().data() + r * to.row_bytes(columns);
        from.widen(weight.bytes().data() + r * from.row_bytes(columns), columns / from.block_values, values.data());
        to.narrow(values.data(), columns / to.block_values, row);
        to.widen(row, columns / to.block_values, narrowed.data());
        for (size_t i = 0; i < values.size(); ++i) {
            if (std::isfinite(values[i]) && !std::isfinite(narrowed[i]))
                throw Error(ErrorCode::input, "weight '" + report.name + "' cannot be " + to.name + ": the value " +
                                                  std::to_string(values[i]) + " is beyond its range");
            const double change = std::fabs(double{narrowed[i]} - double{values[i]});
            squares += double{values[i]} * double{values[i]}, changes += change * change;
            most = std::max(most, change);
        }
    }
    if (squares > 0) {
        report.error = std::sqrt(changes / squares);
        report.worst = most / std::sqrt(squares / static_cast<double>(out.size()));
    }
    return out;
}

Tensor copy_of(const model::Weight &weight) {
    Tensor out(weight.type);
    std::ranges::copy(weight.bytes(), out.bytes().begin());
    return out;
}

} // namespace

Conversion convert(const Runtime &runtime, const std::filesystem::path &path, const ConvertOptions &options) {
    const abi::Registry &plugins = *detail::Access::state(runtime)->plugins;
    const auto model =
        architectures::open(path, {.adapters = options.adapters, .mmproj = options.mmproj}, plugins.folders());
    api::check_model(*model, plugins);

    Conversion out;
    out.model.name = model->name, out.model.json = model->json;
    out.model.vocabularies = texts_of(*model);
    const std::vector<TakenWeight> taken = taken_weights(*model, plugins);
    for (const auto &[name, dtypes] : taken) {
        const model::Weight &weight = model->weights.at(name);
        ConvertedWeight &report = out.weights.emplace_back();
        report.name = name, report.from = report.to = weight.type;
        if (options.weights) report.to.dtype = dtype_for(weight.type, dtypes, *options.weights);
        const bool kept = report.to == report.from;
        out.model.weights[name] = kept ? copy_of(weight) : narrowed_rows(weight, report);
        if (options.progress) options.progress(out.weights.size(), taken.size());
    }
    model->weights.expect_whole();
    return out;
}

} // namespace lamina
