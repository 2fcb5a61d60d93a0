// What a model is given to do when it is measured.
#pragma once

#include "arguments.hpp"

#include <lamina/lamina.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lamina::cli {

struct WorkloadOptions {
    int64_t prompt_tokens = 128, tokens = 32, batch = 1;
    // Or audio or image files, also of pages; empty: a text of `prompt_tokens` tokens, `batch` times.
    std::vector<std::string> texts;
    std::vector<std::string> inputs; // "NAME=FILE.npy": of a graph, which runs instead
    std::string graph;               // "": the only one
};
void add_workload_options(const Arguments &app, WorkloadOptions &options);
// Throws Error(usage) for options that contradict each other, or that would change nothing with this model.
void check_workload_usage(const Arguments &app, const WorkloadOptions &options, const Model &model);

// One run of a workload.
struct Round {
    double first = 0; // seconds to the first token of an answer; 0 if there is none
    double all = 0;   // seconds
    double answer_tokens = 0;
    double guessed = 0, accepted = 0; // Hypothesis
};

class Workload {
  public:
    enum class Kind { generates, reads, listens, sees, pages, runs };

    // Throws Error(usage) without inputs for a model that takes nothing that Lamina can make up, or that takes audio if
    // there are no files.
    Workload(Model model, const WorkloadOptions &options);

    [[nodiscard]] Kind kind() const { return kind_; }
    [[nodiscard]] double texts() const { return static_cast<double>(kind_ == Kind::listens ? files_ : texts_.size()); }
    [[nodiscard]] double images() const { return static_cast<double>(images_); } // or pages
    [[nodiscard]] double tokens() const { return tokens_; }                      // in all texts
    [[nodiscard]] double audio_seconds() const { return audio_seconds_; }        // in all files
    // `first_token` is called when an answer begins.
    [[nodiscard]] Round run(Session &session, const std::function<void()> &first_token = {}) const;

  private:
    void run_graph(const Model &model, const WorkloadOptions &options);
    void transcribe_files(const Model &model, const std::vector<std::string> &files);
    void see_images(const Model &model, const WorkloadOptions &options);
    void read_pages(const Model &model, const WorkloadOptions &options);
    void take_texts(const Model &model, const WorkloadOptions &options);

    Kind kind_ = Kind::generates;
    std::vector<std::string> texts_;
    size_t files_ = 0, images_ = 0;
    double tokens_ = 0, audio_seconds_ = 0;
    std::function<void(Session &, const GenerateOptions &, Round &)> work_;
    int64_t answer_ = 0;
};

} // namespace lamina::cli
