#include "image_run.hpp"

#include "interrupt.hpp"
#include "model_arguments.hpp"
#include "table.hpp"
#include "vectors.hpp"

#include <algorithm>

namespace lamina::cli {
namespace {

// What is read before it is answered, to limit memory.
constexpr size_t most_images = 256, most_pixels = size_t{1} << 26;

bool is_image_name(const std::string &text) { return media_named(text) == Media::image; }

} // namespace

bool are_images(const std::vector<std::string> &arguments, const ModelContents &model) {
    return model.images && (!model.reading || std::ranges::any_of(arguments, is_image_name));
}

std::vector<Image> read_images(const std::vector<std::string> &files) {
    std::vector<Image> out;
    for (const std::string &file : files) out.push_back(read_image(file));
    return out;
}

void expect_image_prompts(const Model &model) {
    const ModelContents contents = inspect(model);
    if (!contents.generation || !contents.generation->images)
        throw Error(ErrorCode::usage, "--image: " + contents.name + " takes no images in prompts" +
                                          (contents.no_images.empty() ? "" : "; " + contents.no_images));
}

void ImageRun::arguments(const std::vector<std::string> &all, bool takes_texts) {
    all_ = static_cast<size_t>(
        std::ranges::count_if(all, [&](const std::string &each) { return !takes_texts || is_image_name(each); }));
    std::vector<std::string> texts;
    for (const std::string &each : all) {
        if (!takes_texts || is_image_name(each)) {
            add(each, read_image(each));
            continue;
        }
        texts.push_back(each);
        answers_.push_back({.name = each, .is_text = true});
    }
    answer_read();
    const Tensor described = texts.empty() ? Tensor() : embed(session_, texts);
    for (size_t i = 0, text = 0; i < answers_.size(); ++i)
        if (answers_[i].is_text) {
            const auto row = row_of(described, text++);
            answers_[i].vector.assign(row.begin(), row.end());
        }
    print();
}

int ImageRun::lines(LineReader lines) {
    for (auto files = lines.next(most_images); !files.empty(); files = lines.next(most_images))
        for (size_t i = 0; i < files.size(); ++i) {
            std::optional<Image> image;
            try {
                image = read_image(files[i]);
            } catch (const Error &e) {
                if (e.code() != ErrorCode::input) throw; // no memory: that is not the file's fault
                lines.refuse(i, e.what());
                answers_.push_back({.name = files[i], .error = e.what()});
            }
            if (image) add(files[i], std::move(*image));
        }
    answer_read();
    print();
    return lines.status(output_);
}

void ImageRun::add(const std::string &file, Image image) {
    pixels_ += image.pixels.size() / 3;
    pending_.push_back(std::move(image));
    pending_answers_.push_back(answers_.size());
    answers_.push_back({.name = file});
    if (pending_.size() == most_images || pixels_ >= most_pixels) answer_read();
}

void ImageRun::answer_read() {
    if (pending_.empty()) return;
    options_.progress = [&](size_t done, size_t) {
        stop_if_interrupted();
        output_.progress("images", answered_ + done, all_);
    };
    if (labels_.empty() && images_.gives == ImageReading::Gives::embedding) {
        const Tensor vectors = embed_images(session_, pending_, options_);
        for (size_t i = 0; i < pending_.size(); ++i) {
            const auto row = row_of(vectors, i);
            answers_[pending_answers_[i]].vector.assign(row.begin(), row.end());
        }
    } else {
        auto found = labels_.empty() ? classify_images(session_, pending_, options_)
                                     : match_images(session_, pending_, labels_, options_);
        for (size_t i = 0; i < pending_.size(); ++i) answers_[pending_answers_[i]].labels = std::move(found[i]);
    }
    output_.clear_progress();
    answered_ += pending_.size();
    pending_.clear(), pending_answers_.clear();
    pixels_ = 0;
}

Json ImageRun::as_json() const {
    Json out = Json::array();
    for (const Answer &each : answers_) {
        Json answer{{each.is_text ? "text" : "image", each.name}};
        if (!each.error.empty())
            answer["error"] = each.error;
        else if (!each.vector.empty())
            answer["embedding"] = each.vector;
        else
            answer["labels"] = labels_as_json(each.labels);
        out.push_back(std::move(answer));
    }
    return out;
}

void ImageRun::print() {
    std::vector<const Answer *> good;
    for (const Answer &each : answers_)
        if (each.error.empty()) good.push_back(&each);
    const bool vectors = labels_.empty() && images_.gives == ImageReading::Gives::embedding;
    Tensor all;
    if (vectors && !good.empty()) {
        const auto width = static_cast<int64_t>(good.front()->vector.size());
        all = Tensor(TensorType{DType::f32, {static_cast<int64_t>(good.size()), width}});
        for (size_t i = 0; i < good.size(); ++i)
            std::ranges::copy(good[i]->vector, all.f32().begin() + static_cast<std::ptrdiff_t>(i) * width);
        write(files_, {{images_.output, all}}, output_);
    }
    if (output_.json()) return output_.print_json(as_json());
    if (good.empty()) return;
    if (vectors) {
        std::vector<std::string> names;
        for (const Answer *each : good) names.push_back(each->name);
        const bool texts = std::ranges::any_of(good, &Answer::is_text);
        output_.print(vectors_as_text(texts ? "IMAGE OR TEXT" : "IMAGE", names, all, output_) +
                      likeness_as_text(all, likeness(false), output_));
        return;
    }
    Table table({"IMAGE", "CLASSES"});
    for (const Answer *each : good) table.row({{each->name, Style::bold}, labels_as_text(each->labels, shown_labels)});
    output_.print(table.str(output_));
}

} // namespace lamina::cli
