// Finds, describes and opens Vulkan devices. This header exposes no Vulkan type.
#pragma once

#include "plan/device.hpp"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lamina::vulkan {

struct DeviceInfo {
    enum class Kind { discrete, integrated, virtual_gpu, software, other };
    uint32_t index = 0; // N of "vulkan:N", in the loader's order
    std::string name, driver, driver_version, api_version;
    std::array<uint8_t, 16> uuid{};
    uint32_t vendor_id = 0, device_id = 0;
    std::array<uint8_t, 16> build{}; // of the driver for this chip: Vulkan's pipelineCacheUUID
    Kind kind = Kind::other;
    uint64_t memory_bytes = 0;    // of the largest device-local heap
    lamina_device capabilities{}; // its matrices live as long as the Instance
    std::vector<lamina_matrix_shape> matrices;
    std::vector<std::string> unusable; // every reason why Lamina cannot run here; empty if it can

    [[nodiscard]] std::string uuid_text() const; // "uuid:8-4-4-4-12"
    // The key of pipelines and verdicts, used in file names: the chip, its location, and the build of its driver.
    [[nodiscard]] std::string cache_key() const;
};

struct InstanceOptions {
    bool validation = false;    // the Khronos layer, core and synchronization checks; Error(no_device) if it is missing
    bool gpu_assisted = false;  // with validation: instead of core checks, kernels report accesses out of bounds
    bool pipeline_cache = true; // keep what drivers compile under ~/.cache/lamina
    std::function<void(const std::string &)> on_message{}; // called with each message of the layers, one call at a time
};

class Device;

// The loader and its devices. One per process is enough; it is safe to share.
class Instance {
  public:
    // Null, and the reason, if there is no Vulkan on this machine (no libvulkan, no driver).
    static std::shared_ptr<Instance> create(const InstanceOptions &options, std::string &why_not);

    [[nodiscard]] virtual const std::vector<DeviceInfo> &devices() const = 0;
    // Opens a device for the layers of these plugins. Throws Error(no_device) with every reason if it is unusable.
    [[nodiscard]] virtual std::shared_ptr<Device> open(uint32_t index,
                                                       std::shared_ptr<const abi::Registry> plugins) = 0;
    // The messages of the validation layers so far.
    [[nodiscard]] virtual std::vector<std::string> validation_messages() const = 0;
    virtual ~Instance() = default;
};

// An open device. Programs may run from several threads, one at a time.
class Device : public plan::KernelDevice {
  public:
    using KernelDevice::KernelDevice;
    [[nodiscard]] virtual const DeviceInfo &info() const = 0;
    [[nodiscard]] std::string id() const override { return "vulkan:" + std::to_string(info().index); }
    [[nodiscard]] std::string name() const override { return info().name; }
    [[nodiscard]] std::string cache_key() const override { return info().cache_key(); }
};

} // namespace lamina::vulkan
