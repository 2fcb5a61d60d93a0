// What a request asks of a model, shared by the thread that waits for it and the engine that does it.
#pragma once

#include "http.hpp"

#include "base/turns.hpp"

#include <lamina/audio.hpp>
#include <lamina/lamina.hpp>
#include <lamina/texts.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

class Work {
  public:
    using Clock = std::chrono::steady_clock;

    Work() = default;
    Work(const Work &) = delete;
    Work &operator=(const Work &) = delete;
    virtual ~Work() = default;

    // ---- For the thread that waits ----

    // Waits until the work has ended or has a new piece, but not beyond `until`. Returns whether there is news.
    bool wait(Clock::time_point until);
    [[nodiscard]] bool ended() const;
    // What was generated since the last call: a text, and how likely its tokens were, if that is wanted; and once those
    // of the prompt.
    struct News {
        std::string text;
        std::vector<ScoredToken> scores{}, prompt_scores{};
    };
    [[nodiscard]] News take_news();
    void expect_success() const; // throws what the engine threw
    void leave();                // nobody waits any more

    // ---- For the engine ----

    [[nodiscard]] bool left() const;
    [[nodiscard]] bool begun() const { return began().has_value(); }
    [[nodiscard]] std::optional<Clock::time_point> began() const; // when it had its first piece
    void add(News news);
    void end(std::exception_ptr why = nullptr);

    Clock::time_point asked = Clock::now(); // when the request came
    Owner owner;                            // who takes turns
    std::shared_ptr<void> memory;           // that it may have until it ends; whoever reads its result has a copy

  private:
    mutable std::mutex mutex_; // guards all below
    std::condition_variable changed_;
    News news_;
    bool ended_ = false, left_ = false;
    std::optional<Clock::time_point> began_;
    std::exception_ptr why_;
};

// Ends what is computed alone on this thread, by an exception, if nobody waits for it.
void stop_if_left();
// Says that one work alone is computed on this thread, so that it may end.
class ComputedAlone {
  public:
    explicit ComputedAlone(const Work &work);
    ComputedAlone(const ComputedAlone &) = delete;
    ComputedAlone &operator=(const ComputedAlone &) = delete;
    ~ComputedAlone();
};

// The kinds of work; the last member of each is the result.

// In both, texts that are too long are cut: who asks has refused them before, if they are not to be.
struct Embedding : Work {
    std::vector<std::string> texts;
    std::vector<std::vector<int32_t>> ids; // in place of texts
    Tensor vectors;                        // (N, C)

    [[nodiscard]] size_t size() const { return texts.size() + ids.size(); }
};

// Of texts, or of pairs of texts.
struct Classification : Work {
    struct Given {
        std::string first;
        std::optional<std::string> second;
    };
    std::vector<Given> texts;
    bool raw = false; // ReadOptions::raw_scores
    std::vector<std::vector<LabelScore>> labels;
};

struct Ranking : Work {
    std::string query;
    std::vector<std::string> documents;
    std::vector<double> scores; // of the documents
};

// The response is made where the graph has been run, before the next one: outputs are large, and exist once a model.
struct GraphCall : Work {
    std::string graph;
    TensorMap inputs;
    std::function<void(const std::map<std::string, TensorType, std::less<>> &outputs)> expect_fair; // or throws
    std::function<Response(const TensorMap &outputs)> respond;
    Response response;
};

struct Transcription : Work {
    std::vector<Audio> windows; // of one that seeks: the whole recording
    GenerateOptions options;
    std::vector<Transcript> transcripts; // of the windows
    bool seeks = false;                  // each window begins where the one before it says

    // The samples at which window `i` of such a recording begins, if those before it are transcribed.
    [[nodiscard]] size_t begin_of(size_t i) const {
        double seconds = 0;
        for (size_t before = 0; before < i; ++before) seconds += transcripts[before].parts.back().end;
        const double at = std::round(seconds * static_cast<double>(windows.front().rate));
        return std::min(static_cast<size_t>(at), windows.front().samples.size());
    }
    // Window `i`, at most so many samples.
    [[nodiscard]] Audio window(size_t i, size_t longest) const {
        if (!seeks) return windows[i];
        const Audio &all = windows.front();
        const auto rest = std::span(all.samples).subspan(begin_of(i));
        const auto own = rest.first(std::min(rest.size(), longest));
        return {{own.begin(), own.end()}, all.rate};
    }
    [[nodiscard]] bool is_heard() const {
        return !seeks || begin_of(transcripts.size()) == windows.front().samples.size();
    }
};

struct Answer : Work {
    std::vector<int32_t> prompt;
    GenerateOptions options;
    Hypothesis hypothesis;
};

} // namespace lamina::serve
