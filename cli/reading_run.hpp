// Runs a model that turns texts into vectors or classes.
#pragma once

#include "lines.hpp"
#include "output.hpp"
#include "taps.hpp"

#include <lamina/inspect.hpp>
#include <lamina/texts.hpp>

#include <string>
#include <vector>

namespace lamina::cli {

// Prints the first numbers of each vector and the cosines of pairs, or the likeliest classes with their probabilities.
// As JSON, prints everything.
class ReadingRun {
  public:
    ReadingRun(TextReading model, Session session, Output &output, ReadOptions options)
        : model_(std::move(model)), session_(std::move(session)), output_(output), options_(std::move(options)) {}

    void texts(const std::vector<std::string> &texts);
    void lines(LineReader lines); // all of them at once
    // Also writes the vectors, (N, C), to these files.
    void write_to(std::vector<Destination> files) { files_ = std::move(files); }

  private:
    void embeddings(const std::vector<std::string> &texts);
    void classes(const std::vector<std::string> &texts);
    void token_classes(const std::vector<std::string> &texts);

    TextReading model_;
    Session session_;
    Output &output_;
    ReadOptions options_;
    std::vector<Destination> files_;
};

} // namespace lamina::cli
