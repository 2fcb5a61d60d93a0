// The folders of these tests: where they are, what is in them, and sessions of the models that they hold.
#pragma once

#include "../temporary_folder.hpp"
#include "catch.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"

#include <lamina/inspect.hpp>
#include <lamina/lamina.hpp>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

namespace test {

inline const std::filesystem::path architectures = std::filesystem::path(LAMINA_SOURCE_DIR) / "tests" / "architectures";

inline nlohmann::json json_of(const std::filesystem::path &file) { return nlohmann::json::parse(std::ifstream(file)); }

inline lamina::Session session_of(const std::filesystem::path &folder) {
    return runtime().session(runtime().load(folder), runtime().device("cpu"));
}

// The tiny model of this name with the SentencePiece files that sentencepiece/make.py trained.
inline void copy_with_pieces(const std::string &name, const TemporaryFolder &folder) {
    std::filesystem::copy(architectures / "models" / name, folder.path(), std::filesystem::copy_options::recursive);
    std::filesystem::copy(architectures / "sentencepiece" / name, folder.path());
}

// Why a model sees no images, or is refused altogether; "" if it sees them.
inline std::string why_no_images(const std::filesystem::path &folder) {
    std::string why;
    const std::string refusal = message_of([&] { why = lamina::inspect(runtime().load(folder)).no_images; });
    return refusal.empty() ? why : refusal;
}

} // namespace test
