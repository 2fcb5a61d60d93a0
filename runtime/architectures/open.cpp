#include "architectures/open.hpp"

#include "architectures/config.hpp"
#include "architectures/gguf_model.hpp"
#include "architectures/hugging_face.hpp"

namespace lamina::architectures {
namespace fs = std::filesystem;

namespace {

std::shared_ptr<const model::Model> read(const fs::path &path) {
    std::error_code error;
    if (fs::is_directory(path, error) && !has_file(path / "model.json") && has_file(path / "config.json"))
        return read_hugging_face(path);
    if (path.extension() == ".gguf") return read_gguf(path);
    return model::Model::load(path);
}

} // namespace

std::shared_ptr<const model::Model> open(const fs::path &path) {
    auto model = read(path);
    model->weights.expect_whole();
    return model;
}

} // namespace lamina::architectures
