// The states of a backend's programs, in any kind of memory.
#pragma once

#include "plan/arena.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lamina::plan {

// Programs share a state if they agree on its name and size, as for a prompt and the steps after it. A state lives as
// long as a program holds it, or until another size of it is requested: every length of text has its own size, and
// together they would fill the device.
template <class Memory> class StateCache {
  public:
    using State = std::shared_ptr<Memory>;

    // These states, in order. Missing ones are created by make(std::vector<MemoryRequest>), which returns their memory
    // in order, filled with zeros.
    template <class Make>
    [[nodiscard]] std::vector<State> get(std::span<const MemoryRequest> requests, const Make &make) {
        std::vector<State> out;
        std::vector<MemoryRequest> missing;
        for (const MemoryRequest &r : requests) {
            const auto known = known_.find({r.name, r.bytes});
            out.push_back(known == known_.end() ? nullptr : known->second.lock());
            if (out.back() != nullptr) continue;
            missing.push_back(r);
            last_.erase(r.name); // freed before memory for another size is allocated
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

    [[nodiscard]] bool has(const std::string &name, uint64_t bytes) const {
        const auto known = known_.find({name, bytes});
        return known != known_.end() && !known->second.expired();
    }

    // Lets go of those whose names begin so.
    void remove(std::string_view beginning) {
        std::erase_if(last_, [&](const auto &state) { return state.first.starts_with(beginning); });
    }

  private:
    std::map<std::pair<std::string, uint64_t>, std::weak_ptr<Memory>> known_; // by name and size: programs hold them
    std::map<std::string, State> last_;                                       // of the last requested size
};

} // namespace lamina::plan
