// Shared by this folder: volk's functions, Vulkan results as lamina::Error, owned handles.
#pragma once

#define VK_NO_PROTOTYPES
#include <volk.h>

#include <lamina/error.hpp>

#include <string>
#include <utility>

namespace lamina::vulkan {

// "VK_ERROR_DEVICE_LOST", or the number of an unknown result.
[[nodiscard]] std::string name_of(VkResult result);

// Throws the Error for a failed call: memory, device_lost, or else failure. `what` says what was being done: "creating
// a compute pipeline".
[[noreturn]] void fail(VkResult result, const std::string &what);
inline void check(VkResult result, const char *what) {
    if (result < 0) fail(result, what);
}

// At the end of a process, statics of drivers and layers are destroyed before older statics of the program. After that
// no Vulkan function may be called; the system frees what is left.
void watch_for_exit(); // call this after anything that may create such statics: loading drivers, opening devices,
                       // compiling
[[nodiscard]] bool drivers_are_gone();

// A Vulkan object of a device, destroyed with its owner.
template <class T> class Owned {
  public:
    using Destroy = void(VKAPI_PTR *)(VkDevice, T, const VkAllocationCallbacks *);

    Owned() = default;
    Owned(VkDevice device, T handle, Destroy destroy) : device_(device), handle_(handle), destroy_(destroy) {}
    Owned(Owned &&other) noexcept { swap(other); }
    Owned &operator=(Owned &&other) noexcept {
        swap(other);
        return *this;
    }
    ~Owned() {
        if (handle_ != T{} && !drivers_are_gone()) destroy_(device_, handle_, nullptr);
    }
    [[nodiscard]] T get() const { return handle_; }
    [[nodiscard]] const T *address() const { return &handle_; }

  private:
    void swap(Owned &other) noexcept {
        std::swap(device_, other.device_);
        std::swap(handle_, other.handle_);
        std::swap(destroy_, other.destroy_);
    }
    VkDevice device_ = VK_NULL_HANDLE;
    T handle_{};
    Destroy destroy_ = nullptr;
};

} // namespace lamina::vulkan
