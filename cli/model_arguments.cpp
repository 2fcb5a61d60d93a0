#include "model_arguments.hpp"

#include "base/joined.hpp"
#include "base/nearest.hpp"

#include <lamina/npy.hpp>
#include <lamina/plugins.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>

namespace lamina::cli {
namespace {

std::vector<std::string> variant_names(const LayerContract &layer, const Device &device) {
    std::vector<std::string> names;
    for (const Device &part : device.parts)
        for (const std::string &name : variant_names(layer, part))
            if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    if (!device.parts.empty()) return names;
    if (device.kind == "cpu") names.emplace_back("reference");
    if (device.id != "reference")
        for (const LayerVariant &variant : device.kind == "cpu" ? layer.cpu_variants : layer.variants)
            names.push_back(variant.name);
    return names;
}

// "12,20"
std::vector<size_t> numbers_of_layers(const std::string &text) {
    std::vector<size_t> out;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(',', begin), text.size());
        size_t number = 0;
        const auto read = std::from_chars(text.data() + begin, text.data() + end, number);
        if (read.ec != std::errc() || read.ptr != text.data() + end)
            throw Error(ErrorCode::usage,
                        "--split: expected auto, or numbers of layers as in 12,20; found '" + text + "'");
        out.push_back(number);
        begin = end + 1;
    }
    return out;
}

// "6GiB", "512MiB"
uint64_t bytes_of(const std::string &text) {
    double number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string_view unit(read.ptr, static_cast<size_t>(text.data() + text.size() - read.ptr));
    const double scale = unit == "KiB" ? 0x1p10 : unit == "MiB" ? 0x1p20 : unit == "GiB" ? 0x1p30 : 0;
    if (read.ec != std::errc() || scale == 0 || !(number >= 0 && number * scale < 0x1p63))
        throw Error(ErrorCode::usage, "--max-memory: expected sizes as in 6GiB or 512MiB; found '" + text + "'");
    return static_cast<uint64_t>(number * scale);
}

} // namespace

Assignments assignments(const std::vector<std::string> &given, const std::string &option) {
    Assignments out;
    for (const std::string &text : given) {
        const size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
            throw Error(ErrorCode::usage, option + ": expected NAME=VALUE, found '" + text + "'");
        if (!out.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
            throw Error(ErrorCode::usage, option + ": '" + text.substr(0, equals) + "' is given twice");
    }
    return out;
}

std::map<std::string, Tensor, std::less<>> input_tensors(const std::vector<std::string> &given) {
    std::map<std::string, Tensor, std::less<>> out;
    for (const auto &[name, file] : assignments(given, "--input")) out[name] = read_npy(file);
    return out;
}

Assignments variants(const std::vector<std::string> &given, const Runtime &runtime, const Device &device) {
    Assignments out = assignments(given, "--variant");
    if (out.empty()) return out;
    const Plugins plugins = lamina::plugins(runtime);
    for (const auto &[id, variant] : out) {
        const auto layer = plugins.layers.find(id);
        if (layer == plugins.layers.end())
            throw Error(ErrorCode::usage,
                        "--variant: no layer '" + id + "'" + instead_of(id, names_of(plugins.layers)));
        const std::vector<std::string> names = variant_names(layer->second, device);
        if (std::find(names.begin(), names.end(), variant) == names.end())
            throw Error(ErrorCode::usage, "--variant: " + id + " has no variant '" + variant + "' on " + device.id +
                                              "; it has " + joined(names) + did_you_mean(variant, names));
    }
    return out;
}

void add_cache_option(const Arguments &app, SessionArguments &session, const std::vector<std::string> &caches) {
    app.choice(
           "--cache", session.cache, caches,
           std::string("dtype of the keys and values of earlier tokens; f16 takes half the memory, q8_0 a quarter") +
               (caches.front() == "auto" ? "; auto: f32, or f16 if memory is short" : ""))
        .shows_default();
}

void add_split_options(const Arguments &app, SessionArguments &session) {
    app.option("--split", session.split, "auto|LAYERS,...",
               "with several devices: how many of the model's layers each has; auto: as many as it has memory for, in "
               "the order of --device")
        .shows_default();
    app.option("--max-memory", session.max_memory, "SIZE,...",
               "with --split auto: how much of each device's memory may be used, as in 6GiB,2GiB")
        .separated_by(',');
}

void refuse_cache(const Arguments &app, const ModelContents &model) {
    if (!model.generation && (model.reading || model.images || model.speech || model.pages))
        refuse_given(app, {"--cache"}, "is about generating text, which this model does not do");
}

void add_session_options(const Arguments &app, SessionArguments &session) {
    app.choice(
           "--precision", session.precision, {precision_names.begin(), precision_names.end()},
           "how exactly products represent activations: as floats, in 16 bits or in 8; fewer bits are faster where a "
           "layer has kernels for them")
        .shows_default();
    app.option("--variant", session.variants, "LAYER=NAME", "use this variant of a layer; may be repeated");
    app.flag("--no-fusion", session.no_fusion,
             "use no fusions: layers that replace several others where they are proved and faster");
    add_split_options(app, session);
}

SessionOptions session_options(const SessionArguments &session, const Runtime &runtime, const Device &device) {
    SessionOptions out;
    out.cache = session.cache == "auto" ? DType::f32 : cache_named(session.cache);
    out.precision = precision_named(session.precision);
    out.fusion = !session.no_fusion;
    out.variants = variants(session.variants, runtime, device);
    if (session.split != "auto") out.split = numbers_of_layers(session.split);
    for (const std::string &size : session.max_memory) out.max_memory.push_back(bytes_of(size));
    return out;
}

std::optional<Media> media_named(const std::string &text) {
    static const std::vector<std::pair<Media, std::vector<std::string_view>>> kinds{
        {Media::audio, {".wav", ".flac", ".ogg", ".opus", ".mp3", ".m4a", ".aac", ".aiff"}},
        {Media::image, {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tiff"}},
    };
    std::error_code error;
    if (text.find_first_of(" \t\n") != std::string::npos && !std::filesystem::exists(text, error)) return std::nullopt;
    std::string ending = std::filesystem::path(text).extension().string();
    for (char &c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const auto &[media, endings] : kinds)
        if (std::ranges::find(endings, ending) != endings.end()) return media;
    return std::nullopt;
}

void refuse_media(const std::vector<std::string> &texts) {
    for (const std::string &text : texts)
        if (const auto media = media_named(text))
            throw Error(ErrorCode::usage, text + " is the name of " +
                                              (*media == Media::audio ? "an audio file" : "an image") +
                                              ", and this model takes text; if the name is the text, give it on stdin");
}

std::string graph_name(const std::string &given, const ModelContents &model) {
    const std::vector<std::string> names = names_of(model.graphs);
    if (given.empty() && names.size() == 1) return names.front();
    if (given.empty())
        throw Error(ErrorCode::usage, model.name + " has several graphs: choose one with --graph: " + joined(names));
    if (!model.graphs.contains(given))
        throw Error(ErrorCode::usage, "--graph: " + model.name + " has no graph '" + given + "'; it has " +
                                          joined(names) + did_you_mean(given, names));
    return given;
}

} // namespace lamina::cli
