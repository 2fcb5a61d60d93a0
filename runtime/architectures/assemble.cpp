#include "architectures/assemble.hpp"

#include "architectures/described.hpp"
#include "architectures/generation_settings.hpp"
#include "architectures/image_settings.hpp"
#include "architectures/output_tokens.hpp"
#include "architectures/speech_settings.hpp"
#include "architectures/text_settings.hpp"
#include "base/model_path.hpp"
#include "base/readable_json.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <cctype>

namespace lamina::architectures {
namespace {

// The last part of the path, restricted to the characters that model.json allows in a name.
std::string name_of(const std::filesystem::path &path) {
    const std::filesystem::path last = last_name_of(path);
    std::string name = (last.extension() == ".gguf" ? last.stem() : last).string(); // not of a folder: "Qwen2.5-0.5B"
    for (char &c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-' && c != '.') c = '-';
    return name.empty() ? "model" : name.substr(0, 100);
}

// Whether a weight belongs to a head that the model does not have, or is one that it can do without.
bool is_left_out(const Draft &draft, std::string_view base, const std::string &weight) {
    const std::string inside = std::string(base) + ".";
    const bool beside = !draft.gguf && !base.empty() && !weight.starts_with(inside);
    if (!beside && !draft.spare.contains(weight)) return false;
    return std::ranges::none_of(draft.graphs, [&](const auto &graph) { return graph.second.names(weight); });
}

[[noreturn]] void refuse(const Config &config, const std::string &name, const std::set<std::string_view> &supported,
                         const std::string &more = "") {
    std::string list;
    for (const std::string_view each : supported) list += (list.empty() ? "" : ", ") + std::string(each);
    config.fail("model_type", "the architecture " + in_quotes(name) + " is not supported; supported: " + list + more);
}

// The architecture whose settings are nearest to these, and those that it does not have. Where several have as many,
// the one with the fewest others.
struct Nearest {
    std::string_view model_type;
    std::vector<std::string> without;
    size_t others = 0;
};
Nearest nearest(const Config &config) {
    std::optional<Nearest> best;
    for (const Architecture &each : all()) {
        const ConfigKeys *keys = each.build == nullptr ? nullptr : ConfigKeys::of_model(each.model_type);
        if (keys == nullptr) continue;
        Nearest found{each.model_type, {}, keys->size()};
        for (const JsonView setting : config.view().members())
            if (keys->find(keys->name(setting.key())) != nullptr)
                --found.others;
            else if (!setting.is_null() && !ConfigKeys::is_harmless_anywhere(setting.key()))
                found.without.emplace_back(setting.key());
        const std::string name = config.text("model_type"); // "roberta" rather than "bert" for roberta-prelayernorm
        const auto rank = [&](const Nearest &n) {
            return std::tuple(n.without.size(), !name.starts_with(n.model_type), n.others);
        };
        if (!best || rank(found) < rank(*best)) best = std::move(found);
    }
    return *best;
}

// What may be done about an unknown architecture of a folder.
std::string way_in(const Config &config, const std::string &name) {
    const auto [nearest_type, without, others] = nearest(config);
    std::string out = "; nearest by its settings is " + in_quotes(std::string(nearest_type));
    for (size_t i = 0; i < without.size() && i < 5; ++i)
        out += (i == 0 ? ", which has no " : ", ") + in_quotes(without[i]);
    if (without.size() > 5) out += " and " + std::to_string(without.size() - 5) + " more";
    return out + "; a file " + name + ".model.json.jinja in a plugin folder can describe it (docs/new_architecture.md)";
}

// The weights without the unused ones.
model::Weights used(const Draft &draft, std::string_view base) {
    model::Weights out(draft.weights.file());
    for (const auto &[name, weight] : draft.weights.entries())
        if (!draft.unused.contains(name) && !is_left_out(draft, base, name)) out.add(name, weight);
    for (const auto &[name, tensor] : draft.weights.others()) out.add_other(name, tensor);
    return out;
}

} // namespace

const Architecture &architecture_of(const std::string &model_type, const Config &config,
                                    const Description *description) {
    if (description != nullptr) return described();
    std::set<std::string_view> supported;
    for (const Architecture &a : all()) {
        if (a.model_type == model_type) return a;
        supported.insert(a.model_type);
    }
    refuse(config, model_type, supported, way_in(config, model_type));
}

std::string Draft::first_of(std::initializer_list<std::string> names) const {
    for (const std::string &name : names)
        if (weights.entries().contains(name)) return name;
    return *names.begin();
}

std::string Draft::tied(const std::string &name, const std::string &source) {
    const auto &entries = weights.entries();
    if (name == source) return source;
    if (!entries.contains(name)) {
        std::optional<model::Weight> own;
        if (entries.contains(source)) own = untied.take(name, source, weights);
        if (!own) return source;
        weights.add(name, *std::move(own));
        return name;
    }
    if (!entries.contains(source)) return name;
    const model::Weight &own = weights.at(name), &shared = weights.at(source);
    if (own.type != shared.type || !std::ranges::equal(own.bytes(), shared.bytes())) return name;
    unused.insert(name);
    return source;
}

bool Draft::reads_pages() const {
    const auto encode = graphs.find("encode");
    return encode != graphs.end() && encode->second.takes("boxes");
}

const Architecture &architecture_of_gguf(const std::string &name, const std::function<bool(std::string_view)> &has,
                                         const Config &config) {
    std::set<std::string_view> supported;
    const Architecture *found = nullptr;
    for (const Architecture &a : all()) {
        if (a.gguf.architecture.empty()) continue;
        const std::string_view with = a.gguf.only_with;
        if (a.gguf.architecture == name && (with.empty() ? found == nullptr : has(with))) found = &a;
        supported.insert(a.gguf.architecture);
    }
    if (found != nullptr) return *found;
    const auto is_it = [&](const Architecture &a) { return a.model_type == name; };
    if (std::ranges::any_of(all(), is_it))
        config.fail("model_type", in_quotes(name) + " is read from Hugging Face folders only, not from GGUF");
    refuse(config, name, supported);
}

std::shared_ptr<model::Model> assemble(Draft &draft, const std::string &model_type, const std::filesystem::path &path) {
    draft.tokens = output_tokens(draft.generation);
    const Architecture &architecture = architecture_of(model_type, draft.config, draft.description);
    architecture.build(draft);
    if (draft.images && draft.images->of_prompts()) {
        const auto decode = draft.graphs.find("decode");
        if (decode == draft.graphs.end() || !decode->second.takes("image_rows"))
            draft.config.fail("model_type", in_quotes(model_type) +
                                                " is not supported as the part for texts of a model "
                                                "that sees");
    }
    if (!draft.graphs.contains("encode")) draft.tokens.start.clear(); // a prompt has what it begins with
    for (const std::string_view key : generation_keys()) draft.config.ignore({key.data()});
    draft.config.finish();
    Json graphs = Json::object();
    for (const auto &[name, graph] : draft.graphs) graphs[name] = graph.json();
    Json json{{"format", "lamina/1"},
              {"name", name_of(path)},
              {"summary", model_type},
              {"graphs", graphs},
              {"tokens", json_of(draft.tokens)}};
    if (Json generation = generation_block(draft); !generation.empty()) json["generation"] = std::move(generation);
    if (Json reading = reading_block(draft); !reading.empty()) json["reading"] = std::move(reading);
    if (Json images = images_block(draft); !images.empty()) json["images"] = std::move(images);
    if (Json pages = pages_block(draft); !pages.empty()) json["pages"] = std::move(pages);
    if (Json speech = speech_block(draft); !speech.empty()) json["speech"] = std::move(speech);
    if (draft.texts && draft.texts->chat && draft.graphs.contains("decode")) {
        const model::Chat &chat = *draft.texts->chat;
        json["chat"] = Json{{"template", chat.text}, {"bos", chat.bos}, {"eos", chat.eos}};
        if (!chat.tools_text.empty()) json["chat"]["tools_template"] = chat.tools_text;
    }
    const model::TextFiles files{{},
                                 [&](const std::string &) { return *draft.texts->tokenizer; },
                                 [&](const std::string &file) { return text_of(path / file); }};
    auto model = model::Model::read(readable_json(json), used(draft, architecture.base), files, path.string());
    std::set<std::string> ignored(draft.config.ignored().begin(), draft.config.ignored().end());
    model->ignored.assign(ignored.begin(), ignored.end());
    return model;
}

} // namespace lamina::architectures
