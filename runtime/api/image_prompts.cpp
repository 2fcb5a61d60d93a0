#include "api/image_prompts.hpp"

#include "base/utf8.hpp"
#include "generation/texts.hpp"
#include "image/tiles.hpp"
#include "model/place.hpp"
#include "reading/images.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <numeric>
#include <utility>

namespace lamina::api {
namespace {

const model::Images &images_of(const model::Model &model) {
    if (!model.images || !model.images->place)
        throw Error(ErrorCode::usage, model.folder.string() + " takes no images in prompts: it " +
                                          model::what_it_does(model) +
                                          (model.no_images.empty() ? "" : "; " + model.no_images));
    return *model.images;
}

// by: gives what replaces the first one, the second one and so on.
std::string replaced(const std::string &text, const std::string &what, const std::function<std::string()> &by) {
    std::string out;
    size_t at = 0;
    for (size_t found = text.find(what); found != std::string::npos; found = text.find(what, at)) {
        out += text.substr(at, found - at) + by();
        at = found + what.size();
    }
    return out + text.substr(at);
}

// What is read for an image: for each of its tiles, and for the whole.
std::string text_of(const model::ImagePlace &place, const image::TileGrid &grid) {
    std::string out = place.before;
    for (int64_t row = 1; row <= grid.rows; ++row) {
        for (int64_t column = 1; column <= grid.columns; ++column)
            out += replaced(replaced(place.tile, "{row}", [&] { return std::to_string(row); }), "{column}",
                            [&] { return std::to_string(column); });
        if (place.lines) out += "\n";
    }
    return out + (grid.rows == 0 || !place.lines ? "" : "\n") + place.text;
}

// The tokens of an image, which has so many rows and columns of them.
void add_tokens(const model::ImagePlace &place, const reading::TokenGrid &grid, std::vector<int32_t> &ids) {
    for (int64_t row = 1; row <= grid.rows; ++row) {
        ids.insert(ids.end(), static_cast<size_t>(grid.columns), place.token);
        if (place.row_ends) ids.push_back(row == grid.rows ? place.row_ends->last : place.row_ends->each);
    }
}

// What the graph makes of an image: so many rows, without those that are left out before them and filler behind them.
Tensor rows_of(detail::SessionState &session, const TensorMap &inputs, int64_t tokens) {
    const model::Images &model = *session.model->images;
    plan::GraphShapes shapes;
    for (const auto &[name, tensor] : inputs) shapes.inputs[name] = tensor.type();
    session.runtime->working();
    const auto program = session.program(model.graph, std::move(shapes)); // not run(): caches stay as they are
    for (const auto &[name, tensor] : inputs) program->write(program->plan().inputs.at(name), tensor.bytes());
    program->run();
    const int32_t output = program->plan().outputs.at(model.output);
    Tensor all(program->plan().tensors[static_cast<size_t>(output)].type);
    program->read(output, all.bytes());
    const int64_t channels = all.shape().back();
    Tensor out(TensorType{DType::f32, {1, tokens, channels}});
    std::ranges::copy(all.f32().subspan(static_cast<size_t>(model.place->skip * channels), out.f32().size()),
                      out.f32().begin());
    return out;
}

detail::SeenImages::One seen(detail::SessionState &session, const Image &image) {
    const model::Images &model = *session.model->images;
    TensorMap inputs = reading::inputs_of_images(model, {&image, 1}, 1);
    Tensor &given = inputs.at(model.patches);
    const reading::TokenGrid grid = reading::tokens_of(model, image);
    if (const auto known = session.images.find(given, grid.columns, grid.count())) return known;
    Tensor rows;
    {
        const std::scoped_lock turn(session.turn);
        rows = session.surviving_loss([&] { return rows_of(session, inputs, grid.count()); });
    }
    return session.images.add(std::move(given), grid.columns, std::move(rows));
}

} // namespace

ImagePrompt with_places(const model::Model &model, const std::string &prompt, std::span<const Image> images,
                        bool special) {
    const model::TextCodec &codec = model.generation->input();
    if (images.empty()) return {codec.encode(prompt, special)};
    const model::Images &format = images_of(model);
    const model::ImagePlace &place = *format.place;
    for (size_t i = 0; i < images.size(); ++i) reading::expect_pixels(images[i], i);
    size_t marks = 0;
    std::vector<size_t> owners; // the image of each place
    const std::string text = replaced(prompt, place.mark, [&] {
        const size_t image = marks++;
        if (image >= images.size()) return place.text;
        const image::TileGrid grid = format.tiles ? image::grid_of(images[image], *format.tiles) : image::TileGrid();
        owners.insert(owners.end(), static_cast<size_t>(grid.tiles()), image);
        return text_of(place, grid) + (marks == images.size() ? place.behind : "");
    });
    ImagePrompt out;
    for (const int32_t id : codec.encode(text + place.end, special && place.behind.empty())) {
        if (id != place.token) {
            out.ids.push_back(id);
            continue;
        }
        const size_t at = out.places.size();
        out.places.push_back(out.ids.size());
        if (at < owners.size()) add_tokens(place, reading::tokens_of(format, images[owners[at]]), out.ids);
    }
    const size_t found = marks != images.size() ? marks : out.places.size();
    if (marks != images.size() || out.places.size() != owners.size())
        throw Error(ErrorCode::input, "expected " + in_quotes(place.mark) + " in the prompt for each of " +
                                          std::to_string(images.size()) + (images.size() == 1 ? " image" : " images") +
                                          ", and nowhere else; found it " + std::to_string(found) +
                                          (found == 1 ? " time" : " times"));
    return out;
}

void see(detail::SessionState &session, ImagePrompt &prompt, std::span<const Image> images, const BeforeImage &before) {
    const auto put = [&](const Image &part) {
        if (before) before(prompt.ids.size());
        const size_t place = prompt.places[prompt.images.size()];
        const auto &image = prompt.images.emplace_back(seen(session, part));
        const auto begin = prompt.ids.begin() + static_cast<std::ptrdiff_t>(place);
        const bool ends = session.model->images->place->row_ends.has_value(); // of rows have tokens, too
        for (int64_t token = 0; token < image->tokens(); ++token)
            begin[token + (ends ? token / image->columns : 0)] = static_cast<int32_t>(-1 - image->first - token);
    };
    const auto &tiles = session.model->images->tiles;
    for (const Image &image : images)
        if (tiles)
            for (const Image &tile : image::tiles_of(image, *tiles)) put(tile);
        else
            put(image);
    if (!session.model->images->place->together || prompt.images.empty()) return;
    const auto whole = session.images.joined(prompt.ids, std::move(prompt.images));
    for (size_t i = 0; i < prompt.ids.size(); ++i)
        prompt.ids[i] = static_cast<int32_t>(-1 - whole->first - static_cast<int64_t>(i));
    prompt.images = {whole};
}

} // namespace lamina::api
