#include "architectures/hugging_face.hpp"

#include "architectures/assemble.hpp"
#include "architectures/file_names.hpp"
#include "architectures/text_settings.hpp"
#include "base/utf8.hpp"
#include "model/safetensors.hpp"

#include <array>
#include <utility>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;

// Kinds of pooling: in 1_Pooling/config.json (sentence-transformers, models/Pooling.py), and Lamina's.
constexpr std::array<std::pair<const char *, const char *>, 4> poolings{{
    {"pooling_mode_cls_token", "first"},
    {"pooling_mode_max_tokens", "max"},
    {"pooling_mode_mean_tokens", "mean"},
    {"pooling_mode_lasttoken", "last"},
}};

Pooling read_pooling(const fs::path &file) {
    const JsonText document(text_of(file), file.string());
    const Config config(document.root());
    config.expect("pooling_mode_mean_sqrt_len_tokens", false);
    config.expect("pooling_mode_weightedmean_tokens", false);
    config.ignore({"word_embedding_dimension", "include_prompt"});
    Pooling out;
    for (const auto &[theirs, ours] : poolings) {
        if (!config.flag(theirs, false)) continue;
        if (!out.kind.empty()) config.fail(theirs, "more than one kind of pooling is not supported");
        out.kind = ours;
    }
    config.finish();
    if (out.kind.empty()) document.root().fail("expected one kind of pooling to be true, found none");
    return out;
}

// modules.json: a transformer, then pooling, then optional normalization to length 1.
std::optional<Pooling> read_modules(const fs::path &folder) {
    const fs::path file = folder / "modules.json";
    if (!has_file(file)) return std::nullopt;
    const JsonText document(text_of(file), file.string());
    std::optional<Pooling> out;
    for (const JsonView module : document.root().items()) {
        const std::string type(module.at("type").string());
        const std::string kind = type.substr(type.rfind('.') + 1);
        const fs::path path = module.at("path").string();
        if (path.is_absolute() || path.string().find("..") != std::string::npos)
            module.at("path").fail("expected a folder within this one, found " + in_quotes(path.string()));
        if (kind == "Transformer") {
            if (!path.empty()) module.at("path").fail("expected \"\": the transformer's files in this folder");
        } else if (kind == "Pooling" && !out) {
            out = read_pooling(folder / path / "config.json");
        } else if (kind == "Normalize" && out) {
            out->normalize = true;
        } else {
            module.at("type").fail(in_quotes(type) + " is not supported here; supported: a Transformer, then " +
                                   "Pooling, then Normalize");
        }
    }
    return out;
}

} // namespace

std::shared_ptr<const model::Model> read_hugging_face(const fs::path &folder) {
    const fs::path file = folder / "config.json", generation_file = folder / "generation_config.json";
    const JsonText document(text_of(file), file.string());
    const Config config = Config::of_model(document.root());
    refuse_unsupported(config);
    std::optional<JsonText> generation_document;
    if (has_file(generation_file)) generation_document.emplace(text_of(generation_file), generation_file.string());
    const Config generation = generation_document ? Config(generation_document->root()) : config;
    const std::string model_type = config.text("model_type");
    model::Weights weights = as_loaded(model::open_safetensors_folder(folder), base_of(model_type, config));
    Draft draft{.config = config,
                .weights = weights,
                .generation = generation,
                .pooling = read_modules(folder),
                .task = task_of(config),
                .texts = read_text_settings(config, generation, folder)};
    return assemble(draft, model_type, folder);
}

} // namespace lamina::architectures
