// Prompts with images, as token ids.
#pragma once

#include "session/state.hpp"

#include <lamina/image.hpp>

#include <span>
#include <string>
#include <vector>

namespace lamina::api {

struct ImagePrompt {
    std::vector<int32_t> ids;
    std::vector<size_t> places = {};                  // where the tokens of each image begin, or of each tile
    std::vector<detail::SeenImages::One> images = {}; // once they are seen
};

// The tokens of a prompt that has a mark for each of these images; in their places stand as many tokens as an image
// has. Without images, a mark is a text like any other. Throws Error(usage) for a model that takes no images in
// prompts, Error(input) if the prompt has more marks than there are images, or fewer, and for an image that the model
// cannot take.
[[nodiscard]] ImagePrompt with_places(const model::Model &model, const std::string &prompt,
                                      std::span<const Image> images, bool special);

// Puts the tokens of these images into their places. They are computed unless the session has seen them; it must not be
// in use by this thread. `before`: called before each image, or tile; what it throws ends that.
void see(detail::SessionState &session, ImagePrompt &prompt, std::span<const Image> images, const BeforeImage &before);

} // namespace lamina::api
