// Runs a model that writes what images say or show on image files.
#pragma once

#include "lines.hpp"
#include "output.hpp"

#include <lamina/image.hpp>

#include <functional>
#include <string>
#include <vector>

namespace lamina::cli {

// Prints "FILE<TAB>TEXT" for each file; the text of a single file as it is generated. As JSON: an array of objects with
// every hypothesis.
class ImageTextRun {
  public:
    ImageTextRun(Session session, Output &output, GenerateOptions options)
        : session_(std::move(session)), output_(output), options_(std::move(options)) {}

    // Returns the exit status. Of an image that gets no answer, the reason is printed; as JSON it is an object with the
    // file and the reason.
    [[nodiscard]] int files(const std::vector<std::string> &files);
    [[nodiscard]] int lines(LineReader lines); // file names on stdin; returns the exit status

  private:
    Session session_;
    Output &output_;
    GenerateOptions options_;
    Json json_ = Json::array();

    void stream(const std::string &file);
    using Unanswered = std::function<void(size_t file, const Error &why)>;
    void answer(const std::vector<std::string> &files, const Unanswered &unreadable, const Unanswered &unanswered);
    void show_error(const std::string &file, const std::string &why);
};

} // namespace lamina::cli
