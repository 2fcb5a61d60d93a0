#include "model/images_block.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"
#include "model/graph_names.hpp"
#include "model/reading_block.hpp"

#include <array>
#include <cmath>
#include <utility>

namespace lamina::model {
namespace {

constexpr int64_t longest_side = 8192;            // pixels that a model may take
constexpr int64_t most_pixels = int64_t{1} << 24; // likewise, in all

int64_t pixels_at(JsonView value) { return value.integer(1, longest_side); }

double finite_at(JsonView value) {
    if (!std::isfinite(value.number())) value.fail("expected a finite number");
    return value.number();
}

std::array<double, 3> colours_at(JsonView value) {
    if (value.items().size() != 3)
        value.fail("expected three numbers, for red, green and blue, found " + value.description());
    return {finite_at(value.at(size_t{0})), finite_at(value.at(1)), finite_at(value.at(2))};
}

image::Filter filter_at(JsonView value) {
    constexpr std::array<std::pair<const char *, image::Filter>, 3> names{{{"bilinear", image::Filter::bilinear},
                                                                           {"bicubic", image::Filter::bicubic},
                                                                           {"lanczos", image::Filter::lanczos}}};
    for (const auto &[name, filter] : names)
        if (value.string() == name) return filter;
    value.fail("expected bilinear, bicubic or lanczos, found " + in_quotes(value.string()));
}

image::Resize resize_at(JsonView value) {
    value.allow_keys({"height", "width", "shortest_edge", "longest_edge", "multiple", "least_pixels", "most_pixels",
                      "filter", "rounded"});
    image::Resize out{.filter = filter_at(value.at("filter"))};
    if (value.has("rounded")) out.rounded = value.at("rounded").boolean();
    if (value.has("longest_edge")) {
        value.allow_keys({"longest_edge", "multiple", "filter", "rounded"});
        out.longest = pixels_at(value.at("longest_edge")), out.multiple = pixels_at(value.at("multiple"));
        const int64_t side = (out.longest + out.multiple - 1) / out.multiple * out.multiple;
        out.most = side * side;
        if (out.most > most_pixels)
            value.at("longest_edge")
                .fail("images of up to " + std::to_string(side) + " x " + std::to_string(side) +
                      " pixels; expected at most " + std::to_string(most_pixels) + " in all");
        return out;
    }
    if (value.has("most_pixels") != value.has("multiple"))
        value.fail("\"multiple\" and \"most_pixels\" need each other");
    if (value.has("least_pixels") && !value.has("multiple"))
        value.at("least_pixels").fail("needs a \"multiple\" beside it");
    if (value.has("multiple")) {
        for (const char *key : {"height", "width", "shortest_edge"})
            if (value.has(key)) value.at(key).fail("cannot be given beside \"multiple\"");
        out.multiple = pixels_at(value.at("multiple"));
        out.most = value.at("most_pixels").integer(out.multiple * out.multiple, most_pixels);
        if (value.has("least_pixels")) out.least = value.at("least_pixels").integer(1, out.most);
    } else if (value.has("shortest_edge")) {
        if (value.has("height") || value.has("width"))
            value.fail("\"shortest_edge\" cannot be given beside \"height\" and \"width\"");
        out.shortest = pixels_at(value.at("shortest_edge"));
    } else {
        out.height = pixels_at(value.at("height")), out.width = pixels_at(value.at("width"));
    }
    return out;
}

image::Steps steps_at(JsonView value) {
    image::Steps out;
    out.patch = value.at("patch").integer(1, longest_side);
    if (value.has("size")) {
        const JsonView size = value.at("size");
        if (size.items().size() != 2) size.fail("expected a height and a width, found " + size.description());
        out.height = pixels_at(size.at(size_t{0})), out.width = pixels_at(size.at(1));
        if (out.height < out.patch || out.width < out.patch)
            size.fail("expected at least the patches' " + std::to_string(out.patch) + " pixels");
    }
    if (value.has("merge")) {
        out.merge = value.at("merge").integer(1, longest_side);
        if (out.height / out.patch % out.merge != 0 || out.width / out.patch % out.merge != 0)
            value.at("merge").fail("expected a number that divides the image's patches, of which there are " +
                                   std::to_string(out.height / out.patch) + " x " +
                                   std::to_string(out.width / out.patch));
    }
    if (value.has("resize")) out.resize = resize_at(value.at("resize"));
    if (value.has("scale")) out.scale = finite_at(value.at("scale"));
    if (value.has("mean")) out.mean = colours_at(value.at("mean"));
    if (value.has("deviation")) out.deviation = colours_at(value.at("deviation"));
    for (const double deviation : out.deviation)
        if (deviation == 0) value.at("deviation").fail("expected numbers other than zero");
    return out;
}

Matching matching_at(JsonView value, const Model &model) {
    value.allow_keys({"scale", "bias", "scores"});
    if (!model.reading || model.reading->gives != Reading::Gives::embedding)
        value.fail("only a model that also gives vectors of texts (\"reading\") compares them with images");
    Matching out{.scale = finite_at(value.at("scale"))};
    if (value.has("bias")) out.bias = finite_at(value.at("bias"));
    if (value.has("scores")) out.scores = scores_at(value.at("scores"));
    return out;
}

// Of images of this size.
image::Tiling tiles_at(JsonView value, const Images &images) {
    constexpr int64_t longest = 4096;
    value.allow_keys({"longest_edge", "split", "fewest", "most"});
    const image::Steps &steps = images.steps;
    if (!images.place || steps.height == 0 || steps.height != steps.width || !steps.resize)
        value.fail(
            "only images in prompts (\"tokens\"), of a square \"size\" that they are resized to, are seen in tiles");
    constexpr int64_t most = 1024; // so that a bad file cannot exhaust memory
    image::Tiling out{.side = steps.height, .filter = steps.resize->filter};
    if (value.has("most")) {
        for (const char *key : {"longest_edge", "split"})
            if (value.has(key)) value.at(key).fail("cannot be given beside \"most\"");
        out.most = value.at("most").integer(1, most - 1);
        out.fewest = value.at("fewest").integer(1, out.most);
    } else {
        if (value.has("fewest")) value.at("fewest").fail("\"most\" and \"fewest\" need each other");
        out.longest = value.at("longest_edge").integer(1, longest);
        if (value.has("split")) out.split = value.at("split").boolean();
    }
    constexpr int64_t most_in_tiles = int64_t{1} << 27;
    const int64_t tiles = std::min(most, most_in_tiles / (steps.height * steps.height));
    if (image::most_tiles(out) > tiles)
        value.fail("an image may have " + std::to_string(image::most_tiles(out)) + " tiles of " +
                   std::to_string(steps.height) + " x " + std::to_string(steps.height) + " pixels; expected at most " +
                   std::to_string(tiles));
    return out;
}

ImagePlace place_at(JsonView value, const Model &model) {
    value.allow_keys({"mark", "text", "token", "row_end", "last_row_end", "tile", "before", "lines", "skip", "behind",
                      "end", "together", "given"});
    if (!model.generation || !model.generation->sees())
        value.fail("only a model that continues texts, and whose \"generation\" has \"image_rows\", takes images in "
                   "prompts");
    ImagePlace out{.mark = std::string(value.at("mark").string()), .text = std::string(value.at("text").string())};
    if (model.generation->target->split() != TextCodec::Split::tokenizer)
        value.fail("the model's target has a vocabulary: expected a tokenizer");
    if (value.has("tile")) {
        out.tile = value.at("tile").string();
        if (out.tile.empty()) value.at("tile").fail("expected a text that is not empty");
    }
    if (value.has("before")) out.before = value.at("before").string();
    if (value.has("lines")) out.lines = value.at("lines").boolean();
    if (value.has("skip")) out.skip = value.at("skip").integer(0, 65536);
    if (value.has("behind")) out.behind = value.at("behind").string();
    if (value.has("end")) out.end = value.at("end").string();
    if (value.has("together")) out.together = value.at("together").boolean();
    if (out.together && !model.generation->sees_ahead())
        value.at("together").fail("only a model whose \"generation\" has \"image_ahead\" sees so");
    if (out.mark.empty()) value.at("mark").fail("expected a text that is not empty");
    const auto id_at = [&](const char *key) {
        const auto count = static_cast<int64_t>(model.generation->target->size());
        return static_cast<int32_t>(value.at(key).integer(0, count - 1));
    };
    out.token = id_at("token");
    out.given = value.has("given") ? id_at("given") : out.token;
    if (value.has("row_end") || value.has("last_row_end"))
        out.row_ends = ImagePlace::RowEnds{.each = id_at("row_end"), .last = id_at("last_row_end")};
    return out;
}

AnySize::Windows windows_at(JsonView value, const Graph &graph, int64_t merge) {
    value.allow_keys({"side", "rows", "lengths", "places"});
    AnySize::Windows out{.side = value.at("side").integer(1, 256),
                         .rows = input_at(value.at("rows"), graph, DType::i32, 2, "W 64"),
                         .lengths = input_at(value.at("lengths"), graph, DType::i32, 1, "W"),
                         .places = input_at(value.at("places"), graph, DType::i32, 2, "B N")};
    if (out.side % merge != 0)
        value.at("side").fail("expected a multiple of \"merge\", " + std::to_string(merge) +
                              ": windows do not cut squares");
    return out;
}

// What follows if images are not cut to one size.
AnySize any_size_at(JsonView value, const Graph &graph, const image::Steps &steps) {
    if (!steps.resize || steps.resize->multiple == 0)
        value.fail("without a \"size\", expected \"resize\" with a \"multiple\"");
    if (steps.resize->multiple % (steps.patch * steps.merge) != 0)
        value.at("resize")
            .at("multiple")
            .fail("expected a multiple of " + std::to_string(steps.patch * steps.merge) +
                  ", the side of a square of patches");
    AnySize out{.coordinates = input_at(value.at("coordinates"), graph, DType::i32, 3, "B N 2"),
                .lengths = input_at(value.at("lengths"), graph, DType::i32, 1, "B")};
    if (value.has("sizes")) out.sizes = input_at(value.at("sizes"), graph, DType::i32, 2, "B 2");
    for (const auto &[key, to] : {std::pair{"rows", &out.rows}, {"columns", &out.columns}})
        if (value.has(key)) *to = input_at(value.at(key), graph, DType::i32, 2, "B N");
    if (value.has("windows")) out.windows = windows_at(value.at("windows"), graph, steps.merge);
    return out;
}

struct Output {
    const char *key;
    Images::Gives gives;
};
constexpr std::array<Output, 3> outputs{
    {{"embedding", Images::Gives::embedding}, {"classes", Images::Gives::classes}, {"tokens", Images::Gives::tokens}}};

// The key that says what the model gives, and by which output. The encoder of a "generation" needs none.
void read_output(JsonView value, const Graph &graph, const Model &model, Images &out) {
    constexpr const char *expected = "expected one of the keys embedding, classes and tokens";
    for (const auto &[key, gives] : outputs) {
        if (!value.has(key)) continue;
        if (!out.output.empty()) value.fail(expected);
        out.gives = gives;
        out.output = output_at(value.at(key), graph);
    }
    if (!model.generation || !model.generation->takes_images()) {
        if (out.output.empty()) value.fail(expected);
        return;
    }
    const Generation &generation = *model.generation;
    if (!out.output.empty() || graph.name != generation.encode || out.patches != generation.source_values->input)
        value.fail("the source of \"generation\" is an image (source_patches): expected its graph \"" +
                   generation.encode + "\" and the patches \"" + generation.source_values->input +
                   "\" here, and none of the keys embedding, classes and tokens");
    out.gives = Images::Gives::texts;
}

// Throws Error(input) unless the encoder takes as many patches as images have, of as many values.
void expect_source(JsonView value, const SourceValues &source, const Images &images) {
    const Shape wanted{images.patch_count(), images.patch_values()};
    if (source.sizes != wanted)
        value.at("size").fail("images of this size have patches " + to_string(wanted) + ", and '" + source.input +
                              "' of \"generation\" takes " + to_string(source.sizes));
}

} // namespace

Images read_page_image(JsonView value, const Graph &graph) {
    value.allow_keys({"patches", "patch", "size", "resize", "scale", "mean", "deviation"});
    (void)value.at("size");
    Images out{.graph = graph.name,
               .patches = input_at(value.at("patches"), graph, DType::f32, 3, "B N K"),
               .steps = steps_at(value)};
    if (const auto &resize = out.steps.resize;
        resize && (resize->height != out.steps.height || resize->width != out.steps.width))
        value.at("resize").fail("expected the \"height\" and \"width\" of \"size\", " +
                                std::to_string(out.steps.height) + " and " + std::to_string(out.steps.width));
    return out;
}

Images read_images(JsonView value, const Model &model) {
    value.allow_keys({"graph", "patches",     "patch",     "merge",   "size",   "tiles",   "resize",   "scale",
                      "mean",  "deviation",   "embedding", "classes", "labels", "scores",  "matching", "tokens",
                      "place", "coordinates", "lengths",   "sizes",   "rows",   "columns", "windows"});
    const Graph &graph = graph_at(value.at("graph"), model);
    Images out{.graph = graph.name, .patches = input_at(value.at("patches"), graph, DType::f32, 3, "B N K")};
    read_output(value, graph, model, out);
    if (value.has("place") != (out.gives == Images::Gives::tokens))
        value.fail("\"tokens\" and \"place\" need each other");
    if (value.has("labels"))
        for (const JsonView label : value.at("labels").items()) out.labels.emplace_back(label.string());
    if (value.has("scores")) out.scores = scores_at(value.at("scores"));
    out.steps = steps_at(value);
    std::vector<std::string> set{out.patches};
    if (!value.has("size")) {
        out.any_size = any_size_at(value, graph, out.steps);
        set.insert(set.end(), {out.any_size->coordinates, out.any_size->lengths});
        for (const std::string &input : {out.any_size->sizes, out.any_size->rows, out.any_size->columns})
            if (!input.empty()) set.push_back(input);
        if (const auto &windows = out.any_size->windows)
            set.insert(set.end(), {windows->rows, windows->lengths, windows->places});
    }
    for (const char *key : {"coordinates", "lengths", "sizes", "rows", "columns", "windows"})
        if (!out.any_size && value.has(key)) value.at(key).fail("images of one \"size\" do not have it");
    check_all_set(value, graph, set);
    if (out.gives == Images::Gives::texts && !out.any_size) expect_source(value, *model.generation->source_values, out);
    if (value.has("place")) out.place = place_at(value.at("place"), model);
    if (value.has("tiles")) out.tiles = tiles_at(value.at("tiles"), out);
    if (out.place && out.tiles.has_value() != !out.place->tile.empty())
        value.fail("\"tiles\", and \"tile\" of \"place\", need each other");
    if (out.place && out.place->row_ends && !out.any_size)
        value.at("place").at("row_end").fail("images of one \"size\" do not have it");
    if (out.any_size && !out.place) value.fail("only images in prompts (\"tokens\") may have any size");
    if (value.has("matching")) out.matching = matching_at(value.at("matching"), model);
    return out;
}

} // namespace lamina::model
