// Generates text, from texts or from audio.
#pragma once

#include "generation/search.hpp"
#include "session/state.hpp"

#include <lamina/lamina.hpp>

#include <memory>
#include <string>
#include <vector>

namespace lamina::generation {

// As Session::hypotheses.
[[nodiscard]] std::vector<std::vector<Hypothesis>>
generate(detail::SessionState &session, const std::vector<std::string> &texts, const GenerateOptions &options);
// The same for token ids or windows of audio, none of which is too long for the model. Ids below zero are of images
// that the session has seen.
[[nodiscard]] std::vector<std::vector<Hypothesis>>
generate_from(detail::SessionState &session, const std::vector<Source> &sources, const GenerateOptions &options);

// Throws Error(usage) for values that mean nothing.
void check_options(const GenerateOptions &options);

// The options, with what they leave open as the model has it. Several beams are only meant for searches, and for texts
// that come as a whole: `one_beam` says that they do not.
[[nodiscard]] GenerateOptions resolved(const model::Model &model, GenerateOptions options, bool one_beam = false);

// The images that a source has tokens of. Throws Error(input) for one that is not known, or of which the model has to
// see all at once and a part is missing.
[[nodiscard]] std::vector<detail::SeenImages::One> images_of(const detail::SessionState &session, const Source &source);

// What is to be generated from a source, for sampling with this number. Throws Error(input) if a prompt is empty and
// the model has no token to begin with, or if it is longer than the model's makers let texts become. `options` are as
// resolved() gives them.
[[nodiscard]] Task task_of(const model::Model &model, Source source, uint64_t number, size_t positions,
                           const std::shared_ptr<const GenerateOptions> &options);

} // namespace lamina::generation
