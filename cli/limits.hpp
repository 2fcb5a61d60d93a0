// What the devices of a session can do at most, as commands show it.
#pragma once

#include "base/json.hpp"

#include <lamina/measure.hpp>

#include <map>
#include <string>

namespace lamina::cli {

// Measured when it is made, which takes about a second for each device.
class DeviceLimits {
  public:
    DeviceLimits(const Runtime &runtime, const Device &device);

    // The least time that its device needs for a layer.
    [[nodiscard]] double least_seconds(const LayerTime &layer) const {
        return by_device_.at(layer.device).least_seconds(layer.cost);
    }
    [[nodiscard]] Json json() const;        // of several devices, an object with the ids as keys
    [[nodiscard]] std::string text() const; // "the limit: 20 GB/s (...), 100 GFLOP/s (...)"

  private:
    std::map<std::string, Limits> by_device_; // by id
};

[[nodiscard]] Json limits_as_json(const Limits &limits);
[[nodiscard]] std::string limits_as_text(const Limits &limits);

} // namespace lamina::cli
