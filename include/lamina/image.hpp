// Images, for models that take them: classes, vectors, how well texts describe them, and what they say.
//
//     const lamina::Image photo = lamina::read_image("photo.jpg");
//     const auto classes = lamina::classify_images(session, {photo});
//     for (const lamina::LabelScore &each : classes.front())
//         std::cout << each.label << ' ' << each.score << '\n';
#pragma once

#include <lamina/lamina.hpp>
#include <lamina/texts.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
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
// The same of a file that is in memory. `name`: what errors call it.
[[nodiscard]] Image decode_image(std::span<const std::byte> file, const std::string &name,
                                 int64_t most_pixels = int64_t{1} << 27);

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

// ---- Images in prompts ----
//
// Models such as LLaVA continue prompts with images (inspect(model).generation->images):
//
//     const auto prompt = lamina::chat_prompt(model, {{"user", "What is this?", 1}});
//     const auto ids = lamina::image_prompt_ids(session, prompt, {lamina::read_image("photo.jpg")});
//     std::cout << lamina::generate_from_ids(session, ids).front().text;

// The token ids of a prompt that has ImagePrompts::mark in the place of each image, as chat_prompt() writes it for
// ChatMessage::images. Those of images are below zero: they belong to this session, which computes each image once and
// knows it as long as texts use it, and 256 MiB of others. So prompts with different images differ in their ids. Where
// all tokens of a prompt with images see each other, as in PaliGemma, all of its ids are below zero: those of different
// prompts differ.
// `special`: GenerateOptions::special_tokens. Throws Error(usage) for a model that takes no images in prompts,
// Error(input) if there are more or fewer marks than images, and as Session::generate() does.
[[nodiscard]] std::vector<int32_t> image_prompt_ids(Session &session, const std::string &prompt,
                                                    const std::vector<Image> &images, bool special = false);

// Session::hypotheses() of a prompt that is token ids already: nothing is put around them.
[[nodiscard]] std::vector<Hypothesis> generate_from_ids(Session &session, const std::vector<int32_t> &ids,
                                                        const GenerateOptions &options = {});

// As shortened_chat_prompt() of texts.hpp. The images are those of all messages, in their order: ChatMessage::images of
// each, or the parts {"type": "image"} in the variable "messages". Those of messages that are left out are left out,
// too. `before`: called before each image, or tile of one, is computed, with the tokens of the prompt; what it throws
// ends that.
using BeforeImage = std::function<void(size_t tokens)>;
[[nodiscard]] ShortenedChat shortened_chat_prompt(const Model &model, Session &session,
                                                  const std::vector<ChatMessage> &messages,
                                                  const std::vector<Image> &images, size_t longest, size_t answer,
                                                  const std::map<std::string, std::string> &variables = {},
                                                  const BeforeImage &before = {});

// ---- Images as sources ----
//
// Models such as TrOCR write what an image says (inspect(model).images->gives is texts):
//
//     const lamina::Image line = lamina::read_image("line.png");
//     std::cout << lamina::generate_from_images(session, {line}).front().front().text;

// Session::hypotheses() with images in place of texts: all hypotheses of each image, best first. Throws Error(usage)
// for a model that does not write texts of images, and Error(input) for an image whose pixels are not as many as its
// size says.
[[nodiscard]] std::vector<std::vector<Hypothesis>>
generate_from_images(Session &session, const std::vector<Image> &images, const GenerateOptions &options = {});

// What the model's graph takes for these images, for Session::run(); of a model that takes images of any size, for one.
[[nodiscard]] GraphRun image_inputs(const Model &model, const std::vector<Image> &images);

} // namespace lamina
