// The states of one backend's programs, in whatever memory the device has.
#pragma once

#include "plan/arena.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lamina::plan {

// Programs that agree on a state's name and size share it: a prompt and the steps after it. It lives as long as one of
// them holds it, or until another size of it is asked for: every length of text has its own, and together they would
// fill the device.
template <class Memory> class StateCache {
  public:
    using State = std::shared_ptr<Memory>;

    // These states, in order. Those that are not there are made by make(std::vector<MemoryRequest>), which gives their
    // memory in order, full of zeros.
    template <class Make>
    [[nodiscard]] std::vector<State> get(std::span<const MemoryRequest> requests, const Make &make) {
        std::vector<State> out;
        std::vector<MemoryRequest> missing;
        for (const MemoryRequest &r : requests) {
            const auto known = known_.find({r.name, r.bytes});
            out.push_back(known == known_.end() ? nullptr : known->second.lock());
            if (out.back() != nullptr) continue;
            missing.push_back(r);
            last_.erase(r.name); // before there is need of memory for another
        }
        std::erase_if(known_, [](const auto &state) { return state.second.expired(); });
        std::vector<Memory> made;
        if (!missing.empty()) made = make(missing);
        for (size_t i = 0, next = 0; i < requests.size(); ++i) {
            if (out[i] == nullptr) out[i] = std::make_shared<Memory>(std::move(made[next++]));
            known_[{requests[i].name, requests[i].bytes}] = out[i];
            last_[requests[i].name] = out[i];
        }
        return out;
    }

  private:
    std::map<std::pair<std::string, uint64_t>, std::weak_ptr<Memory>> known_; // by name and size: programs hold them
    std::map<std::string, State> last_;                                       // of the size that was last asked for
};

} // namespace lamina::plan
