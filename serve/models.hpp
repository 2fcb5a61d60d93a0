// The models of a server: which there are, and which of them are loaded now.
#pragma once

#include "engine.hpp"
#include "mixes.hpp"

#include "serve/server.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace lamina::serve {

struct ModelsOptions {
    size_t most =
        0; // loaded at a time: another one takes the place of the one that was used longest ago; 0: any number
    BatchOptions batch;                               // Engine::Options
    bool smaller_caches = true;                       // likewise
    std::function<void(const std::string &line)> log; // of what could not be loaded; on any thread
};

class Models {
  public:
    // `metrics` must outlive this.
    Models(const Runtime &runtime, ModelsOptions options, Metrics &metrics);
    ~Models(); // after all requests have been answered
    Models(const Models &) = delete;
    Models &operator=(const Models &) = delete;

    // ---- Before the first request ----

    void add(ServedModel model);
    // Throws what goes wrong.
    const Engine &load_now(const std::string &name);

    // ---- Later, on any thread ----

    enum class State { unloaded, loading, loaded, unloading };
    struct Listed {
        const ServedModel *model;
        State state = State::unloaded;
        std::string failure;                  // why it could not be loaded, when that was tried last
        std::shared_ptr<const Engine> engine; // if it is loaded
    };
    [[nodiscard]] std::vector<Listed> list() const;
    // Those that are loaded. Whoever has an engine keeps its model from being unloaded, and must not have it for long.
    [[nodiscard]] std::vector<std::shared_ptr<Engine>> loaded() const;
    // The same, and mixes of adapters.
    [[nodiscard]] std::vector<std::shared_ptr<Engine>> engines();

    // A model by its name or an alias. Null if it is not loaded. Throws Refusal (404) if there is none.
    [[nodiscard]] std::shared_ptr<Engine> find(std::string_view name);
    // The name of a model that has this alias or name; throws the same.
    [[nodiscard]] const std::string &name_of(std::string_view alias) const;
    // The model with these adapters of it, if it has been made; else null.
    [[nodiscard]] std::shared_ptr<Engine> mix(const Engine &parent, const std::vector<Adapter> &adapters);
    // A model with these adapters of it. One thread at a time. Throws Refusal (503) if there are too many others, and
    // Error.
    [[nodiscard]] std::shared_ptr<Engine> mixed(const std::shared_ptr<Engine> &parent,
                                                const std::vector<Adapter> &adapters);
    [[nodiscard]] bool loads_on_demand() const { return options_.most != 0; }

    // These return at once: models are loaded and unloaded one after the other, on a thread of their own. Nothing
    // happens if that is done already. A model is unloaded when the requests that it has are answered; until then its
    // memory is not free. One with adapters is loaded after its parent, and unloaded before. Both throw Refusal (404).
    void load(std::string_view name);
    void unload(std::string_view name);
    // As load(), but a model that could not be loaded is not tried again for some seconds: requests do not make the
    // server read it, and unload others for it, over and over.
    void load_for_request(std::string_view name);
    // Waits until the model is loaded, or what is under way or asked for has ended, but not beyond `until`: then
    // nothing is returned. Null: it is not loaded.
    std::optional<std::shared_ptr<Engine>> wait(std::string_view name, std::chrono::steady_clock::time_point until);

  private:
    struct Entry {
        ServedModel model;
        State state = State::unloaded;
        std::string failure{};
        std::chrono::steady_clock::time_point again{}; // when requests may have it tried again
        std::shared_ptr<Engine> engine{};
        uint64_t used = 0;  // the larger, the later
        size_t pending = 0; // jobs
        size_t waiting = 0; // threads in wait()
    };
    struct Job {
        Entry *entry = nullptr;
        bool load = false;
    };

    [[nodiscard]] Entry &entry_called(std::string_view name) const;
    void ask(std::string_view name, bool load);
    void run();
    void do_load(Entry &entry);
    void do_unload(Entry &entry);
    [[nodiscard]] std::vector<Entry *> make_room();
    struct Opened {
        std::optional<Model> model, draft;
    };
    [[nodiscard]] static Opened open(const ServedModel &model);
    [[nodiscard]] std::shared_ptr<Engine> engine_of(const ServedModel &model, const Opened &files);
    [[nodiscard]] uint64_t promised_on(const Device &device);
    void change(Entry &entry, State state, std::shared_ptr<Engine> engine = nullptr, const std::string &failure = "");

    const Runtime runtime_;
    const ModelsOptions options_;
    Metrics &metrics_;
    mutable std::mutex mutex_; // guards all below
    std::condition_variable changed_;
    mutable std::deque<Entry> entries_; // their models never change
    uint64_t uses_ = 0;
    std::deque<Job> jobs_;
    Job running_;
    Mixes mixes_; // which has a lock of its own
    bool ending_ = false;
    std::thread thread_; // last, so that it sees all of the above
};

[[nodiscard]] std::string_view name_of(Models::State state);

} // namespace lamina::serve
