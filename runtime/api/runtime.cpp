// lamina::Runtime and the handles that it creates: devices, models, sessions.
#include "api/access.hpp"

#include "api/model_check.hpp"
#include "architectures/open.hpp"
#include "base/processor.hpp"

#include <mutex>
#include <utility>

namespace lamina {
namespace {

using Kind = vulkan::DeviceInfo::Kind;

const char *name_of(Kind kind) {
    switch (kind) {
    case Kind::discrete:
        return "discrete";
    case Kind::integrated:
        return "integrated";
    case Kind::virtual_gpu:
        return "virtual";
    case Kind::software:
        return "software";
    case Kind::other:
        break;
    }
    return "other";
}

Device describe(const vulkan::DeviceInfo &info) {
    Device d;
    d.id = "vulkan:" + std::to_string(info.index);
    d.name = info.name;
    d.kind = name_of(info.kind);
    d.driver = info.driver + " " + info.driver_version;
    d.api_version = info.api_version;
    d.uuid = info.uuid_text();
    d.memory_bytes = info.memory_bytes;
    d.unusable = info.unusable;
    return d;
}

Device describe_cpu(const abi::Executor *executor) {
    Device d;
    d.id = "cpu";
    d.name = "CPU, " + std::to_string(cores()) + " threads";
    d.kind = "cpu";
    if (executor == nullptr)
        d.unusable = {"no executor plugin was found (cpu_fallback): give --plugin-dir or LAMINA_PLUGIN_PATH"};
    else
        d.driver = std::string(executor->descriptor->id) + " " + executor->descriptor->version;
    return d;
}

Device describe_reference() {
    Device d;
    d.id = "reference";
    d.name = "the layers' plain references";
    d.kind = "cpu";
    return d;
}

Device describe_interpreter() {
    Device d;
    d.id = d.kind = "interpreter";
    d.name = "kernels without a driver";
    return d;
}

[[noreturn]] void refuse(const Device &device) {
    std::string why;
    for (const std::string &reason : device.unusable) why += (why.empty() ? "" : "; ") + reason;
    throw Error(ErrorCode::no_device, "device '" + device.id + "' (" + device.name + ") cannot be used: " + why);
}

// discrete, integrated, virtual; then the CPU. A software driver is never chosen automatically: the CPU is many times
// faster.
Device choose(const std::vector<Device> &all, const std::string &no_vulkan) {
    for (const char *kind : {"discrete", "integrated", "virtual"})
        for (const Device &d : all)
            if (d.kind == kind && d.unusable.empty()) {
                Device chosen = d;
                chosen.reason = std::string("the first ") + kind + " GPU";
                return chosen;
            }
    Device cpu = all.back();
    if (!cpu.unusable.empty()) refuse(cpu);
    cpu.reason = no_vulkan.empty() ? "no GPU" : "no Vulkan: " + no_vulkan;
    for (const Device &d : all) {
        if (d.kind == "software") cpu.reason += "; " + d.id + " is a software driver, used only if you name it";
        if (d.kind != "cpu" && !d.unusable.empty())
            cpu.reason += "; " + d.id + " cannot be used: " + d.unusable.front();
    }
    return cpu;
}

// "vulkan:0,cpu"
Device several(const Runtime &runtime, const std::string &ids) {
    Device out;
    out.kind = "several";
    for (size_t begin = 0; begin <= ids.size();) {
        const size_t end = std::min(ids.find(',', begin), ids.size());
        const std::string id = ids.substr(begin, end - begin);
        begin = end + 1;
        if (id.empty() || id == "auto" || id == "reference" || id == "interpreter")
            throw Error(ErrorCode::usage, "devices '" + ids + "': expected cpu, vulkan:N or uuid:... between commas, " +
                                              "found '" + id + "'");
        Device one = runtime.device(id);
        for (const Device &other : out.parts)
            if (other.id == one.id)
                throw Error(ErrorCode::usage, "devices '" + ids + "': " + one.id + " is given twice");
        out.id += (out.id.empty() ? "" : ",") + one.id;
        out.name += (out.name.empty() ? "" : " and ") + one.name;
        out.driver += (out.driver.empty() ? "" : " and ") + one.driver;
        out.memory_bytes += one.memory_bytes;
        out.parts.push_back(std::move(one));
    }
    return out;
}

// The function, called by one thread at a time.
std::function<void(const std::string &)> in_turn(std::function<void(const std::string &)> call,
                                                 const std::shared_ptr<std::mutex> &turn) {
    if (!call) return {};
    return [call = std::move(call), turn](const std::string &text) {
        const std::lock_guard lock(*turn);
        call(text);
    };
}

} // namespace

Precision precision_named(std::string_view name) {
    const auto found = std::ranges::find(precision_names, name);
    if (found == precision_names.end())
        throw Error(ErrorCode::usage,
                    "precision: expected 'full', 'half' or 'int8', found '" + std::string(name) + "'");
    return static_cast<Precision>(found - precision_names.begin());
}

DType cache_named(std::string_view name) {
    const auto found = std::ranges::find(cache_dtypes, name, [](DType dtype) { return name_of(dtype); });
    if (found == cache_dtypes.end())
        throw Error(ErrorCode::usage, "cache: expected 'f32', 'f16' or 'q8_0', found '" + std::string(name) + "'");
    return *found;
}

namespace detail {

const ChatTemplate &ModelState::chat_template(bool tools) const {
    const bool own = tools && !model->chat->tools_text.empty();
    Read &read = read_.at(own ? 1 : 0);
    std::call_once(read.once, [&] {
        read.chat_template =
            ChatTemplate::parse(own ? model->chat->tools_text : model->chat->text,
                                model->folder.string() + (own ? ": chat template for tools" : ": chat template"));
    });
    return *read.chat_template;
}

const std::shared_ptr<RuntimeState> &Access::state(const Runtime &r) { return r.state_; }
const std::shared_ptr<const model::Model> &Access::model(const Model &m) { return m.state_->model; }
const std::shared_ptr<const abi::Registry> &Access::plugins(const Model &m) { return m.state_->plugins; }
const ChatTemplate &Access::chat_template(const Model &m, bool tools) { return m.state_->chat_template(tools); }
SessionState &Access::state(Session &s) { return *s.state_; }
Model Access::checked(std::shared_ptr<model::Model> content, std::shared_ptr<const abi::Registry> plugins) {
    api::check_model(*content, *plugins);
    Model model;
    model.state_ = std::make_shared<const ModelState>(std::move(content), std::move(plugins));
    return model;
}

} // namespace detail

const std::filesystem::path &Model::folder() const { return state_->model->folder; }
const std::string &Model::name() const { return state_->model->name; }

Runtime::Runtime(const RuntimeOptions &options) : state_(std::make_shared<detail::RuntimeState>()) {
    state_->options = options;
    const auto turn = std::make_shared<std::mutex>();
    state_->options.notify = in_turn(options.notify, turn);
    state_->options.proving = in_turn(options.proving, turn);
    state_->plugins = abi::Registry::discover(abi::Registry::search_path(options.plugin_folders));
}

std::vector<Device> Runtime::devices() const {
    std::vector<Device> out;
    if (const vulkan::Instance *vulkan = state_->vulkan())
        for (const vulkan::DeviceInfo &info : vulkan->devices()) out.push_back(describe(info));
    out.push_back(describe_cpu(state_->plugins->executor()));
    return out;
}

std::string Runtime::no_vulkan() const { return state_->no_vulkan(); }

Device Runtime::device(const std::string &id) const {
    if (id.find(',') != std::string::npos) return several(*this, id);
    if (id == "reference") return describe_reference();
    if (id == "interpreter") return describe_interpreter();
    if (id == "cpu") {
        Device cpu = describe_cpu(state_->plugins->executor());
        if (!cpu.unusable.empty()) refuse(cpu);
        return cpu;
    }
    const std::vector<Device> all = devices();
    if (id == "auto") return choose(all, no_vulkan());
    for (const Device &d : all) {
        if (d.id != id && (d.uuid.empty() || d.uuid != id)) continue;
        if (!d.unusable.empty()) refuse(d);
        return d;
    }
    std::string message = "no device '" + id + "'; there are:";
    for (const Device &d : all) message += " " + d.id + " (" + d.name + ")" + (&d == &all.back() ? "" : ",");
    if (all.size() == 1) message += "; no Vulkan: " + no_vulkan();
    throw Error(ErrorCode::no_device, message);
}

Model Runtime::load(const std::filesystem::path &folder, const LoadOptions &options) const {
    return detail::Access::checked(architectures::open(folder, options, state_->plugins->folders()), state_->plugins);
}

Model Runtime::load(const ModelDescription &description) const {
    return detail::Access::checked(model::Model::parse(description.json, model::Weights::of(description.weights),
                                                       description.vocabularies, description.name),
                                   state_->plugins);
}

Session Runtime::session(const Model &model, const Device &device, const SessionOptions &options) const {
    Session session;
    session.state_ = std::make_shared<detail::SessionState>();
    session.state_->runtime = state_;
    session.state_->model = detail::Access::model(model);
    session.state_->device = device;
    session.state_->options = options;
    if (device.parts.empty()) session.state_->places.push_back({device, {}, {}, {}, false});
    for (const Device &part : device.parts) session.state_->places.push_back({part, {}, {}, {}, false});
    if (device.parts.empty() && (!options.split.empty() || !options.max_memory.empty()))
        throw Error(ErrorCode::usage,
                    "a model is split among several devices, such as vulkan:0,cpu; found " + device.id);
    (void)cache_named(name_of(options.cache));
    if (!options.split.empty() && !options.max_memory.empty())
        throw Error(ErrorCode::usage,
                    "max_memory is for a split by memory; this one says how many layers each device has");
    if (options.max_memory.size() > device.parts.size())
        throw Error(ErrorCode::usage, std::to_string(options.max_memory.size()) + " amounts of memory for " +
                                          std::to_string(device.parts.size()) + " devices");
    session.state_->surviving_loss([&] { session.state_->connect(); });
    return session;
}

} // namespace lamina
