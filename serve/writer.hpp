// Answers that a model writes side by side. A new one joins between two steps, a step being a token of each.
#pragma once

#include "metrics.hpp"
#include "work.hpp"

#include <lamina/batch.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lamina::serve {

class Writer {
  public:
    // `metrics` counts under the name `model`, and must outlive this.
    Writer(const Session &session, const BatchOptions &options, std::string model, Metrics &metrics)
        : batch_(session, options), slots_(options.slots), model_(std::move(model)), metrics_(metrics), seen_(slots_) {}

    // Ends the answer at once if the model cannot write it.
    void add(std::shared_ptr<Answer> answer);
    void step();
    [[nodiscard]] bool empty() const { return answers_.empty(); }

    // After the last step. Any thread may ask.
    struct Slot {
        std::shared_ptr<const Answer> answer; // null: free
        size_t tokens = 0;                    // in its caches, also of a text that has ended
    };
    [[nodiscard]] std::vector<Slot> slots() const {
        const std::scoped_lock lock(mutex_);
        return seen_;
    }

  private:
    void look_at_slots();
    void drop_those_left();
    void tell(Batch::Progress progress);

    Batch batch_;
    const size_t slots_;
    const std::string model_;
    Metrics &metrics_;
    std::map<uint64_t, std::shared_ptr<Answer>> answers_; // by their ids in the batch
    mutable std::mutex mutex_;                            // guards the next one
    std::vector<Slot> seen_;
};

} // namespace lamina::serve
