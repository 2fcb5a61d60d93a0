#include "architectures/image_graph.hpp"

#include <utility>

namespace lamina::architectures {

ImageGraph::ImageGraph(Draft &draft, const Config &config) : draft_(&draft), graph_(&draft.graph("encode_image")) {
    const Sides image = sides_of(config, "image_size"), patch = sides_of(config, "patch_size");
    if (patch.height != patch.width) config.fail("patch_size", "patches that are not square are not supported");
    config.expect("num_channels", 3.0);
    patch_ = patch.height, rows_ = image.height / patch_, columns_ = image.width / patch_;
    // transformers leaves out what is right of the last patch, and below.
    if (patches() == 0 || image.height % patch_ != 0 || image.width % patch_ != 0)
        config.fail("image_size", "expected a multiple of patch_size, " + std::to_string(patch_));
    draft.images = ImageInput{.height = image.height, .width = image.width, .patch = patch_, .output = ""};
    graph_->input("patches", DType::f32, "B " + std::to_string(patches()) + " " + std::to_string(3 * patch_ * patch_),
                  3 * patch_ * patch_);
}

GraphWriter::Tensor ImageGraph::embedded(const std::string &module, int64_t width, bool biased) const {
    const std::string kernel = module + ".weight", matrix = module + ".matrix";
    graph_->require(kernel, {width, 3, patch_, patch_});
    draft_->weights.add(matrix, draft_->weights.at(kernel).shaped({width, 3 * patch_ * patch_}));
    draft_->unused.insert(kernel);
    return graph_->linear(module, "patches", {.outputs = width, .biased = biased, .weight = matrix});
}

GraphWriter::Tensor ImageGraph::with_token(const std::string &token, const GraphWriter::Tensor &x,
                                           const Shape &shape) const {
    graph_->require(token, shape);
    draft_->weights.add(token + ".rows", draft_->weights.at(token).shaped({1, graph_->channels(x)}));
    draft_->unused.insert(token);
    return graph_->layer(token, "prepend", {{"x", x}});
}

void ImageGraph::add_output(const std::string &name, const GraphWriter::Tensor &x, bool classes, Json matching) const {
    graph_->output(name, x);
    draft_->images->output = name;
    draft_->images->classes = classes;
    draft_->images->matching = std::move(matching);
}

} // namespace lamina::architectures
