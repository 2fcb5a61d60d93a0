// What commands that run a model are given beside it: texts, tensors, a graph, how a session is to be made.
#pragma once

#include "arguments.hpp"

#include <lamina/inspect.hpp>
#include <lamina/lamina.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lamina::cli {

using Assignments = std::map<std::string, std::string, std::less<>>;

// "NAME=VALUE", each name once. `option` is for messages. Throws Error(usage).
[[nodiscard]] Assignments assignments(const std::vector<std::string> &given, const std::string &option);

// --input: NAME=FILE.npy. Throws Error(usage), and Error(input) when a file cannot be read.
[[nodiscard]] std::map<std::string, Tensor, std::less<>> input_tensors(const std::vector<std::string> &given);

// --variant: LAYER=NAME. Throws Error(usage) with the nearest name for an unknown layer, or a variant that it does not
// have on this device: the CPU has its own.
[[nodiscard]] Assignments variants(const std::vector<std::string> &given, const Runtime &runtime, const Device &device);

// --cache, --precision, --variant, --no-fusion, --split and --max-memory.
struct SessionArguments {
    std::vector<std::string> variants;
    std::string cache = "f32", precision = "full", split = "auto";
    std::vector<std::string> max_memory;
    bool no_fusion = false;
};
// Throws Error(usage) for --cache of a model that keeps nothing of earlier tokens: one that gives vectors or classes,
// or scores audio.
void refuse_cache(const Arguments &app, const ModelContents &model);
// Each adds some of these options; the last one all but --cache.
void add_cache_option(const Arguments &app, SessionArguments &session,
                      const std::vector<std::string> &caches = {"f32", "f16", "q8_0"});
void add_split_options(const Arguments &app, SessionArguments &session);
void add_session_options(const Arguments &app, SessionArguments &session);
// Throws Error(usage) as variants() does.
[[nodiscard]] SessionOptions session_options(const SessionArguments &session, const Runtime &runtime,
                                             const Device &device);

// What the name of a file says of it, by its ending. A sentence may end so, too: with blanks in it, the file must
// exist.
enum class Media { audio, image };
[[nodiscard]] std::optional<Media> media_named(const std::string &text);
// Throws Error(usage) for a text that is the name of an audio or image file: this model takes text.
void refuse_media(const std::vector<std::string> &texts);

// --graph, or the only graph of the model. Throws Error(usage).
[[nodiscard]] std::string graph_name(const std::string &given, const ModelContents &model);

} // namespace lamina::cli
