#include "verdict.hpp"

#include "api/access.hpp"

#include <lamina/inspect.hpp>

#include <algorithm>
#include <cmath>

namespace differential {

using namespace lamina;

namespace {

constexpr int64_t batch = 2, length = 12, target = 9, samples = 2 * 160 * 11;
constexpr std::array<int32_t, 2> lengths{12, 7};

Tensor ids(const char *name, int64_t time) {
    std::vector<int32_t> out;
    for (const double value : uniform(name, static_cast<size_t>(batch * time)))
        out.push_back(10 + static_cast<int32_t>((value + 1) / 2 * 20));
    return Tensor::of({batch, time}, out);
}

// dims: "B N K"
Tensor patches(const std::string &dims) {
    const size_t first = dims.find(' ') + 1, second = dims.find(' ', first) + 1;
    const int64_t count = std::stoll(dims.substr(first)), values = std::stoll(dims.substr(second));
    const std::vector<double> pixels = uniform("patches", static_cast<size_t>(batch * count * values));
    return Tensor::of({batch, count, values}, std::vector<float>(pixels.begin(), pixels.end()));
}

// Of an image of any size: patches in squares of two a side, 6 x 10 in all, with their rows, columns and windows.
TensorMap of_any_size(const ModelGraph &graph) {
    constexpr int64_t rows = 6, columns = 10, all = rows * columns;
    TensorMap out{{"lengths", Tensor::of({1}, std::vector<int32_t>{all})},
                  {"coordinates", Tensor(TensorType{DType::i32, {1, all, 2}})}};
    int64_t area = 0; // of a window
    for (const ModelTensor &input : graph.inputs) {
        const int64_t size = input.dims.find(' ') == std::string::npos
                                 ? 0
                                 : std::stoll("0" + input.dims.substr(input.dims.rfind(' ') + 1));
        if (input.name == "window_rows") area = size;
        if (input.name == "patch_rows" || input.name == "patch_columns")
            out[input.name] = Tensor(TensorType{DType::i32, {1, all}});
        if (input.name == "sizes") out["sizes"] = Tensor::of({1, 2}, std::vector<int32_t>{rows, columns});
        if (input.name != "patches") continue;
        const std::vector<double> pixels = uniform("patches", static_cast<size_t>(all * size));
        out["patches"] = Tensor::of({1, all, size}, std::vector<float>(pixels.begin(), pixels.end()));
    }
    const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(area)));
    const int64_t across = side == 0 ? 0 : (columns + side - 1) / side,
                  windows = side == 0 ? 0 : (rows + side - 1) / side * across;
    Tensor window_rows(TensorType{DType::i32, {std::max<int64_t>(windows, 1), std::max<int64_t>(area, 1)}}),
        window_lengths(TensorType{DType::i32, {std::max<int64_t>(windows, 1)}}),
        places(TensorType{DType::i32, {1, all}});
    for (int64_t patch = 0; patch < all; ++patch) {
        const int64_t square = patch / 4, y = square / (columns / 2) * 2 + patch % 4 / 2,
                      x = square % (columns / 2) * 2 + patch % 2;
        const auto at = static_cast<size_t>(patch);
        out.at("coordinates").i32()[2 * at] = static_cast<int32_t>(y);
        out.at("coordinates").i32()[2 * at + 1] = static_cast<int32_t>(x);
        for (const auto &[name, place] : {std::pair{"patch_rows", y}, {"patch_columns", x}})
            if (out.contains(name)) out.at(name).i32()[at] = static_cast<int32_t>(place);
        if (side == 0) continue;
        const int64_t window = y / side * across + x / side;
        const int64_t place = window * area + window_lengths.i32()[static_cast<size_t>(window)]++;
        window_rows.i32()[static_cast<size_t>(place)] = static_cast<int32_t>(patch);
        places.i32()[at] = static_cast<int32_t>(place);
    }
    if (side != 0) {
        out["window_rows"] = std::move(window_rows), out["window_lengths"] = std::move(window_lengths);
        out["window_places"] = std::move(places);
    }
    return out;
}

// Of words alone: the same on all axes.
Tensor coordinates_of_words() {
    Tensor out(TensorType{DType::i32, {batch, length, 3}});
    for (size_t i = 0; i < out.i32().size(); ++i) out.i32()[i] = static_cast<int32_t>(i / 3 % length);
    return out;
}

// What a decoder is given in the place of words where there are no images.
Tensor no_images(const std::string &dims) {
    const int64_t channels = std::stoll(dims.substr(dims.rfind(' ') + 1));
    return Tensor(TensorType{DType::f32, {batch, length, channels}});
}

Tensor input_of(const std::string &graph, const std::string &name, bool has_encoder, int64_t kinds) {
    if (name == "ids") return graph == "decode" && has_encoder ? ids("target", target) : ids("ids", length);
    if (name == "lengths") return Tensor::of({batch}, lengths);
    if (name == "coordinates") return coordinates_of_words();
    if (name == "position") return Tensor::of({batch}, std::vector<int32_t>(batch, 0));
    if (name == "image_mask" || name == "image_ahead")
        return Tensor(TensorType{DType::i32, {batch, length}}); // words alone
    if (name == "target_lengths") return Tensor::of({batch}, std::vector<int32_t>(batch, static_cast<int32_t>(length)));
    if (name == "samples") {
        const std::vector<double> sound = uniform("samples", batch * samples);
        return Tensor::of({batch, samples}, std::vector<float>(sound.begin(), sound.end()));
    }
    if (name == "boxes") {
        std::vector<int32_t> places;
        for (const double value : uniform("boxes", static_cast<size_t>(batch * length * 4)))
            places.push_back(static_cast<int32_t>((value + 1) / 2 * 30));
        return Tensor::of({batch, length, 4}, places);
    }
    if (name == "token_types") { // the first half of a text is of the first kind
        std::vector<int32_t> types;
        for (int64_t i = 0; i < batch * length; ++i) types.push_back(kinds == 2 && i % length >= 6 ? 1 : 0);
        return Tensor::of({batch, length}, types);
    }
    throw std::runtime_error("the graph " + graph + " has an unknown input " + name);
}

// Of a model with frames of audio: samples for `length` frames, with none left over, and how many frames there are.
TensorMap frames_of(const ModelContents &model, const ModelGraph &graph) {
    std::vector<std::pair<int64_t, int64_t>> convolutions; // width and stride
    for (const ModelLayer &layer : graph.layers) {
        if (layer.type != "conv1d") continue;
        const auto stride = layer.params.find("stride");
        convolutions.emplace_back(
            model.weights.at(layer.weights.front().tensor).type.shape[2],
            stride == layer.params.end() ? 1 : static_cast<int64_t>(std::get<double>(stride->second)));
    }
    int64_t count = length, first = length; // of samples, and of frames of the first convolution
    for (auto each = convolutions.rbegin(); each != convolutions.rend(); ++each)
        first = count, count = (count - 1) * each->second + each->first;
    const std::vector<double> sound = uniform("samples", static_cast<size_t>(batch * count));
    const auto both = [](int64_t frames) {
        return Tensor::of({batch}, std::vector<int32_t>(batch, static_cast<int32_t>(frames)));
    };
    TensorMap out{{"samples", Tensor::of({batch, count, 1}, std::vector<float>(sound.begin(), sound.end()))},
                  {"lengths", both(length)}};
    if (std::ranges::any_of(graph.inputs, [](const ModelTensor &input) { return input.name == "norm_lengths"; }))
        out["norm_lengths"] = both(first);
    return out;
}

// The values, without those after the end of a text.
std::vector<float> values(const Tensor &tensor, bool has_lengths) {
    const auto all = tensor.f32();
    if (!has_lengths || tensor.shape().size() != 3 || tensor.shape()[1] != length) return {all.begin(), all.end()};
    const auto row = static_cast<size_t>(tensor.shape()[2]), time = static_cast<size_t>(tensor.shape()[1]);
    std::vector<float> out;
    for (size_t b = 0; b < lengths.size(); ++b) {
        const auto text = all.subspan(b * time * row, static_cast<size_t>(lengths.at(b)) * row);
        out.insert(out.end(), text.begin(), text.end());
    }
    return out;
}

// Of a model that also sees images, texts end with the highest id.
void end_texts(Tensor &ids) {
    for (size_t b = 0; b < lengths.size(); ++b)
        ids.i32()[b * static_cast<size_t>(length) + static_cast<size_t>(lengths.at(b)) - 1] = 29;
}

// What the outputs follow from.
std::string contents(const model::Model &model) {
    uint64_t sum = 0xcbf29ce484222325;
    std::string out;
    for (const auto &[name, weight] : model.weights.entries()) {
        for (const std::byte byte : weight.bytes()) sum = (sum ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
        out += name + to_string(weight.type.shape) + std::to_string(sum);
    }
    return out + Json::parse(model.json)["graphs"].dump();
}

} // namespace

Reader::Reader(const Runtime &runtime, std::filesystem::path folder)
    : runtime_(runtime), device_(runtime.device("reference")), folder_(std::move(folder)) {}

Verdict Reader::read(const std::filesystem::path &path) {
    try {
        const Model model = runtime_.load(path);
        const bool should_see = std::filesystem::exists(path / "preprocessor_config.json");
        const std::string key = contents(*detail::Access::model(model));
        const auto found = known_.find(key);
        return {found != known_.end() ? found->second : known_[key] = run(model),
                {},
                {},
                should_see ? inspect(model).no_images : ""};
    } catch (const Error &error) {
        if (error.code() != ErrorCode::input) return {{}, {}, error.what()};
        std::string text = error.what();
        for (size_t at = 0; (at = text.find(folder_.string(), at)) != std::string::npos;)
            text.erase(at, folder_.string().size() + 1);
        return {{}, text, {}};
    } catch (const std::exception &error) {
        return {{}, {}, error.what()};
    }
}

std::map<std::string, std::vector<float>> Reader::run(const Model &model) {
    Session session = runtime_.session(model, device_);
    const ModelContents inside = inspect(model);
    std::map<std::string, std::vector<float>> out;
    TensorMap encoded;
    const bool has_encoder = inside.graphs.contains("encode");
    const bool has_images = inside.graphs.contains("encode_image");
    for (const char *graph : {"encode", "decode", "encode_image"}) {
        if (!inside.graphs.contains(graph)) continue;
        TensorMap inputs;
        bool has_lengths = false;
        const bool framed = std::ranges::any_of(inside.graphs.at(graph).inputs,
                                                [](const ModelTensor &input) { return input.dims == "B N 1"; });
        if (framed) inputs = frames_of(inside, inside.graphs.at(graph));
        if (graph == std::string("encode_image") &&
            std::ranges::find(inside.graphs.at(graph).inputs, "coordinates", &ModelTensor::name) !=
                inside.graphs.at(graph).inputs.end())
            inputs = of_any_size(inside.graphs.at(graph));
        for (const ModelTensor &input : inside.graphs.at(graph).inputs) {
            if (inputs.contains(input.name)) continue;
            const auto known = encoded.find(input.name);
            int64_t kinds = 1;
            for (const auto &[name, weight] : inside.weights)
                if (name.ends_with("token_type_embeddings.weight")) kinds = weight.type.shape[0];
            inputs.emplace(input.name, known != encoded.end()       ? known->second
                                       : input.name == "patches"    ? patches(input.dims)
                                       : input.name == "image_rows" ? no_images(input.dims)
                                                                    : input_of(graph, input.name, has_encoder, kinds));
            if (has_images && has_encoder && input.name == "ids") end_texts(inputs.at("ids"));
            has_lengths = has_lengths || input.name == "lengths";
        }
        encoded = session.run(graph, inputs);
        for (const auto &[name, tensor] : encoded)
            if (inside.graphs.size() == 1 || graph == std::string("decode") || name == "hidden" || has_images) {
                const std::vector<float> found = values(tensor, has_lengths && graph == std::string("encode"));
                out[name].insert(out[name].end(), found.begin(), found.end());
            }
        if (framed) encoded["lengths"] = inputs.at("lengths"); // which a decoder takes, too
    }
    return out;
}

} // namespace differential
