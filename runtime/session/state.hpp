// A model on a device, and the plugins and open devices that the sessions of a runtime share.
#pragma once

#include "abi/library.hpp"
#include "admission/admission.hpp"
#include "model/model.hpp"
#include "plan/program.hpp"
#include "session/exclusive.hpp"
#include "session/seen_images.hpp"
#include "split/backend.hpp"
#include "vulkan/device.hpp"

#include <lamina/lamina.hpp>

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lamina::detail {

struct RuntimeState {
    RuntimeOptions options;
    std::shared_ptr<const abi::Registry> plugins;

    // Before a piece of work: the program may want to stop, by an exception.
    void working() const {
        if (!options.working) return;
        ++stops;
        options.working();
        --stops; // not this time
    }
    static inline thread_local uint64_t stops = 0; // how often it did, on this thread

    // Vulkan is loaded at the first call, so a session on the CPU never touches it. Null if there is none.
    [[nodiscard]] vulkan::Instance *vulkan();
    [[nodiscard]] const std::string &no_vulkan(); // why vulkan() is null

    // A device of Runtime::device(). It is opened once, and again each time after it was lost.
    [[nodiscard]] std::shared_ptr<plan::Device> open(const Device &device);
    void forget(const Device &device, const std::shared_ptr<plan::Device> &lost);
    // Decides what may run on a device; null for "reference", which everything else is compared with.
    [[nodiscard]] std::shared_ptr<admission::Admission> admission(const Device &device);
    // Notifies the user, unless they have heard of `what` before.
    void notify_once(const std::string &line, const std::string &what);

  private:
    std::mutex mutex_; // of the next three
    std::set<std::string> told_;
    std::map<std::string, std::shared_ptr<plan::Device>> open_;
    struct Admitted {
        std::shared_ptr<plan::Device> device;
        std::shared_ptr<admission::Admission> admission;
    };
    std::map<std::string, Admitted> admissions_;
    std::once_flag vulkan_once_;
    std::shared_ptr<vulkan::Instance> vulkan_;
    std::string no_vulkan_;
    void load_vulkan();
    [[nodiscard]] std::shared_ptr<plan::Device> make(const std::string &id);
};

// Programs by graph and shapes, the most recently used first. Their number and their memory are limited, because every
// length of input has its own program. If one does not fit into memory, all others are dropped to make room.
class ProgramCache {
  public:
    static constexpr size_t most = 64;
    static constexpr uint64_t most_bytes = uint64_t{512} << 20; // of all but the last

    struct Made {
        std::shared_ptr<plan::Program> program;
        uint64_t bytes; // that no other program shares
    };
    using Make = std::function<Made()>;
    [[nodiscard]] std::shared_ptr<plan::Program> get(const std::string &key, const Make &make);
    void drop(std::string_view begin_of_keys);
    [[nodiscard]] size_t size() const { return programs_.size(); }

  private:
    void drop_oldest();

    std::list<std::pair<std::string, Made>> programs_;
};

// What the key-value caches of a session hold: the tokens of each row that programs have.
struct CachedTexts {
    size_t capacity = 0; // tokens that a row has room for
    std::vector<std::vector<int32_t>> rows;
    std::shared_ptr<plan::Program> program; // one of those, which keeps the caches, whatever the session runs meanwhile
};

// A device of a session, with the weights of its part of the model.
struct Place {
    Device device;
    std::shared_ptr<plan::Device> opened;
    std::shared_ptr<plan::Backend> backend;          // null until it is connected
    std::shared_ptr<admission::Admission> admission; // null for "reference"
    bool lost = false;
};

struct SessionState {
    SessionState() = default;
    // One that uses the weights of another, with which it takes turns, and adds its own.
    SessionState(std::shared_ptr<SessionState> other, std::shared_ptr<const model::Model> own, model::Weights of_own);
    SessionState(const SessionState &) = delete;
    SessionState &operator=(const SessionState &) = delete;
    ~SessionState();

    std::shared_ptr<SessionState> beside; // or null
    model::Weights added;                 // that the other one does not have
    std::shared_ptr<RuntimeState> runtime;
    std::shared_ptr<const model::Model> model;
    Device device; // which stands for all of them, if there are several
    SessionOptions options;
    std::vector<Place> places;
    std::unique_ptr<split::SplitBackend> split; // over all places; null if there is one
    ProgramCache programs;
    Exclusive own_turn;
    Exclusive &turn = beside ? beside->turn : own_turn; // held by whoever uses the session
    // What such sessions leave on their way on several devices.
    const std::shared_ptr<split::FlowTurns> flows = beside ? beside->flows : std::make_shared<split::FlowTurns>();
    CachedTexts cached;                  // while nothing is being decoded
    SeenImages images;                   // of prompts
    std::shared_ptr<SessionState> draft; // guesses what texts go on with; or null
    const void *decoding = nullptr;      // whoever decodes with the caches now
    uint64_t roomy = 0;                  // tokens of caches, in all rows, that are known to fit

    // The program of a graph for these shapes: planned, compiled and recorded once. Throws Error.
    [[nodiscard]] std::shared_ptr<plan::Program> program(const std::string &graph, plan::GraphShapes shapes);
    // Programs of a graph with states of this length are not needed any more, nor are the states.
    void forget(const std::string &graph, int64_t state_length);
    // As Session::run, for a graph that the model has. state_length: the length of its caches; 0 runs without.
    [[nodiscard]] TensorMap run(const std::string &graph, const TensorMap &inputs,
                                const std::vector<std::string> &taps = {}, int64_t state_length = 0);
    // The plan of a graph, with the fusions that run on the devices, and those of which a variant is requested.
    [[nodiscard]] plan::GraphPlan planned(const std::string &graph, const plan::GraphShapes &shapes,
                                          const std::map<std::string, std::string, std::less<>> &requested);
    // The variant that computes each step. `unproven` is as in Admission::choose.
    [[nodiscard]] std::vector<std::string> variants(const plan::GraphPlan &plan,
                                                    std::set<std::string> *unproven = nullptr);

    // After connect().
    [[nodiscard]] plan::Backend &backend() const {
        return split ? static_cast<plan::Backend &>(*split) : *places.front().backend;
    }
    // The place of each step of a plan, in `places`.
    [[nodiscard]] std::vector<size_t> places_of(const plan::GraphPlan &plan) const;

    // Opens the devices, unless a session has them open, and makes the backends on them. Does nothing if that is done.
    void connect();
    // Returns work(). If the device is lost meanwhile, it is reopened and `work` starts again from its beginning,
    // because everything on the device is gone, including key-value caches. A second loss is thrown.
    template <class Work> auto surviving_loss(const Work &work) {
        try {
            return work();
        } catch (const Error &e) {
            if (e.code() != ErrorCode::device_lost) throw;
            recover(e);
        }
        try {
            return work();
        } catch (const Error &e) {
            if (e.code() == ErrorCode::device_lost) let_go();
            throw;
        }
    }

  private:
    void connect(size_t place);
    void divide();
    void find_lost(); // among the devices of `split`
    // Releases everything on the devices that were lost, or on all, if it is not known which; program() connects again.
    void let_go();
    void recover(const Error &lost);
    // The user hears of layers that run their plain references on the CPU, because no kernel there has their contract,
    // where these take a tenth of a graph's work or more.
    void tell_of_references(const plan::GraphPlan &plan, const std::vector<std::string> &variants) const;

    std::optional<split::Division> division_; // found once: proofs and caches depend on it
};

} // namespace lamina::detail
