#include "architectures/hugging_face.hpp"

#include "architectures/adapters.hpp"
#include "architectures/assemble.hpp"
#include "architectures/described.hpp"
#include "architectures/file_names.hpp"
#include "architectures/generation_settings.hpp"
#include "architectures/quantization.hpp"
#include "architectures/sentence_modules.hpp"
#include "architectures/sentencepiece_parts.hpp"
#include "architectures/text_settings.hpp"
#include "model/weights_folder.hpp"

#include <utility>

namespace lamina::architectures {
namespace fs = std::filesystem;
namespace {

// The settings of a model, or of the part of it that reads and writes texts, whose model_type then replaces that of the
// whole. What else is in config.json is about images.
Config part_for_texts(const Config &whole, std::string &model_type, std::optional<bool> &tie_words) {
    const Architecture &architecture = architecture_of(model_type, whole);
    if (architecture.of_texts.empty()) return whole;
    constexpr const char *key = "text_config";
    std::string type(architecture.of_texts);
    if (type == any_texts) {
        const auto texts = whole.object(key);
        if (texts && texts->is_null("model_type")) texts->fail("model_type", "null is no type of a model");
        type = texts ? texts->text("model_type", architecture.usual_texts) : architecture.usual_texts;
        const Architecture &of_texts = architecture_of(type, texts ? *texts : whole);
        if (of_texts.build == nullptr) texts->fail("model_type", "expected that of a model for texts alone");
    }
    const bool flat = architecture.flat && !whole.has(key);
    if (!flat && !whole.has(key))
        whole.fail(key, "is missing: expected the settings for texts, of the model_type " + std::string(type));
    const Config texts = flat ? whole.as(type) : whole.part(key, type);
    if (!flat && texts.has("model_type")) texts.expect("model_type", std::string(type).c_str());
    constexpr const char *tied = "tie_word_embeddings";
    using enum Architecture::Tied;
    if (architecture.tied != by_texts || (!texts.states(tied) && whole.states(tied)))
        tie_words = whole.flag(tied) || (architecture.tied == by_either && texts.states(tied) && texts.flag(tied));
    model_type = type;
    return texts;
}

// `sees`: with the part that reads images for prompts, if the architecture has one.
std::shared_ptr<model::Model> read(const fs::path &folder, const std::vector<Adapter> &adapters,
                                   const std::vector<fs::path> &described, bool sees) {
    const fs::path file = folder / "config.json", generation_file = folder / "generation_config.json";
    const JsonText document(with_finite_numbers(text_of(file)), file.string());
    const Config whole = Config::of_model(document.root());
    std::string model_type = whole.model_type();
    const std::optional<Description> found = architectures::description_of(model_type, described);
    const Description *description = found ? &*found : nullptr;
    (void)architecture_of(model_type, whole,
                          description); // before anything else: such a model may have other files, too
    Quantization quantization = Quantization::of(whole, description);
    std::optional<bool> tie_words;
    const Config config = description != nullptr ? whole : part_for_texts(whole, model_type, tie_words);
    config.ignore({"quantization_config"});
    std::optional<JsonText> generation_document;
    if (has_file(generation_file))
        generation_document.emplace(text_of(generation_file), generation_file.string());
    else if (const std::string of_parts = generation_of_parts(document.root()); !of_parts.empty())
        generation_document.emplace(of_parts, file.string());
    const Config generation = generation_document ? Config(generation_document->root()) : config;
    const Architecture &architecture = architecture_of(model_type, config, description);
    const Architecture &of_whole = architecture_of(whole.model_type(), whole, description);
    std::vector<Renaming> renamed;
    if (&of_whole != &architecture) renamed.assign(of_whole.renamed.begin(), of_whole.renamed.end());
    renamed.insert(renamed.end(), architecture.renamed.begin(), architecture.renamed.end());
    const auto named = [&](const model::Weights &given) { return as_loaded(given, architecture.base, renamed); };
    model::Weights weights = named(quantization.read(model::open_weights_folder(folder)));
    std::vector<AdapterContents> changes;
    for (const Adapter &adapter : adapters)
        changes.push_back(read_peft_adapter(adapter, named, architecture.transposed));
    Merged merged = with_adapters(weights, changes);
    weights = std::move(merged.weights);
    auto sentences = SentenceModules::read(folder, weights); // adds weights
    const std::optional<TokenScore> token_score = read_token_score(folder);
    Draft draft{.config = config,
                .weights = weights,
                .generation = generation,
                .tie_words = tie_words,
                .folder = folder,
                .sentences = std::move(sentences),
                .token_score = token_score,
                .task = token_score ? Task::texts : task_of(whole),
                .texts = read_text_settings(config, generation, folder)};
    draft.description = description;
    draft.untied = std::move(merged.untied);
    draft.spare = quantization.zero_biases(weights);
    // The one key of the whole that also changes what texts give, which see() would have found.
    constexpr const char *causal = "is_causal";
    if (of_whole.see != nullptr && !sees && whole.reads(causal) && whole.states(causal) && !whole.flag(causal))
        whole.fail(causal, "false is not supported for a model that is read for texts alone; expected true");
    if (of_whole.see != nullptr && sees) of_whole.see(draft, whole);
    std::shared_ptr<model::Model> model;
    try {
        model = assemble(draft, model_type, folder);
    } catch (const Error &e) {
        if (description == nullptr) throw;
        throw Error(e.code(), std::string(e.what()) + "; " + found->file.string() + " describes this type");
    }
    draft.untied.expect_taken(weights);
    if (description != nullptr) model->notes.push_back("its layers are as " + found->file.string() + " describes them");
    model->adapted = !adapters.empty();
    if (const std::string why = draft.texts ? "" : why_not_read(folder); !why.empty())
        model->notes.push_back("without texts: " + why);
    for (const std::string &note : {quantization.note(), merged.note})
        if (!note.empty()) model->notes.push_back(note);
    return model;
}

} // namespace

std::shared_ptr<model::Model> read_hugging_face(const fs::path &folder, const std::vector<Adapter> &adapters,
                                                const std::vector<fs::path> &described) {
    if (!says_of_images(folder)) return read(folder, adapters, described, false);
    std::string why;
    try {
        return read(folder, adapters, described, true);
    } catch (const Error &error) { // texts do not need images, whose tensors a training for texts alone leaves out
        if (error.code() != ErrorCode::input) throw;
        why = error.what();
    }
    try {
        auto model = read(folder, adapters, described, false);
        model->no_images = "what its files have for images is not read: " + why;
        model->notes.push_back("without images: " + why);
        return model;
    } catch (const Error &error) {
        if (error.what() == why) throw;
        throw Error(error.code(), why + "; nor can it be read for texts alone: " + error.what());
    }
}

} // namespace lamina::architectures
