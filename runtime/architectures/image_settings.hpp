// How a model's files say that images become its input: preprocessor_config.json.
#pragma once

#include "base/json.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace lamina::architectures {

class Config;
struct Draft;

// What an architecture says of the images that a graph of its takes, as "patches" (B, N, 3 * patch * patch).
struct ImageInput {
    int64_t height = 0, width = 0, patch = 0; // in pixels
    int64_t merge = 1;                        // of the keys of model.json
    Json steps =
        nullptr;        // how an image gets this size and its values, of the keys of model.json; null: no file says it
    std::string output; // (B, C), or (B, L) for classes; empty if "decode" writes what it makes of them
    bool classes = false;
    Json matching = nullptr;     // "matching" of model.json
    Json place = nullptr;        // "place" of model.json, without what the tokenizer says; then the output is (B, N, C)
    Json any_size = nullptr;     // of images that are not of one size, the keys of model.json that say so
    bool see_each_other = false; // the tokens of an image in a prompt, also those that come later
    std::string graph = "encode_image";
    int64_t details = 0; // a row has so many others behind it, as wide, of which each is added after a layer of the
                         // decoder, from the first on (DeepStack: Meng et al., arXiv:2406.04334)

    [[nodiscard]] bool of_prompts() const { return !place.empty(); }
    // Whether they are the sources of texts.
    [[nodiscard]] bool of_encoder() const { return graph == "encode"; }
};

struct Sides {
    int64_t height = 0, width = 0;
};
// Of "image_size" or "patch_size", which are one number or two. Throws Error(input).
[[nodiscard]] Sides sides_of(const Config &config, const char *key);

// What the files say of images, and the size that these get. none: they say nothing. Throws Error(input).
struct Preparation {
    Json steps = nullptr;
    Sides size = {};                          // 0: images keep sizes of their own, and say how they become patches:
    int64_t patch = 0, merge = 0, frames = 0; // a side, in pixels; squares of so many; and how often each pixel comes,
                                              // or 0 for what Gemma 4 takes
    int64_t longest = 0; // or, instead, pixels of a side; then the architecture adds the "multiple" of "resize"
};
[[nodiscard]] std::optional<Preparation> read_preparation(const Draft &draft, const std::string &model_type);

// Whether the files say how images become a model's input.
[[nodiscard]] bool says_of_images(const std::filesystem::path &folder);

// "images" of model.json; null if the model takes no images, or if no file says how. Throws Error(input).
[[nodiscard]] Json images_block(const Draft &draft);
// "pages" of model.json; null if the model reads no pages, or if its files do not say how. Throws Error(input).
[[nodiscard]] Json pages_block(const Draft &draft);

} // namespace lamina::architectures
