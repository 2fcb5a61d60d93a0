// Runs a model on audio files.
#pragma once

#include "lines.hpp"
#include "output.hpp"

#include <lamina/audio.hpp>
#include <lamina/inspect.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lamina::cli {

// Prints "FILE<TAB>TEXT" for each file; the text of a single file as it is generated. With timestamps,
// "FILE<TAB>BEGIN<TAB>END<TAB>TEXT" for each segment. As JSON: an array of objects with the windows of each file.
class AudioRun {
  public:
    AudioRun(AudioFormat format, Session session, Output &output, GenerateOptions options)
        : format_(std::move(format)), session_(std::move(session)), output_(output), options_(std::move(options)) {}

    // Prints subtitles in place of lines.
    void show_as(Subtitles format) { subtitles_ = format; }

    void files(const std::vector<std::string> &files);
    [[nodiscard]] int lines(LineReader lines); // file names on stdin; returns the exit status
    // Samples on stdin. Prints "TEXT" for each utterance, or "BEGIN<TAB>END<TAB>TEXT" for each segment. As JSON: an
    // object a line for each utterance.
    void listen();

  private:
    AudioFormat format_;
    Session session_;
    Output &output_;
    GenerateOptions options_;
    std::optional<Subtitles> subtitles_;
    Json json_ = Json::array();

    void stream(const std::string &file);
    using Unreadable = std::function<void(size_t file, const Error &why)>;
    void transcribe_all(const std::vector<std::string> &files, const Unreadable &unreadable);
    void show(const std::string &file, const Transcript &transcript);
    void show_said(const std::vector<Transcript> &utterances);
};

} // namespace lamina::cli
