// What programs of a backend share on the device: weights, states, and the zeros for optional ports that were left out.
#pragma once

#include "model/weights.hpp"
#include "plan/state_cache.hpp"
#include "vulkan/commands.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>

namespace lamina::vulkan {

class Residents {
  public:
    Residents(std::shared_ptr<LogicalDevice> device, model::Weights weights);

    // These weights as they are in the file, padded with zeros to a multiple of 16 bytes, with so many bytes behind
    // each that belong to nobody. A weight stays on the device as long as someone holds it; the others are uploaded.
    // Throws Error(memory), before anything is allocated, or Error(input) for a name that is not in the file.
    [[nodiscard]] std::map<std::string, Region> weights(const std::set<std::string> &names, uint64_t guard = 0);

    void add(const model::Weights &more) { file_.add(more); } // whose names are new
    void remove(const std::string &beginning) {
        file_.remove(beginning), states_.remove(beginning);
        std::erase_if(weights_, [&](const auto &weight) { return weight.first.starts_with(beginning); });
    }

    // These states, in order. Missing ones are created with zeros. Throws Error(memory), as weights().
    [[nodiscard]] std::vector<std::shared_ptr<Region>> states(std::span<const MemoryRequest> requests);

    [[nodiscard]] bool has_weight(const std::string &name) const {
        const auto known = weights_.find(name);
        return known != weights_.end() && !known->second.buffer.expired();
    }
    [[nodiscard]] bool has_state(const std::string &name, uint64_t bytes) const { return states_.has(name, bytes); }

    [[nodiscard]] const Region &zeros() const { return zeros_; }

  private:
    std::shared_ptr<LogicalDevice> device_;
    model::Weights file_;
    struct Place { // of a weight in a buffer, which is gone if nobody holds it
        std::weak_ptr<const Buffer> buffer;
        uint64_t offset, bytes, guard;
    };
    std::map<std::string, Place> weights_;
    plan::StateCache<Region> states_;
    Region zeros_;
};

} // namespace lamina::vulkan
