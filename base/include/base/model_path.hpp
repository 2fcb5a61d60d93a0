// Where the model is that a user named.
#pragma once

#include <filesystem>

namespace lamina {

// The path itself if there is something; otherwise the name ORG/NAME of a repository of Hugging Face, or a file in one,
// ORG/NAME/FILE, is looked up in the cache of its tools: $HF_HUB_CACHE, else $HF_HOME/hub, else
// $XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub. Nothing is downloaded. Throws Error(input), with the
// command that downloads the model. (huggingface.co/docs/huggingface_hub, "Understand caching".)
[[nodiscard]] std::filesystem::path model_path(const std::filesystem::path &given);

// "NAME" for the path of a snapshot in that cache, .../models--ORG--NAME/snapshots/COMMIT; otherwise the path's last
// part, that of the whole path if it is "." or "..".
[[nodiscard]] std::filesystem::path last_name_of(const std::filesystem::path &path);

} // namespace lamina
