// Texts through a session: words of the command line, or lines of a stream that are answered as they come.
#pragma once

#include "lines.hpp"
#include "output.hpp"

#include <lamina/image.hpp>
#include <lamina/lamina.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lamina::cli {

// As --json has it: "end", "stop", "length".
[[nodiscard]] std::string finish_name(Finish finish);
// What a model wrote of a text or a file, under `key`: the best answer, and all of them.
[[nodiscard]] Json answers_as_json(const char *key, const std::string &of, const std::vector<Hypothesis> &hypotheses);

// How fast text was generated.
class Pace {
  public:
    void token() {
        if (!first_) first_ = Clock::now();
    }
    // "31 tokens in 0.9 s, 41.2 a second; the first after 0.16 s"
    [[nodiscard]] std::string summary(size_t tokens) const;

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point begin_ = Clock::now();
    std::optional<Clock::time_point> first_;
};

// Each text gives "TEXT<TAB>ANSWER", an empty source an empty line. A model with a tokenizer that continues texts gives
// the text with what follows, which is shown as it comes, and a blank line between two texts. As JSON: one array of
// objects with every hypothesis.
class TextRun {
  public:
    TextRun(Model model, Session session, Output &output, const GenerateOptions &options)
        : model_(std::move(model)), session_(std::move(session)), output_(output), options_(options),
          continues_(continues_texts(model_)) {}

    // Both return the exit status. Of a text that gets no answer, the reason is printed; as JSON it is an object with
    // the text and the reason.
    [[nodiscard]] int words(const std::vector<std::string> &texts);
    // A prompt with images: in the places of their marks, or before it if it has none.
    void prompt(const std::string &text, const std::vector<Image> &images);
    // A line that the model cannot take, or that gets no answer, is refused after all lines before it are answered.
    [[nodiscard]] int lines(LineReader lines);

  private:
    Model model_;
    Session session_;
    Output &output_;
    GenerateOptions options_;
    bool continues_;
    size_t answered_ = 0;
    Json json_ = Json::array();

    [[nodiscard]] static bool continues_texts(const Model &model);
    using Unanswered = std::function<void(size_t text, const Error &why)>;
    void answer(const std::vector<std::string> &texts, size_t all, const Unanswered &unanswered);
    void stream(const std::string &text, const std::function<std::vector<Hypothesis>()> &generate);
    void show_error(const std::string &text, const std::string &why);
    void show(const std::string &text, const std::vector<Hypothesis> &hypotheses);
};

} // namespace lamina::cli
