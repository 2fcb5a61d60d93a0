// Translates a projector into the config.json, preprocessor_config.json and tensors of a Hugging Face folder, whose
// family then reads them.
#include "architectures/gguf_projector.hpp"

#include "architectures/assemble.hpp"
#include "architectures/decoder_graph.hpp"
#include "architectures/gguf_names.hpp"
#include "architectures/projector_kinds.hpp"
#include "base/utf8.hpp"
#include "model/gguf.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <set>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;
using model::GgufType;
using model::GgufValue;

constexpr std::string_view of_vision = "clip.vision.";

// Settings of all kinds, which every file has.
constexpr std::array<SettingName, 7> common_settings{{
    {"attention.head_count", "vision_config/num_attention_heads"},
    {"attention.layer_norm_epsilon", "vision_config/layer_norm_eps"},
    {"block_count", "vision_config/num_hidden_layers"},
    {"embedding_length", "vision_config/hidden_size"},
    {"feed_forward_length", "vision_config/intermediate_size"},
    {"image_size", "vision_config/image_size"},
    {"patch_size", "vision_config/patch_size"},
}};

// Keys that are read below, or that say nothing of numbers.
constexpr std::array<std::string_view, 13> other_keys{"clip.has_audio_encoder",
                                                      "clip.has_llava_projector",
                                                      "clip.has_qwen2vl_merger",
                                                      "clip.has_text_encoder",
                                                      "clip.has_vision_encoder",
                                                      "clip.projector_type",
                                                      "clip.rope.freq_base",
                                                      "clip.use_gelu",
                                                      "clip.use_silu",
                                                      "clip.vision.image_mean",
                                                      "clip.vision.image_std",
                                                      "clip.vision.projection_dim",
                                                      "clip.vision.projector_type"};
constexpr std::string_view of_sound = "clip.audio."; // which is not heard

// `architecture`: of the model that the file belongs to, which is called `model`.
const ProjectorKind &kind_of(const ProjectorFile &file, std::string_view architecture, const std::string &model) {
    constexpr const char *key = "clip.projector_type", *of_mixed = "clip.vision.projector_type";
    const model::GgufMetadata &metadata = file.metadata();
    const GgufValue &type = metadata.at(metadata.has(of_mixed) ? of_mixed : key);
    const auto is_of_type = [&](const ProjectorKind &each) { return each.type == type.string(); };
    const auto fits = [&](const ProjectorKind &each) {
        return is_of_type(each) && (each.texts.empty() || each.texts == architecture);
    };
    const std::span<const ProjectorKind> kinds = projector_kinds();
    if (const auto fitting = std::ranges::find_if(kinds, fits); fitting != kinds.end()) return *fitting;
    if (const auto other = std::ranges::find_if(kinds, is_of_type); other != kinds.end())
        file.refuse("a projector for models of the architecture " + in_quotes(std::string(other->texts)) + ", and " +
                    model + " is of " + in_quotes(std::string(architecture)));
    std::set<std::string_view> types;
    for (const ProjectorKind &each : kinds) types.insert(each.type);
    std::string supported;
    for (const std::string_view each : types) supported += (supported.empty() ? "" : ", ") + std::string(each);
    type.fail(in_quotes(std::string(type.string())) + " is not supported; supported: " + supported);
}

// Of a projector into what a folder has, and of messages about that back.
class Translation {
  public:
    Translation(const ProjectorFile &file, const ProjectorKind &kind)
        : file_(file), kind_(kind), settings_(common_settings.begin(), common_settings.end()),
          names_(kind.tensors.begin(), kind.tensors.end()) {
        settings_.insert(settings_.end(), kind.settings.begin(), kind.settings.end());
        for (const auto &[gguf, hugging_face] : kind.tower)
            names_.push_back({gguf, prefixed_.emplace_back(std::string(kind.prefix) + std::string(hugging_face))});
    }

    [[nodiscard]] ProjectorFolder folder() const {
        for (const SettingName &each : common_settings) (void)file_.at(each.gguf);
        refuse_unknown();
        ProjectorFolder out{.config = Json{{"model_type", std::string(kind_.model_type)}},
                            .preprocessor = {},
                            .weights = model::Weights(file_.path())};
        for (const auto &[theirs, ours] : settings_)
            if (const GgufValue *value = file_.find(theirs)) set(out.config, ours, *value);
        const bool gelu = file_.flag("clip.use_gelu"), silu = file_.flag("clip.use_silu");
        out.config["vision_config"]["hidden_act"] = silu ? "silu" : gelu ? std::string(kind_.gelu) : "quick_gelu";
        for (const char *key : {"image_mean", "image_std"}) {
            const std::vector<double> colours = file_.at(key).numbers();
            if (colours.size() != 3) file_.at(key).fail("expected 3 numbers, one for each colour");
            out.preprocessor[key] = colours;
        }
        for (const auto &[name, weight] : file_.weights().entries()) out.weights.add(hugging_face(name), weight);
        for (const auto &[name, tensor] : file_.weights().others()) out.weights.add_other(hugging_face(name), tensor);
        kind_.complete(file_, out);
        return out;
    }

    // A message about the equivalent folder.
    [[nodiscard]] std::string in_its_names(std::string message) const {
        for (const auto &[gguf, ours] : names_)
            for (size_t at = 0; (at = message.find(in_quotes(std::string(ours)), at)) != std::string::npos;)
                message.replace(at + 1, ours.size(), gguf);
        return with_right_names(in_gguf_names(
            std::move(message), {.architecture = "clip.vision", .tensors = names_, .settings = settings_}));
    }

  private:
    const ProjectorFile &file_;
    const ProjectorKind &kind_;
    std::vector<SettingName> settings_;
    std::vector<TensorName> names_;
    std::deque<std::string> prefixed_;

    // At "KEY", or "PART/KEY".
    static void set(Json &config, std::string_view place, const GgufValue &value) {
        const size_t slash = place.find('/');
        if (slash != std::string_view::npos && place.substr(0, slash) != "vision_config") return; // of the preprocessor
        if (value.type() == GgufType::boolean) return;                                            // of each layer
        Json &part = slash == std::string_view::npos ? config : config[place.substr(0, slash)];
        Json &out = part[slash == std::string_view::npos ? place : place.substr(slash + 1)];
        if (value.is_list())
            out = value.integers();
        else if (value.type() == GgufType::f32 || value.type() == GgufType::f64)
            out = value.number();
        else
            out = value.integer();
    }

    // Older converters called the first matrix of a feed-forward "ffn_down" and the last "ffn_up" (clip.cpp).
    [[nodiscard]] bool is_swapped() const {
        const auto down = file_.weights().entries().find("v.blk.0.ffn_down.weight");
        return down != file_.weights().entries().end() && down->second.type.shape.size() == 2 &&
               down->second.type.shape.back() == file_.positive("embedding_length");
    }

    [[nodiscard]] std::string hugging_face(const std::string &given) const {
        const std::string name = with_right_names(given);
        for (const TensorName &each : names_)
            if (each.gguf == name) return std::string(each.hugging_face);
        return hugging_face_name(name, names_);
    }

    // The text with the names of feed-forwards that the file has in the place of the right ones, or the other way.
    [[nodiscard]] std::string with_right_names(std::string text) const {
        constexpr std::string_view up = ".ffn_up.", down = ".ffn_down.";
        for (size_t at = 0; is_swapped() && (at = text.find(".ffn_", at)) != std::string::npos; ++at)
            for (const auto &[theirs, ours] : {std::pair{up, down}, {down, up}})
                if (text.compare(at, theirs.size(), theirs) == 0) {
                    text.replace(at, theirs.size(), ours);
                    break;
                }
        return text;
    }

    void refuse_unknown() const {
        for (const auto &[key, value] : file_.metadata().values()) {
            if (key.starts_with("general.") || key.starts_with(of_sound) ||
                std::ranges::find(other_keys, key) != other_keys.end())
                continue;
            const std::string_view setting =
                key.starts_with(of_vision) ? std::string_view(key).substr(of_vision.size()) : "";
            if (std::ranges::find(settings_, setting, &SettingName::gguf) == settings_.end())
                value.fail("unknown key (its value is " + value.description() +
                           "): Lamina cannot tell whether it changes what the model computes");
        }
    }
};

void refuse_unused(const Draft &draft, const model::Weights &weights) {
    for (const auto &entry : weights.entries()) {
        const std::string &name = entry.first;
        if (!draft.unused.contains(name) &&
            std::ranges::none_of(draft.graphs, [&](const auto &graph) { return graph.second.names(name); }))
            throw Error(ErrorCode::input,
                        weights.file().string() + ": no layer of the model uses the tensor " + in_quotes(name));
    }
}

} // namespace

ProjectorFile::ProjectorFile(const fs::path &file, const Draft &draft) : draft_(&draft) {
    model::Gguf gguf = model::open_gguf(file);
    metadata_ = std::move(gguf.metadata), weights_ = std::move(gguf.weights);
    constexpr const char *key = "general.architecture";
    if (const std::string_view found = metadata_.at(key).string(); found != "clip")
        metadata_.at(key).fail("expected 'clip', found " + in_quotes(std::string(found)) +
                               ": this is no projector, which has the name mmproj-*.gguf");
}

const GgufValue *ProjectorFile::find(std::string_view key) const {
    const std::string full = std::string(of_vision) + std::string(key);
    return metadata_.has(full) ? &metadata_.at(full) : nullptr;
}

const GgufValue &ProjectorFile::at(std::string_view key) const {
    if (const GgufValue *value = find(key)) return *value;
    refuse("the metadata lack the key " + in_quotes(std::string(of_vision) + std::string(key)));
}

int64_t ProjectorFile::positive(std::string_view key) const { return at(key).integer(1, INT32_MAX); }

int64_t ProjectorFile::positive(std::string_view key, int64_t otherwise) const {
    return find(key) != nullptr ? positive(key) : otherwise;
}

bool ProjectorFile::flag(const std::string &key) const { return metadata_.has(key) && metadata_.at(key).boolean(); }

int64_t ProjectorFile::width() const {
    // The older converter of LLaVA has another number at the key.
    if (const auto bias = weights_.entries().find("mm.2.bias"); bias != weights_.entries().end())
        return element_count(bias->second.type.shape);
    return positive("projection_dim");
}

int64_t ProjectorFile::token(std::initializer_list<const char *> names) const {
    if (!draft_->texts || !draft_->texts->tokenizer) return 0; // there are no prompts
    for (const char *name : names)
        if (const auto id = draft_->texts->tokenizer->id(name)) return *id;
    throw Error(ErrorCode::input, draft_->weights.file().string() + ": its vocabulary has no token " +
                                      in_quotes(*names.begin()) + ", which prompts need for images");
}

void ProjectorFile::refuse(const std::string &why) const {
    throw Error(ErrorCode::input, path().string() + ": " + why);
}

void add_projector(const fs::path &file, Draft &draft, std::string_view architecture) {
    const ProjectorFile projector(file, draft);
    const std::string model = draft.weights.file().string();
    const ProjectorKind &kind = kind_of(projector, architecture, model);
    if (!continues_texts(draft)) projector.refuse(model + " takes no images: it does not continue texts");
    if (const int64_t own = draft.config.positive("hidden_size"); projector.width() != own)
        projector.refuse("its tokens have " + std::to_string(projector.width()) + " channels, and those of " + model +
                         " have " + std::to_string(own) + ": is it for another model?");
    const Translation translation(projector, kind);
    try {
        const ProjectorFolder folder = translation.folder();
        const std::string place = file.string() + ": metadata";
        const JsonText config(folder.config.in_one_line(), place);
        draft.preprocessor = std::make_shared<JsonText>(folder.preprocessor.in_one_line(), place);
        draft.weights.add(folder.weights);
        for (const auto &[name, tensor] : folder.weights.others()) draft.weights.add_other(name, tensor);
        const Config whole = Config::of_model(config.root());
        architecture_of(whole.model_type(), whole).see(draft, whole);
        refuse_unused(draft, folder.weights);
    } catch (const Error &error) {
        std::string message = error.what();
        if (const std::string begin = model + ": "; // of what the draft lacks since this file does
            message.starts_with(begin + "there is no tensor") || message.starts_with(begin + "the tensor"))
            message.replace(0, begin.size(), file.string() + ": ");
        else if (!message.starts_with(file.string()) && !message.starts_with(model))
            message.insert(0, file.string() + ": ");
        throw Error(error.code(), translation.in_its_names(std::move(message)));
    }
}

std::vector<fs::path> projectors_beside(const fs::path &model) {
    std::vector<fs::path> out;
    std::error_code error;
    const fs::path folder = model.has_parent_path() ? model.parent_path() : ".";
    for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error)) {
        const std::string name = each->path().filename().string();
        if (name.find("mmproj") != std::string::npos && name.ends_with(".gguf") &&
            each->path().filename() != model.filename())
            out.push_back(each->path());
    }
    std::ranges::sort(out);
    return out;
}

} // namespace lamina::architectures
