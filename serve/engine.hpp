// A model at work: one session, one thread that owns it, and what waits for it. Whatever waits is done together, and in
// pieces, so that all have their turns, and nothing goes on for long that nobody waits for.
#pragma once

#include "metrics.hpp"
#include "pieces.hpp"
#include "tool_format.hpp"
#include "work.hpp"
#include "writer.hpp"

#include <lamina/inspect.hpp>
#include <lamina/proof.hpp>

#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace lamina::serve {

class Engine {
  public:
    // `name` is what clients call the model. What it writes has `batch`, or as much as there is memory for beside
    // `promised` bytes: caches in f16, if they may be, then fewer slots, then shorter texts. `metrics` must outlive the
    // engine.
    struct Options {
        SessionOptions session;
        BatchOptions batch;
        bool smaller_caches = true; // f16 may take the place of session.cache
        uint64_t promised = 0;
        // With these adapters, and the weights of the parent's session; nothing of the above but `batch` and `promised`
        // then counts.
        const Engine *parent = nullptr;
        std::vector<Adapter> adapters{};
        std::optional<Model> draft{}; // Session::use_draft, on the same device
    };
    Engine(std::string name, const Runtime &runtime, const Model &model, const Device &device, const Options &options,
           Metrics &metrics);
    ~Engine(); // after all work has ended
    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;

    [[nodiscard]] const std::string &name() const { return name_; }
    [[nodiscard]] const Model &model() const { return model_; }
    [[nodiscard]] const Device &device() const { return device_; }
    [[nodiscard]] const ModelContents &contents() const { return contents_; }

    // ---- What the model can do ----
    [[nodiscard]] bool embeds() const {
        return contents_.reading && contents_.reading->gives == TextReading::Gives::embedding;
    }
    [[nodiscard]] size_t width() const { return width_; } // of its vectors
    [[nodiscard]] bool classifies() const {
        return contents_.reading && contents_.reading->gives == TextReading::Gives::classes;
    }
    [[nodiscard]] bool ranks() const { return ranks_; } // it gives one score for two texts
    [[nodiscard]] bool writes() const { return contents_.writes_of_texts(); }
    [[nodiscard]] bool sees() const { return writes() && contents_.generation->images; } // its prompts may have images
    [[nodiscard]] bool converses() const { return converses_; }                          // it has a chat template
    [[nodiscard]] const std::optional<ToolFormat> &tool_format() const { return tool_format_; } // if it calls tools
    [[nodiscard]] bool transcribes() const { return contents_.audio().has_value(); }

    // The most tokens of a text that it reads, with its answer if it writes one.
    [[nodiscard]] int64_t longest() const;
    // What each of its tokens is, by id: of those that it reads, or of those that it writes. Made when first asked for.
    [[nodiscard]] const std::vector<TokenText> &tokens(bool written) const;

    // Any thread may use it between what the engine does, such as for the images of prompts.
    [[nodiscard]] Session session() const { return session_; }

    // How many texts it writes at once, how long ones, and what memory they take; nothing if it does not write.
    [[nodiscard]] const BatchRoom &room() const { return room_; }
    [[nodiscard]] std::string room_in_words() const;

    // What it writes now; none if it does not write.
    [[nodiscard]] std::vector<Writer::Slot> slots() const {
        return writer_ ? writer_->slots() : std::vector<Writer::Slot>();
    }

    // What has been proved of its layers on its device. Empty if they run their references there.
    [[nodiscard]] std::vector<AdmittedVariant> proved() const;

    // Of any kind in work.hpp. The engine ends it, sooner or later.
    template <class Kind> void submit(std::shared_ptr<Kind> work) {
        const std::scoped_lock lock(mutex_);
        std::get<Queue<Kind>>(waiting_).push_back(std::move(work));
        changed_.notify_one();
    }

  private:
    [[nodiscard]] Session session_with_room(const Options &options);
    template <class Kind> using Queue = std::deque<std::shared_ptr<Kind>>;

    void run();
    [[nodiscard]] bool wait_for_work();
    template <class Kind> void take_all(const std::function<void(std::shared_ptr<Kind>)> &take);
    void read(const Pieces<Embedding>::Piece &piece);
    void rank(const Pieces<Ranking>::Piece &piece);
    void classify(const Pieces<Classification>::Piece &piece);
    void transcribe(const Pieces<Transcription>::Piece &piece);

    const std::string name_;
    const Runtime runtime_;
    const Device device_;
    const Model model_;
    const ModelContents contents_;
    const bool converses_, ranks_;
    const std::optional<ToolFormat> tool_format_;
    Metrics &metrics_;
    SessionOptions how_;
    BatchRoom room_;
    Session session_;
    size_t width_ = 0;
    // Of the thread: what it has begun.
    Pieces<Embedding> texts_;
    Pieces<Ranking> rankings_;
    Pieces<Classification> classified_;
    Pieces<GraphCall> calls_;
    Pieces<Transcription> recordings_;
    std::optional<Writer> writer_; // if the model writes

    struct Tokens {
        std::once_flag once;
        std::vector<TokenText> texts;
    };
    mutable std::array<Tokens, 2> tokens_;

    std::mutex mutex_; // guards the next two
    std::tuple<Queue<Embedding>, Queue<Ranking>, Queue<Classification>, Queue<GraphCall>, Queue<Transcription>,
               Queue<Answer>>
        waiting_;
    bool closing_ = false;
    std::condition_variable changed_;
    std::thread thread_; // last, so that it sees all of the above
};

} // namespace lamina::serve
