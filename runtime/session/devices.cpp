// The devices that the sessions of a runtime share open.
#include "session/state.hpp"

#include "base/cache_folder.hpp"
#include "base/processor.hpp"
#include "cpu/backend.hpp"

#include <charconv>
#include <functional>
#include <sstream>

namespace lamina::detail {
namespace {

// A Device is plain data that anyone can fill in, so its id may be invalid.
std::shared_ptr<vulkan::Device> open_by_id(vulkan::Instance *instance, const std::string &id,
                                           const std::string &no_vulkan) {
    if (id.find(',') != std::string::npos)
        throw Error(ErrorCode::usage, "'" + id + "' are several devices; here, one is expected");
    if (id == "interpreter")
        throw Error(ErrorCode::usage, "the device 'interpreter' is for 'lamina check' only: it is too slow for models");
    constexpr std::string_view prefix = "vulkan:";
    uint32_t index = 0;
    const char *end = id.data() + id.size();
    const bool is_index = id.starts_with(prefix) &&
                          std::from_chars(id.data() + prefix.size(), end, index) == std::from_chars_result{end, {}};
    if (!is_index)
        throw Error(ErrorCode::no_device,
                    "there is no device '" + id +
                        "': expected cpu, reference or vulkan:N, as Runtime::devices() lists them");
    if (instance == nullptr) throw Error(ErrorCode::no_device, "no device " + id + ": " + no_vulkan);
    return instance->open(index);
}

// The key of verdicts about the executor's kernels: its bytes, and the processor, for which they choose their
// instructions.
std::string cpu_key(const abi::Executor &executor) {
    std::ostringstream out;
    out << "cpu-" << std::hex << executor.hash << '-' << std::hash<std::string>()(processor_name());
    return out.str();
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

std::unique_ptr<plan::Backend> RuntimeState::cpu_backend(const Device &device, const model::Weights &weights) {
    return cpu::make_backend(plugins, weights, device.id == "reference" ? nullptr : plugins->executor());
}

std::shared_ptr<vulkan::Device> RuntimeState::open(const Device &device) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<vulkan::Device> &opened = open_[device.id];
    if (opened == nullptr) opened = open_by_id(vulkan(), device.id, no_vulkan());
    return opened;
}

std::shared_ptr<admission::Admission> RuntimeState::admission(const Device &device) {
    const bool cpu = device.kind == "cpu";
    if (device.id == "reference" || (cpu && plugins->executor() == nullptr)) return nullptr;
    const std::shared_ptr<vulkan::Device> opened = cpu ? nullptr : open(device);
    const std::lock_guard lock(mutex_);
    auto &[known_device, admission] = admissions_[device.id];
    if (admission != nullptr && known_device == opened) return admission;
    conformance::CheckTarget target =
        cpu ? conformance::check_target(plugins) : conformance::check_target(plugins, opened);
    if (admission == nullptr) {
        std::filesystem::path file;
        if (const auto folder = options.cache ? cache_folder() : std::nullopt)
            file =
                *folder / ("verdicts-" + (cpu ? cpu_key(*plugins->executor()) : opened->info().cache_key()) + ".json");
        RuntimeOptions of_device = options;
        if (!of_device.proving_time) of_device.proving_time = admission::usual_proving_time(device.kind, !file.empty());
        admission = std::make_shared<admission::Admission>(plugins, std::move(target), file, of_device);
    } else {
        admission->move_to(std::move(target));
    }
    known_device = opened;
    return admission;
}

void RuntimeState::notify_once(const std::string &line) {
    {
        const std::lock_guard lock(mutex_);
        if (!told_.insert(line).second) return;
    }
    if (options.notify) options.notify(line);
}

// Sessions share an open device, and each notices by itself that it was lost. The first one forgets it here; the others
// then find a new one.
void RuntimeState::forget(const Device &device, const std::shared_ptr<vulkan::Device> &lost) {
    const std::lock_guard lock(mutex_);
    if (const auto found = open_.find(device.id); found != open_.end() && found->second == lost) open_.erase(found);
}

} // namespace lamina::detail
