#include "architectures/open.hpp"

#include "architectures/config.hpp"
#include "architectures/gguf_model.hpp"
#include "architectures/hugging_face.hpp"
#include "base/file.hpp"
#include "base/model_path.hpp"
#include "model/other_formats.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <span>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;

// By its first bytes, whatever its name is: in caches files are named after their hashes.
bool is_gguf(const fs::path &file) {
    const std::vector<std::byte> found = FileReader(file, FileReader::Kind::ordinary).read(4);
    return std::ranges::equal(found, std::as_bytes(std::span("GGUF", 4)));
}

std::shared_ptr<model::Model> read(const fs::path &path, const LoadOptions &options,
                                   const std::vector<fs::path> &described) {
    const auto refuse = [&](const std::string &why) { throw Error(ErrorCode::input, path.string() + ": " + why); };
    std::error_code error;
    if (!fs::is_directory(path, error)) {
        if (path.extension() == ".gguf" || is_gguf(path)) return read_gguf(path, options);
        const std::string other = model::what_it_is(path);
        refuse(other.empty() ? "not a model; expected a folder or a GGUF file" : other);
    }
    if (!options.mmproj.empty())
        refuse(
            "a projector reads images for a model in a GGUF file; a folder that sees has its own part for images, and "
            "needs none");
    if (has_file(path / "model.json")) {
        if (!options.adapters.empty())
            refuse(
                "adapters change models of Hugging Face folders and GGUF files; give the one that this folder was made "
                "from. 'lamina convert --lora' writes a folder with the changes");
        return model::Model::load(path);
    }
    if (!has_file(path / "config.json"))
        refuse("no model in this folder; expected the config.json and model.safetensors of Hugging Face (or "
               "pytorch_model.bin), or Lamina's model.json" +
               model::found_instead(path));
    return read_hugging_face(path, options.adapters, described);
}

} // namespace

std::shared_ptr<model::Model> open(const fs::path &given, const LoadOptions &options,
                                   const std::vector<fs::path> &described) {
    auto model = read(model_path(given), options, described);
    model->weights.expect_whole();
    return model;
}

} // namespace lamina::architectures
