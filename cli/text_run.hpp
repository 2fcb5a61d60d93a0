// Texts through a session: words of the command line, or lines of a stream that are answered as they come.
#pragma once

#include "lines.hpp"
#include "output.hpp"

#include <lamina/lamina.hpp>

#include <optional>
#include <string>
#include <vector>

namespace lamina::cli {

// Each text gives "TEXT<TAB>ANSWER", an empty source an empty line; as JSON, one array of objects with every
// hypothesis.
class TextRun {
  public:
    TextRun(Model model, Session session, Output &output, const GenerateOptions &options)
        : model_(std::move(model)), session_(std::move(session)), output_(output), options_(options) {}

    void words(const std::vector<std::string> &texts);
    // Answers all lines before one that the model cannot take, then throws Error(input) with its number.
    void lines(LineReader lines);

  private:
    Model model_;
    Session session_;
    Output &output_;
    GenerateOptions options_;
    size_t answered_ = 0;
    Json json_ = Json::array();

    void answer(const std::vector<std::string> &texts, size_t all);
    void finish();
    [[nodiscard]] std::optional<Error> cut_at_refused(std::vector<std::string> &texts) const;
};

} // namespace lamina::cli
