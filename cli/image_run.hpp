// Runs a model on image files, and on texts that it compares with them.
#pragma once

#include "lines.hpp"
#include "output.hpp"
#include "taps.hpp"

#include <lamina/image.hpp>
#include <lamina/inspect.hpp>

#include <string>
#include <vector>

namespace lamina::cli {

// Whether these are images for the model, which may also take texts; if there are none: whether it takes images alone.
[[nodiscard]] bool are_images(const std::vector<std::string> &arguments, const ModelContents &model);
[[nodiscard]] std::vector<Image> read_images(const std::vector<std::string> &files);
// Throws Error(usage) for a model that takes no images in prompts.
void expect_image_prompts(const Model &model);

// Prints the likeliest classes of each image, or the first numbers of its vector and the cosines of pairs. As JSON,
// prints everything.
class ImageRun {
  public:
    ImageRun(const Model &model, Session session, Output &output)
        : images_(*inspect(model).images), session_(std::move(session)), output_(output) {}

    // How well each of these labels describes an image is shown instead (ImageOptions::sentence).
    void match(std::vector<std::string> labels, std::string sentence) {
        labels_ = std::move(labels), options_.sentence = std::move(sentence);
    }
    // Also writes the vectors, (N, C), to these files.
    void write_to(std::vector<Destination> files) { files_ = std::move(files); }

    // Names of files; or, for a model that takes texts, too, those that look like one, and texts.
    void arguments(const std::vector<std::string> &all, bool takes_texts);
    [[nodiscard]] int lines(LineReader lines); // file names on stdin; returns the exit status

  private:
    struct Answer {
        std::string name; // of the file, or the text
        bool is_text = false;
        std::vector<LabelScore> labels = {};
        std::vector<float> vector = {};
        std::string error = {};
    };

    void add(const std::string &file, Image image); // it is answered together with those that follow
    void answer_read();
    void print();
    [[nodiscard]] Json as_json() const;

    ImageReading images_;
    Session session_;
    Output &output_;
    std::vector<Destination> files_;
    std::vector<std::string> labels_;
    ImageOptions options_;
    std::vector<Answer> answers_;
    std::vector<Image> pending_;
    std::vector<size_t> pending_answers_; // theirs in answers_
    size_t pixels_ = 0;                   // of all that are pending
    size_t answered_ = 0, all_ = 0;       // images, and those that are known of; 0: not known
};

} // namespace lamina::cli
