// What a model's decoder is given for images of prompts: rows, which take the place of tokens.
#pragma once

#include <lamina/tensor.hpp>

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace lamina::detail {

// An image as a graph was given it, and as the graph sees it. Or a whole prompt with images, whose tokens see each
// other: what the caches hold of each follows from all of them.
struct SeenImage {
    uint64_t hash = 0; // of `given`
    Tensor given;      // (1, N, K); of a prompt, its ids (1, tokens)
    int64_t columns;   // tokens that stand side by side in the image; it has as many rows of them as that leaves
    Tensor rows;       // (1, tokens, C)
    std::vector<int32_t> words = {};                           // of a prompt, the id of each row; -1: it is of an image
    std::vector<std::shared_ptr<const SeenImage>> images = {}; // of a prompt
    int64_t first = 0;                                         // row r has the id -1 - first - r

    [[nodiscard]] int64_t tokens() const { return rows.shape()[1]; }
};

// Every row has an id of its own, below those of the vocabulary, so that prompts are lists of ids with images, too.
// Images that are the same to the model have the same ids, and no others: so whoever compares the tokens of prompts,
// such as the caches, compares their images. A session has one; any thread may use it.
class SeenImages {
  public:
    using One = std::shared_ptr<const SeenImage>;

    // What is known of the image that has become this, with so many tokens in columns; null: nothing.
    [[nodiscard]] One find(const Tensor &given, int64_t columns, int64_t tokens);
    One add(Tensor given, int64_t columns, Tensor rows);
    // A whole prompt of these ids, of which those below zero are of these images.
    [[nodiscard]] One joined(const std::vector<int32_t> &ids, std::vector<One> images);
    // The images that these tokens are of, which stay known as long as somebody has them. Throws Error(input) for an id
    // of none that is known.
    [[nodiscard]] std::vector<One> among(std::span<const int32_t> tokens) const;
    // Throws Error(input) unless these tokens have each image whole, and one of text behind it, or each prompt whole.
    void expect_whole(std::span<const int32_t> tokens) const;
    // The image that a token is of. Throws as above.
    [[nodiscard]] One of(int32_t id) const;
    // What stands for a token: values (C), or the id of a word. Throws as above.
    struct Row {
        std::span<const float> values;
        int32_t word = -1;
    };
    [[nodiscard]] Row row(int32_t id) const;

  private:
    static constexpr uint64_t most_bytes = uint64_t{256} << 20; // of images that are kept although nobody uses them

    mutable std::mutex mutex_;
    std::map<int64_t, std::weak_ptr<const SeenImage>> known_; // by their first ids
    std::list<One> kept_;                                     // used last, first
    int64_t next_ = 0;

    One add(SeenImage image);
    void keep(const One &image);
    [[nodiscard]] int64_t places(int64_t count);
    [[nodiscard]] One at(int32_t id) const;
};

} // namespace lamina::detail
