// Runs a model on audio files.
#pragma once

#include "lines.hpp"
#include "output.hpp"

#include <lamina/audio.hpp>
#include <lamina/inspect.hpp>

#include <string>
#include <vector>

namespace lamina::cli {

// Prints "FILE<TAB>TEXT" for each file; the text of a single file as it is generated. As JSON: an array of objects with
// the windows of each file.
class AudioRun {
  public:
    AudioRun(AudioFormat format, Session session, Output &output, GenerateOptions options)
        : format_(format), session_(std::move(session)), output_(output), options_(std::move(options)) {}

    void files(const std::vector<std::string> &files);
    void lines(LineReader lines); // file names on stdin

  private:
    AudioFormat format_;
    Session session_;
    Output &output_;
    GenerateOptions options_;
    Json json_ = Json::array();

    void stream(const std::string &file);
    void transcribe_all(const std::vector<std::string> &files);
    void show(const std::string &file, const Transcript &transcript);
};

} // namespace lamina::cli
