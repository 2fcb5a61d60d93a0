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

    // Uploads the weights that are not on the device yet, as they are in the file, padded with zeros to a multiple of
    // 16 bytes. Throws Error(memory), before anything is allocated, or Error(input) for a name that is not in the file.
    void load(const std::set<std::string> &names);
    [[nodiscard]] const Region &weight(const std::string &name) const { return weights_.at(name); }

    // These states, in order. Missing ones are created with zeros. Throws Error(memory), as load().
    [[nodiscard]] std::vector<std::shared_ptr<Region>> states(std::span<const MemoryRequest> requests);

    [[nodiscard]] const Region &zeros() const { return zeros_; }

  private:
    std::shared_ptr<LogicalDevice> device_;
    model::Weights file_;
    std::map<std::string, Region> weights_;
    plan::StateCache<Region> states_;
    Region zeros_;
};

} // namespace lamina::vulkan
