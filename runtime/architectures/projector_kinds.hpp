// The kinds of projectors in GGUF files, and how each becomes what a Hugging Face folder has: so one family reads both.
#pragma once

#include "architectures/architecture.hpp"
#include "model/gguf_metadata.hpp"

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lamina::architectures {

// What a projector's file says. Keys are those after "clip.vision." All throw Error(input).
class ProjectorFile {
  public:
    // `draft`: of the model that it belongs to, which must outlive it.
    ProjectorFile(const std::filesystem::path &file, const Draft &draft);

    [[nodiscard]] const std::filesystem::path &path() const { return weights_.file(); }
    [[nodiscard]] const model::GgufMetadata &metadata() const { return metadata_; }
    [[nodiscard]] const model::Weights &weights() const { return weights_; } // named as in the file
    [[nodiscard]] const model::GgufValue *find(std::string_view key) const;  // null: there is none
    [[nodiscard]] const model::GgufValue &at(std::string_view key) const;
    [[nodiscard]] int64_t positive(std::string_view key) const;
    [[nodiscard]] int64_t positive(std::string_view key, int64_t otherwise) const; // if there is none
    [[nodiscard]] bool flag(const std::string &key) const; // of the whole metadata; absent: false
    // The channels of an image's tokens.
    [[nodiscard]] int64_t width() const;
    // The id of the first of these tokens that the model's vocabulary has.
    [[nodiscard]] int64_t token(std::initializer_list<const char *> names) const;
    [[noreturn]] void refuse(const std::string &why) const;

  private:
    const Draft *draft_;
    model::GgufMetadata metadata_;
    model::Weights weights_;
};

// The same as a Hugging Face folder has it.
struct ProjectorFolder {
    Json config, preprocessor;
    model::Weights weights; // with the names that families expect
};

// How GGUF files have the part that sees (github.com/ggml-org/llama.cpp, conversion/ and tools/mtmd/clip.cpp).
struct ProjectorKind {
    std::string_view type;       // "clip.projector_type"
    std::string_view model_type; // of the folder, unless complete() finds another
    std::string_view texts;      // "general.architecture" of the models that it belongs to; empty: any
    std::string_view gelu;       // what "clip.use_gelu" means
    std::string_view prefix;     // before the names of `tower` in a folder
    std::span<const TensorName> tower;
    std::span<const TensorName> tensors; // beside them; whole names, or those of modules
    std::span<const SettingName>
        settings; // beside those of gguf_projector.cpp, by their places in the files of a folder
    void (*complete)(const ProjectorFile &file, ProjectorFolder &out);
};

[[nodiscard]] std::span<const ProjectorKind> projector_kinds();

} // namespace lamina::architectures
