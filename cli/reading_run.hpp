// Runs a model that turns texts into vectors, classes or missing words.
#pragma once

#include "lines.hpp"
#include "output.hpp"
#include "taps.hpp"

#include <lamina/inspect.hpp>
#include <lamina/texts.hpp>

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace lamina::cli {

// Prints the first numbers of each vector, or the heaviest words of a sparse one, and how alike pairs are; or the
// likeliest classes or words with their probabilities.
// As JSON, prints everything.
class ReadingRun {
  public:
    ReadingRun(Model model, Session session, Output &output, ReadOptions options)
        : model_(std::move(model)), reading_(*inspect(model_).reading), session_(std::move(session)), output_(output),
          options_(std::move(options)) {}

    void texts(const std::vector<std::string> &texts);
    void pairs(const std::vector<TextPair> &pairs);
    // How many answers to a question, or words for a mask, are shown.
    void show_answers(size_t most) { answers_ = words_ = most; }
    // How well each of these labels describes a text, instead of its classes.
    void match(std::vector<std::string> labels, MatchOptions options) {
        labels_ = std::move(labels), match_ = std::move(options);
    }
    // With `paired`, a line holds two texts with a tab between them. All of them at once. Returns the exit status.
    [[nodiscard]] int lines(LineReader lines, bool paired);
    // Also writes the vectors, (N, C), to these files.
    void write_to(std::vector<Destination> files) { files_ = std::move(files); }

  private:
    void embeddings(const std::vector<std::string> &texts);
    void token_vectors(const std::vector<std::string> &texts);
    void sparse_embeddings(const std::vector<std::string> &texts, const Tensor &vectors);
    void classes(const std::vector<std::string> &texts);
    void matches(const std::vector<std::string> &texts);
    void token_classes(const std::vector<std::string> &texts);
    void words(const std::vector<std::string> &texts);
    void classes(const std::vector<TextPair> &pairs);
    void answers(const std::vector<TextPair> &pairs);

    void prepare(); // refuses files that nothing would be written to, and shows progress from now on
    // Why a line cannot be read; none: it can.
    [[nodiscard]] std::optional<std::string> why_not(const std::string &line, bool paired) const;

    // Adds answer i to the list that is printed as JSON, after the lines before it that were refused.
    void add(size_t i, Json answer);
    void add_refused(size_t before);
    void print_json();

    Model model_;
    TextReading reading_;
    Session session_;
    Output &output_;
    ReadOptions options_;
    size_t answers_ = 1, words_ = 5;
    std::vector<std::string> labels_;
    MatchOptions match_;
    std::vector<Destination> files_;
    struct Refused {
        size_t before; // which answer
        std::string text, why;
    };
    std::deque<Refused> refused_;
    Json json_ = Json::array();
};

} // namespace lamina::cli
