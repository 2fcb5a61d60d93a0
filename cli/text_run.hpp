// Texts through a session: words of the command line, or lines of a stream that are answered as they come.
#pragma once

#include "lines.hpp"
#include "output.hpp"

#include "abi/library.hpp"
#include "model/model.hpp"

#include <lamina/lamina.hpp>

#include <optional>
#include <string>
#include <vector>

namespace lamina::cli {

// Each text gives "TEXT<TAB>ANSWER", an empty source an empty line; as JSON, one array of objects with every
// hypothesis.
class TextRun {
  public:
    TextRun(Session session, const model::Model &model, const abi::Registry &plugins, Output &output,
            const GenerateOptions &options)
        : session_(std::move(session)), model_(model), plugins_(plugins), output_(output), options_(options) {}

    void words(const std::vector<std::string> &texts);
    // Answers all lines before one that the model cannot take, then throws Error(input) with its number.
    void lines(LineReader lines);

  private:
    Session session_;
    const model::Model &model_;
    const abi::Registry &plugins_;
    Output &output_;
    GenerateOptions options_;
    size_t answered_ = 0;
    Json json_ = Json::array();

    void answer(const std::vector<std::string> &texts, size_t all);
    void finish();
    [[nodiscard]] std::optional<Error> cut_at_refused(std::vector<std::string> &texts) const;
};

} // namespace lamina::cli
