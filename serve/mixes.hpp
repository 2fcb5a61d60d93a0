// Models with several of their adapters at once, each as strong as a request wants it.
#pragma once

#include "engine.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace lamina::serve {

// There are a few at a time; another one takes the place of the one that was used longest ago. Any thread may use this.
// Whoever has an engine of it keeps its parent, too.
class Mixes {
  public:
    // Null: it has to be made.
    [[nodiscard]] std::shared_ptr<Engine> find(const Engine &parent, const std::vector<Adapter> &adapters);
    // Another one. `make` makes it of the parent, where there is room. Throws Refusal (503) if all are in use.
    [[nodiscard]] std::shared_ptr<Engine>
    add(std::shared_ptr<Engine> parent, const std::vector<Adapter> &adapters,
        const std::function<std::unique_ptr<Engine>(const Engine &parent, const std::vector<Adapter> &adapters)> &make);
    // Those of a model that nobody uses, since it is going to be unloaded.
    void forget(const Engine &parent);
    // Those with this adapter, since it is unloaded: they are not found any more.
    void forget(const std::filesystem::path &adapter);
    // Those that nobody uses, since there is little memory. False if there are none.
    bool drop_unused();
    [[nodiscard]] std::vector<std::shared_ptr<Engine>> all();

  private:
    struct Mix {
        std::shared_ptr<Engine> parent;
        std::vector<Adapter> adapters;
        std::unique_ptr<Engine> engine; // after its parent, so that it ends first
        uint64_t used = 0;              // the larger, the later
        bool old = false;               // one of its adapters has been unloaded since
    };
    [[nodiscard]] static std::shared_ptr<Engine> engine_of(const std::shared_ptr<Mix> &mix) {
        return {mix, mix->engine.get()};
    }
    void make_room();
    using List = std::list<std::shared_ptr<Mix>>;
    // Takes out those that are such and that nobody uses; they end with the list, which is to be without the lock.
    template <class Such> [[nodiscard]] List take_unused(const Such &such);

    std::mutex mutex_; // guards all below
    List all_;         // one that nobody uses is nowhere else
    uint64_t uses_ = 0;
};

} // namespace lamina::serve
