#include "architectures/image_settings.hpp"

#include "architectures/architecture.hpp"
#include "architectures/text_settings.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;

constexpr std::array<double, 3> halves{0.5, 0.5, 0.5};
constexpr std::array<double, 3> imagenet_mean{0.485, 0.456, 0.406}, imagenet_deviation{0.229, 0.224, 0.225};
constexpr std::array<double, 3> clip_mean{0.48145466, 0.4578275, 0.40821073},
    clip_deviation{0.26862954, 0.26130258, 0.27577711};

// A class of transformers, and what it does where a file does not say it.
struct Processor {
    std::string_view name; // without "ImageProcessor", "FeatureExtractor" and what follows
    int64_t size, crop;    // crop: 0: none
    bool square;           // resizes to a square; else the shorter side has this size
    bool square_of_number; // what "size": 224 means
    int64_t resample;
    std::array<double, 3> mean, deviation;
    bool rounded = true; // pixels are, after they were resized
};
constexpr std::array<Processor, 15> processors{{
    {"Bit", 224, 224, false, false, 3, clip_mean, clip_deviation},
    {"Blip", 384, 0, true, true, 3, clip_mean, clip_deviation},
    {"CLIP", 224, 224, false, false, 3, clip_mean, clip_deviation},
    {"DINOv3ViT", 224, 0, true, true, 2, imagenet_mean, imagenet_deviation, false},
    {"DeiT", 256, 224, true, true, 3, halves, halves},
    {"Gemma3", 224, 0, true, false, 2, halves, halves},
    {"Gemma4", 0, 0, false, false, 3, {0, 0, 0}, {1, 1, 1}},
    {"GotOcr2", 384, 0, true, true, 3, clip_mean, clip_deviation},
    {"Idefics3", 1456, 364, false, false, 1, halves, halves},
    {"LayoutLMv3", 224, 0, true, true, 2, halves, halves},
    {"Pixtral", 1024, 0, false, false, 3, clip_mean, clip_deviation},
    {"Qwen2VL", 0, 0, false, false, 3, clip_mean, clip_deviation},
    {"Siglip", 224, 0, true, false, 3, halves, halves},
    {"SmolVLM", 1456, 364, false, false, 1, halves, halves},
    {"ViT", 224, 0, true, true, 2, halves, halves},
}};

// By the name that a file gives, or else by the model's type.
const Processor &processor_of(const Config &config, std::string_view model_type) {
    const char *const key = config.has("image_processor_type") ? "image_processor_type" : "feature_extractor_type";
    std::string name = config.text(key, "");
    for (const char *end : {"ImageProcessor", "FeatureExtractor"})
        if (const size_t at = name.find(end); at != std::string::npos) name.resize(at);
    if (name == "Qwen2_5_VL") name = "Qwen2VL"; // an older name
    if (name.empty() && model_type == "vision-encoder-decoder")
        config.fail(key, "is missing: expected the class that prepares images, such as ViTImageProcessor");
    if (name.empty())
        name = model_type == "vit"          ? "ViT"
               : model_type == "deit"       ? "DeiT"
               : model_type == "blip"       ? "Blip"
               : model_type == "dinov2"     ? "Bit"
               : model_type == "dinov3_vit" ? "DINOv3ViT"
               : model_type == "siglip"     ? "Siglip"
               : model_type == "pixtral"    ? "Pixtral"
               : model_type == "qwen2_vl"   ? "Qwen2VL"
               : model_type == "gemma4"     ? "Gemma4"
               : model_type == "layoutlmv3" ? "LayoutLMv3"
                                            : "CLIP";
    std::string known;
    for (const Processor &each : processors) {
        if (each.name == name) return each;
        known += (known.empty() ? "" : ", ") + std::string(each.name);
    }
    config.fail(key, in_quotes(config.text(key)) + " is not supported; supported: those of " + known);
}

constexpr int64_t longest_side = 8192;

Sides sides_at(JsonView value) {
    if (value.is_number()) return {value.integer(1, longest_side), value.integer(1, longest_side)};
    if (value.is_list() && value.items().size() == 2)
        return {value.at(size_t{0}).integer(1, longest_side), value.at(1).integer(1, longest_side)};
    if (value.is_object()) {
        value.allow_keys({"height", "width"});
        return {value.at("height").integer(1, longest_side), value.at("width").integer(1, longest_side)};
    }
    value.fail("expected a number of pixels, or a height and a width, found " + value.description());
}

const char *filter_of(const Config &config, const Processor &processor) {
    switch (config.integer("resample", processor.resample)) { // as Pillow numbers them
    case 1:
        return "lanczos";
    case 2:
        return "bilinear";
    case 3:
        return "bicubic";
    default:
        config.fail("resample", "expected 1 (Lanczos), 2 (bilinear) or 3 (bicubic)");
    }
}

std::vector<double> colours(const Config &config, const char *key, const std::array<double, 3> &otherwise) {
    const auto value = config.find(key);
    std::vector<double> out;
    for (size_t c = 0; c < 3; ++c)
        out.push_back(!value ? otherwise[c] : value->is_list() ? value->at(c).number() : value->number());
    return out;
}

// Adds "resize", and returns the size that all images have then; none: sizes differ.
std::optional<Sides> add_resize(const Config &config, const Processor &processor, Json &out) {
    if (!config.flag("do_resize", true)) return std::nullopt;
    const auto size = config.find("size");
    std::optional<Sides> all;
    Json resize;
    if (size && size->is_object() && size->has("shortest_edge")) {
        size->allow_keys({"shortest_edge"});
        resize["shortest_edge"] = size->at("shortest_edge").integer(1, longest_side);
    } else if (size && size->is_number() && !processor.square_of_number) {
        resize["shortest_edge"] = size->integer(1, longest_side);
    } else if (!size && !processor.square) {
        resize["shortest_edge"] = processor.size;
    } else {
        all = size ? sides_at(*size) : Sides{processor.size, processor.size};
        resize["height"] = all->height, resize["width"] = all->width;
    }
    resize["filter"] = filter_of(config, processor);
    if (!processor.rounded) resize["rounded"] = false;
    out["resize"] = std::move(resize);
    return all;
}

// Adds the "resize" of images that keep their shapes (transformers, image_processing_qwen2_vl.py).
void add_multiples(const Config &config, const Processor &processor, Json &out, int64_t multiple) {
    constexpr int64_t most_pixels = int64_t{1} << 24;
    config.expect("do_resize", true);
    int64_t least = int64_t{56} * 56, most = int64_t{28} * 28 * 1280;
    if (const auto size = config.find("size")) {
        size->allow_keys({"shortest_edge", "longest_edge", "min_pixels", "max_pixels"}); // the last two are not read
        for (const auto &[key, instead, to] :
             {std::tuple("shortest_edge", "min_pixels", &least), std::tuple("longest_edge", "max_pixels", &most)})
            if (size->has(key) || !config.has(instead)) *to = size->at(key).integer(1, most_pixels);
    }
    least = config.integer("min_pixels", least), most = config.integer("max_pixels", most);
    if (most < multiple * multiple || most > most_pixels || least < 1 || least > most)
        config.fail("max_pixels", "expected " + std::to_string(multiple * multiple) + " to " +
                                      std::to_string(most_pixels) + ", and \"min_pixels\" no more, found " +
                                      std::to_string(most) + " and " + std::to_string(least));
    out["resize"] = Json{{"multiple", multiple},
                         {"least_pixels", least},
                         {"most_pixels", most},
                         {"filter", filter_of(config, processor)}};
}

int64_t small(const Config &config, const char *key, int64_t otherwise) {
    const int64_t found = config.integer(key, otherwise);
    if (found < 1 || found > 256) config.fail(key, "expected 1 to 256, found " + std::to_string(found));
    return found;
}

// Adds the "resize" of images that keep their shapes and become as large as they may (transformers,
// image_processing_gemma4.py).
void add_budget(const Config &config, const Processor &processor, Json &out, int64_t multiple) {
    const char *const key = "max_soft_tokens";
    config.expect("do_resize", true);
    const int64_t tokens = config.integer(key, 280);
    constexpr std::array<int64_t, 5> supported{70, 140, 280, 560, 1120};
    if (std::ranges::find(supported, tokens) == supported.end())
        config.fail(key, "expected 70, 140, 280, 560 or 1120, found " + std::to_string(tokens));
    constexpr int64_t most_pixels = int64_t{1} << 24;
    if (tokens * multiple * multiple > most_pixels)
        config.fail(key, "expected at most " + std::to_string(most_pixels) + " pixels of an image, found " +
                             std::to_string(tokens * multiple * multiple));
    out["resize"] = Json{{"multiple", multiple},
                         {"most_pixels", tokens * multiple * multiple},
                         {"filter", filter_of(config, processor)}};
    config.ignore({"crop_size", "do_center_crop", "size"}); // nothing is cut
}

// Adds the "resize" of images whose longer side has a limit, without the number that sides become multiples of, and
// returns the limit (transformers, image_processing_pixtral.py).
int64_t add_limit(const Config &config, const Processor &processor, Json &out) {
    config.expect("do_resize", true);
    config.expect("do_center_crop", false);
    const auto size = config.find("size");
    int64_t longest = processor.size;
    if (size && size->is_object() && size->has("longest_edge")) {
        size->allow_keys({"longest_edge"});
        longest = size->at("longest_edge").integer(1, longest_side);
    } else if (size) {
        const Sides sides = sides_at(*size);
        if (sides.height != sides.width) size->fail("limits that differ for height and width are not supported");
        longest = sides.height;
    }
    out["resize"] = Json{{"longest_edge", longest}, {"filter", filter_of(config, processor)}};
    config.ignore({"crop_size", "do_pad", "patch_size"}); // the processor of texts and images gives the last one
    return longest;
}

// Adds "tiles", and the "resize" that gives one its size, which is returned (transformers,
// image_processing_idefics3.py).
Sides add_tiles(const Config &config, const Processor &processor, Json &out) {
    config.expect("do_resize", true);
    const auto edge = [&](const char *key, int64_t otherwise) {
        const auto value = config.find(key);
        if (!value) return otherwise;
        value->allow_keys({"longest_edge"});
        return value->at("longest_edge").integer(1, longest_side);
    };
    const int64_t side = edge("max_image_size", processor.crop);
    out["tiles"] = Json{{"longest_edge", edge("size", processor.size)}};
    if (!config.flag("do_image_splitting", true)) out["tiles"]["split"] = false;
    out["resize"] = Json{{"height", side}, {"width", side}, {"filter", filter_of(config, processor)}};
    config.ignore({"do_pad", "return_row_col_info", "video_sampling"}); // of batches, of the processor, and of videos
    return {side, side};
}

// Adds "tiles" in a grid, and the "resize" that gives one its size, which is returned (transformers,
// image_processing_got_ocr2.py). InternVL's processor cuts them out whatever the file says.
std::optional<Sides> add_grid(const Config &config, const Processor &processor, Json &out) {
    config.expect("do_resize", true);
    const auto size = config.find("size");
    if (size && !size->is_number()) size->allow_keys({"height", "width"});
    const std::optional<Sides> side = add_resize(config, processor, out);
    const int64_t most = config.integer("max_patches", 12), fewest = config.integer("min_patches", 1);
    if (most < 1 || most > 1023 || fewest < 1 || fewest > most)
        config.fail("max_patches", "expected 1 to 1023, and \"min_patches\" no more, found " + std::to_string(most) +
                                       " and " + std::to_string(fewest));
    if (!side || side->height != side->width) config.fail("size", "tiles that are not square are not supported");
    out["tiles"] = Json{{"fewest", fewest}, {"most", most}};
    config.ignore({"crop_to_patches"});
    return side;
}

std::optional<Sides> crop_of(const Config &config, const Processor &processor) {
    if (!config.flag("do_center_crop", processor.crop != 0)) return std::nullopt;
    if (const auto size = config.find("crop_size")) return sides_at(*size);
    if (processor.crop == 0) config.fail("do_center_crop", "there is no \"crop_size\" that says what is cut out");
    return Sides{processor.crop, processor.crop};
}

// How an image gets its size and its values, as keys of model.json.
Preparation preparation_of(const Config &config, std::string_view model_type) {
    Json out;
    Preparation prepared;
    const Processor &processor = processor_of(config, model_type);
    const bool limited = processor.name == "Pixtral", filled = processor.name == "Gemma4",
               any_size = limited || filled || processor.name == "Qwen2VL";
    const bool tiled = processor.name == "Idefics3" || processor.name == "SmolVLM";
    std::optional<Sides> resized, crop;
    if (tiled) {
        resized = add_tiles(config, processor, out);
    } else if (processor.name == "GotOcr2") {
        resized = add_grid(config, processor, out);
    } else if (limited) {
        prepared.longest = add_limit(config, processor, out);
    } else if (filled) {
        prepared.patch = small(config, "patch_size", 16), prepared.merge = small(config, "pooling_kernel_size", 3);
        add_budget(config, processor, out, prepared.patch * prepared.merge);
    } else if (any_size) {
        prepared.patch = small(config, "patch_size", 14), prepared.merge = small(config, "merge_size", 2);
        prepared.frames = small(config, "temporal_patch_size", 2);
        add_multiples(config, processor, out, prepared.patch * prepared.merge);
        config.ignore({"crop_size", "do_center_crop"}); // nothing is cut
    } else {
        resized = add_resize(config, processor, out), crop = crop_of(config, processor);
    }
    if (!resized && !crop && !any_size)
        config.fail("do_center_crop", "images would be of several sizes, and the model takes one: expected a \"size\" "
                                      "with a height and a width, or a crop");
    if (config.flag("do_rescale", true)) out["scale"] = config.real("rescale_factor", 1.0 / 255);
    std::vector<double> mean(3, 0.0), deviation(3, 1.0);
    const bool normalized = config.flag("do_normalize", !filled);
    if (normalized)
        mean = colours(config, "image_mean", processor.mean),
        deviation = colours(config, "image_std", processor.deviation);
    else
        config.ignore({"image_mean", "image_std"});
    for (size_t c = 0; filled && c < mean.size(); ++c) // the model itself takes a value times 2, minus 1
        deviation[c] /= 2, mean[c] += deviation[c];
    if (normalized || filled) out["mean"] = mean, out["deviation"] = deviation;
    if (!tiled && !limited) config.expect("do_pad", false);
    if (processor.name == "Gemma3") // of pieces of an image, which its processor does not make, whatever the file says
        config.ignore({"do_pan_and_scan", "pan_and_scan_max_num_crops", "pan_and_scan_min_crop_size",
                       "pan_and_scan_min_ratio_to_activate"});
    if (processor.name == "LayoutLMv3") config.ignore({"apply_ocr", "ocr_lang", "tesseract_config"}); // of words
    // Images are always of three colours; the others are about calls of the processor, and classes that are made of it.
    config.ignore({"_valid_processor_keys", "crop_pct", "data_format", "default_to_square", "device",
                   "disable_grouping", "do_convert_rgb", "feature_extractor_type", "image_seq_length",
                   "input_data_format", "pad_size", "processor_class", "return_tensors"});
    config.finish();
    prepared.steps = std::move(out);
    if (!any_size) prepared.size = crop ? *crop : *resized;
    return prepared;
}

// What the files say of images, wherever that is.
class Preprocessing {
  public:
    // None: they say nothing.
    static std::unique_ptr<Preprocessing> read(const fs::path &folder) {
        for (const auto &[name, key] :
             {std::pair{"processor_config.json", "image_processor"}, {"preprocessor_config.json", ""}}) {
            const fs::path file = folder / name;
            if (!has_file(file)) continue;
            auto out = std::make_unique<Preprocessing>(file, key);
            if (out->key_.empty() || out->document_.root().has(out->key_)) return out;
        }
        return nullptr;
    }

    Preprocessing(const fs::path &file, const char *key) : document_(text_of(file), file.string()), key_(key) {}
    [[nodiscard]] JsonView view() const { return key_.empty() ? document_.root() : document_.root().at(key_); }

  private:
    JsonText document_;
    std::string_view key_; // of the object; empty: it is the whole file
};

} // namespace

Sides sides_of(const Config &config, const char *key) {
    const auto value = config.find(key);
    if (!value) return {config.positive(key), config.positive(key)}; // fails
    return sides_at(*value);
}

std::optional<Preparation> read_preparation(const Draft &draft, const std::string &model_type) {
    if (draft.preprocessor) return preparation_of(Config(draft.preprocessor->root()), model_type);
    const auto preprocessing = draft.folder.empty() ? nullptr : Preprocessing::read(draft.folder);
    if (!preprocessing) return std::nullopt;
    return preparation_of(Config(preprocessing->view()), model_type);
}

bool says_of_images(const fs::path &folder) { return !folder.empty() && Preprocessing::read(folder) != nullptr; }

Json images_block(const Draft &draft) {
    if (!draft.images || draft.images->steps.empty() || draft.reads_pages()) return nullptr;
    const ImageInput &input = *draft.images;
    if ((input.of_prompts() || input.of_encoder()) && !draft.texts) return nullptr;
    Json out{{"graph", input.graph}, {"patches", "patches"}, {"patch", input.patch}};
    if (input.merge != 1) out["merge"] = input.merge;
    if (input.any_size.empty())
        out["size"] = Json::array({input.height, input.width});
    else
        for (const Json::Member &name : *input.any_size.members()) out[name.key] = name.value;
    for (const Json::Member &step : *input.steps.members()) out[step.key] = step.value;
    if (!input.of_encoder())
        out[input.of_prompts() ? "tokens" : input.classes ? "classes" : "embedding"] = input.output;
    if (input.of_prompts()) out["place"] = input.place;
    if (input.classes) {
        out["labels"] = labels_of(draft.config);
        out["scores"] = scores_of(draft.config);
    }
    if (!input.matching.empty() && draft.texts) out["matching"] = input.matching;
    return out;
}

Json pages_block(const Draft &draft) {
    Json reading = reading_of_pages(draft);
    if (reading.empty()) return nullptr;
    Json out{{"reading", std::move(reading)}, {"boxes", "boxes"}};
    if (!draft.images) return out;
    const ImageInput &input = *draft.images;
    if (input.steps.empty()) return nullptr; // no file says how an image becomes patches
    Json image{{"patches", "patches"}, {"patch", input.patch}, {"size", Json::array({input.height, input.width})}};
    for (const Json::Member &step : *input.steps.members()) image[step.key] = step.value;
    out["image"] = std::move(image);
    return out;
}

} // namespace lamina::architectures
