// Images, for models that take them: classes, vectors, and how well texts describe them.
//
//     const lamina::Image photo = lamina::read_image("photo.jpg");
//     for (const lamina::LabelScore &each : lamina::classify_images(session, {photo}).front())
//         std::cout << each.label << ' ' << each.score << '\n';
#pragma once

#include <lamina/lamina.hpp>
#include <lamina/texts.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lamina {

struct Image {
    int64_t width = 0, height = 0;
    std::vector<uint8_t> pixels = {}; // (height, width, 3): red, green and blue, rows from the top
};

// Reads PNG, JPEG and WebP; of an animation, the first picture. It is turned as its EXIF orientation says. What is
// transparent is put on white, as transformers does, and 16 bits become 8. Throws Error(input) for a file that is
// something else, truncated or damaged, or that has more than 128 million pixels.
[[nodiscard]] Image read_image(const std::filesystem::path &file);

struct ImageOptions {
    size_t batch = 16; // how many images are processed together
    // For match_images(): the text that a label is compared in, with {} where it belongs.
    std::string sentence = "This is a photo of {}.";
    std::function<void(size_t done, size_t all)> progress{}; // after every batch
};

// These functions resize, cut and scale images as the model's preprocessor_config.json says. They accept any number of
// them, and return one result per image, in the same order. They throw Error(usage) for a model with another kind of
// output, and Error(input) for an image whose pixels are not as many as its size says.

// (N, C): a vector for each image. Where the model also gives vectors of texts, their cosines say how well each
// describes the image.
[[nodiscard]] Tensor embed_images(Session &session, const std::vector<Image> &images, const ImageOptions &options = {});
// Scores of all labels, best first.
[[nodiscard]] std::vector<std::vector<LabelScore>> classify_images(Session &session, const std::vector<Image> &images,
                                                                   const ImageOptions &options = {});
// The same for labels that the model was not trained for: how well they describe each image.
[[nodiscard]] std::vector<std::vector<LabelScore>> match_images(Session &session, const std::vector<Image> &images,
                                                                const std::vector<std::string> &labels,
                                                                const ImageOptions &options = {});

// What the model's graph takes for these images, for Session::run().
[[nodiscard]] GraphRun image_inputs(const Model &model, const std::vector<Image> &images);

} // namespace lamina
