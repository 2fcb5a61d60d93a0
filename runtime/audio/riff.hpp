// Checks that an audio file is complete.
#pragma once

#include <filesystem>

namespace lamina::audio {

// Throws Error(input) for a file that cannot be opened or is empty, and for a truncated WAV file, which libsndfile
// would read without an error.
void expect_complete(const std::filesystem::path &file);

} // namespace lamina::audio
