// How images become the input of a graph, and what it gives for them.
#pragma once

#include "image/steps.hpp"

#include <optional>
#include <string>
#include <vector>

namespace lamina::model {

// What the numbers of classes are.
enum class Scores { softmax, sigmoid, values };

// How well a text describes an image: scale * (the product of their vectors) + bias, as scores of the texts.
struct Matching {
    double scale = 1, bias = 0;
    Scores scores = Scores::softmax;
};

// How an image becomes part of a prompt.
struct ImagePlace {
    std::string mark; // what stands for an image in a prompt, as chat templates write it: "<image>"
    std::string text; // what is read in its place, with one token that all of the image's stand for
    int32_t token = 0;
    int64_t skip = 0; // how many of the image's are left out at the beginning, such as that of a class token
};

struct Images {
    enum class Gives { embedding, classes, tokens }; // (B, C); (B, L); (B, N, C)

    std::string graph;
    std::string patches; // its input, (B, N, 3 * patch * patch)
    std::string output = {};
    Gives gives = Gives::embedding;
    Scores scores = Scores::softmax;
    std::vector<std::string> labels = {}; // of classes
    image::Steps steps = {};
    std::optional<Matching> matching = {}; // of a model that gives vectors of texts, too
    std::optional<ImagePlace> place = {};  // of one that gives tokens
    int64_t tokens = 0;                    // of an image in a prompt, which is found when layers are checked

    // How many patches an image has, and how many values a patch.
    [[nodiscard]] int64_t patch_count() const { return steps.height / steps.patch * (steps.width / steps.patch); }
    [[nodiscard]] int64_t patch_values() const { return 3 * steps.patch * steps.patch; }
};

} // namespace lamina::model
