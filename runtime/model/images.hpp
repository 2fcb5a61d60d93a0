// How images become the input of a graph, and what it gives for them.
#pragma once

#include "image/steps.hpp"
#include "image/tiles.hpp"

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
    int32_t given = 0; // what the decoder is given for each of the image's, beside what it sees
    // Tokens that are read behind each row of the image's, and behind the last one instead.
    struct RowEnds {
        int32_t each = 0, last = 0;
    };
    std::optional<RowEnds> row_ends = {};
    std::string before = {}; // what is read before it, or before the first tile
    bool lines = true;       // a line break follows each row of tiles, and one more all of them
    std::string tile = {};   // what is read for each tile of a large image, likewise, with {row} and {column}
    int64_t skip = 0;        // how many of the image's are left out at the beginning, such as that of a class token
    std::string behind = {}; // what is read behind the last image, such as the token that begins a text: then no tokens
                             // are put around the prompt
    std::string end = {};    // what is read at the end of the prompt
    bool together = false;   // all tokens of a prompt with images see each other
};

// What the graph takes beside patches if images have any size. Patches may be followed by filler; the output then has a
// row for each square of merged patches.
struct AnySize {
    // Of attention that takes windows of so many patches a side for sequences. They are W, in rows from the top left,
    // and the last ones may be filler.
    struct Windows {
        int64_t side = 0;
        std::string rows = {};    // input, i32 (W, side * side): the numbers of its patches
        std::string lengths = {}; // input, i32 (W): how many these are
        std::string places = {};  // input, i32 (B, N): where each patch is in all of the windows
    };
    std::string coordinates = {}; // input, i32 (B, N, 2): the row and the column of each patch
    std::string lengths = {};     // input, i32 (B): how many patches there are
    std::string sizes = {};       // input, i32 (B, 2): rows and columns of them; empty: the graph has no such input
    std::string rows = {}, columns = {}; // inputs, i32 (B, N): the row of each patch, and its column; empty: likewise
    std::optional<Windows> windows = {};
};

struct Images {
    enum class Gives { embedding, classes, tokens, texts }; // (B, C); (B, L); (B, N, C); what "generation" writes of it

    std::string graph;
    std::string patches;     // its input, (B, N, 3 * patch * patch)
    std::string output = {}; // empty for texts: the graph is an encoder then
    Gives gives = Gives::embedding;
    Scores scores = Scores::softmax;
    std::vector<std::string> labels = {}; // of classes
    image::Steps steps = {};
    std::optional<Matching> matching = {};   // of a model that gives vectors of texts, too
    std::optional<image::Tiling> tiles = {}; // of one that sees large images in tiles of one size
    std::optional<ImagePlace> place = {};    // of one that gives tokens
    std::optional<AnySize> any_size = {};    // else all have that of `steps`
    int64_t tokens =
        0; // of an image in a prompt, at most; where all have one size, it is found when layers are checked

    // How many patches an image has, if all have one size, and how many values a patch.
    [[nodiscard]] int64_t patch_count() const { return steps.height / steps.patch * (steps.width / steps.patch); }
    [[nodiscard]] int64_t patch_values() const { return 3 * steps.patch * steps.patch; }
};

} // namespace lamina::model
