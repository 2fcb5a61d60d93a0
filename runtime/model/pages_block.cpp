#include "model/pages_block.hpp"

#include "model/graph_names.hpp"
#include "model/images_block.hpp"
#include "model/reading_block.hpp"

namespace lamina::model {

Pages read_pages(JsonView value, const Model &model, const TextFiles &files) {
    value.allow_keys({"reading", "boxes", "image"});
    const JsonView reading = value.at("reading");
    const Graph &graph = graph_at(reading.at("graph"), model);
    const std::string boxes = input_at(value.at("boxes"), graph, DType::i32, 3, "B T 4");
    std::vector<std::string> beside{boxes};
    std::optional<Images> image;
    if (value.has("image")) {
        image = read_page_image(value.at("image"), graph);
        beside.push_back(image->patches);
    }
    for (const char *key : {"fill", "pair", "prompts"})
        if (reading.has(key)) reading.at(key).fail("the words of pages do not have it");
    Pages out{.reading = read_reading(reading, model, files, beside), .boxes = boxes, .image = std::move(image)};
    out.reading.place = "/pages/reading/";
    using enum Reading::Gives;
    if (const auto gives = out.reading.gives; gives != classes && gives != token_classes && gives != answers)
        reading.fail("of pages, a model gives classes, token_classes or answers");
    return out;
}

} // namespace lamina::model
