// GGUF models in several files, as llama.cpp's gguf-split writes them: NAME-00001-of-00003.gguf and so on, each with
// its number in "split.no" and their number in "split.count". The first has the metadata of the model.
#pragma once

#include "model/gguf.hpp"

#include <filesystem>

namespace lamina::model {

// The first file with the tensors of all of them; a file that is a whole model is returned as it is. Throws
// Error(input) as open_gguf() does, and if a part is missing, is another one, or has tensors that an earlier one has.
[[nodiscard]] Gguf open_gguf_in_parts(const std::filesystem::path &file);

} // namespace lamina::model
