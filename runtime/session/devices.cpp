// The devices that the sessions of a runtime share open.
#include "session/state.hpp"

#include "base/cache_folder.hpp"
#include "cpu/device.hpp"

#include <charconv>
#include <optional>

namespace lamina::detail {
namespace {

// The N of "vulkan:N".
std::optional<uint32_t> vulkan_index(const std::string &id) {
    constexpr std::string_view prefix = "vulkan:";
    uint32_t index = 0;
    const char *end = id.data() + id.size();
    const bool is_index = id.starts_with(prefix) &&
                          std::from_chars(id.data() + prefix.size(), end, index) == std::from_chars_result{end, {}};
    return is_index ? std::optional(index) : std::nullopt;
}

} // namespace

void RuntimeState::load_vulkan() {
    std::call_once(vulkan_once_, [&] {
        vulkan::InstanceOptions how{.validation = options.validation, .pipeline_cache = options.cache};
        if (options.notify)
            how.on_message = [notify = options.notify](const std::string &m) { notify("validation " + m); };
        vulkan_ = vulkan::Instance::create(how, no_vulkan_);
    });
}
vulkan::Instance *RuntimeState::vulkan() {
    load_vulkan();
    return vulkan_.get();
}
const std::string &RuntimeState::no_vulkan() {
    load_vulkan();
    return no_vulkan_;
}

// A Device is plain data that anyone can fill in, so its id may be invalid.
std::shared_ptr<plan::Device> RuntimeState::make(const std::string &id) {
    if (id == "reference" || id == "cpu") return cpu::make_device(plugins, id == "cpu" ? plugins->executor() : nullptr);
    if (id == "interpreter")
        throw Error(ErrorCode::usage, "the device 'interpreter' is for 'lamina check' only: it is too slow for models");
    if (id.find(',') != std::string::npos)
        throw Error(ErrorCode::usage, "'" + id + "' are several devices; here, one is expected");
    const std::optional<uint32_t> index = vulkan_index(id);
    if (!index)
        throw Error(ErrorCode::no_device,
                    "there is no device '" + id +
                        "': expected cpu, reference or vulkan:N, as Runtime::devices() lists them");
    if (vulkan() == nullptr) throw Error(ErrorCode::no_device, "no device " + id + ": " + no_vulkan());
    return vulkan()->open(*index, plugins);
}

std::shared_ptr<plan::Device> RuntimeState::open(const Device &device) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<plan::Device> &opened = open_[device.id];
    if (opened == nullptr) opened = make(device.id);
    return opened;
}

std::shared_ptr<admission::Admission> RuntimeState::admission(const Device &device) {
    if (device.id == "reference" || (device.kind == "cpu" && plugins->executor() == nullptr)) return nullptr;
    const std::shared_ptr<plan::Device> opened = open(device);
    const std::lock_guard lock(mutex_);
    auto &[known_device, admission] = admissions_[device.id];
    if (admission != nullptr && known_device == opened) return admission;
    if (admission == nullptr) {
        std::filesystem::path file;
        if (const auto folder = options.cache ? cache_folder() : std::nullopt)
            file = *folder / ("verdicts-" + opened->cache_key() + ".json");
        RuntimeOptions of_device = options;
        if (!of_device.proving_time) of_device.proving_time = admission::usual_proving_time(device.kind, !file.empty());
        admission = std::make_shared<admission::Admission>(opened, file, of_device);
    } else {
        admission->move_to(opened);
    }
    known_device = opened;
    return admission;
}

void RuntimeState::notify_once(const std::string &line, const std::string &what) {
    {
        const std::lock_guard lock(mutex_);
        if (!told_.insert(what).second) return;
    }
    if (options.notify) options.notify(line);
}

// Sessions share an open device, and each notices by itself that it was lost. The first one forgets it here; the others
// then find a new one.
void RuntimeState::forget(const Device &device, const std::shared_ptr<plan::Device> &lost) {
    const std::lock_guard lock(mutex_);
    if (const auto found = open_.find(device.id); found != open_.end() && found->second == lost) open_.erase(found);
}

} // namespace lamina::detail
