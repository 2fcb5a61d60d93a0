#include "vulkan/preparations.hpp"

#include <string>

namespace lamina::vulkan {

struct Preparations::Request {
    const plan::Step &step;
    const plan::GraphPlan &graph;
    const plan::LayerPlan &plan;

    [[nodiscard]] const std::string &weight(const plan::Binding &b) const {
        return graph.tensors[static_cast<size_t>(step.weight[b.index])].name;
    }
    [[nodiscard]] std::set<std::string> weights() const {
        std::set<std::string> out;
        for (const plan::Dispatch &d : plan.preparation.dispatches)
            for (const plan::Binding &b : d.bindings)
                if (b.role == LAMINA_WEIGHT && b.bytes != 0) out.insert(weight(b));
        return out;
    }
};

namespace {

class KeyWriter {
  public:
    template <class T> void value(const T &v) { bytes(std::as_bytes(std::span(&v, 1))); }
    void bytes(std::span<const std::byte> data) {
        key.append(reinterpret_cast<const char *>(data.data()), data.size());
    }
    void text(const std::string &s) {
        value(s.size());
        key += s;
    }
    std::string key;
};

} // namespace

Prepared Preparations::of(const plan::Step &step, const plan::GraphPlan &graph, const plan::LayerPlan &plan,
                          std::span<const Pipeline> pipelines, Residents &residents) {
    const Request request{step, graph, plan};
    KeyWriter writer;
    writer.value(step.call.layer().contract);
    for (const uint64_t bytes : plan.preparation.memory) writer.value(bytes);
    for (const plan::Dispatch &d : plan.preparation.dispatches) {
        writer.value(d.kernel), writer.value(d.groups), writer.value(d.specs.size()), writer.value(d.push.size());
        for (const lamina_spec &s : d.specs) writer.value(s.id), writer.value(s.bits);
        writer.bytes(d.push);
        for (const plan::Binding &b : d.bindings) {
            writer.value(b.role), writer.value(b.index), writer.value(b.offset), writer.value(b.bytes);
            if (b.role == LAMINA_WEIGHT && b.bytes != 0) writer.text(request.weight(b));
            if (b.role == LAMINA_CONSTANT) writer.bytes(plan.constants[b.index]);
        }
    }
    std::weak_ptr<const std::vector<Region>> &made = made_[writer.key];
    Prepared prepared = made.lock();
    if (prepared == nullptr) {
        prepared = std::make_shared<const std::vector<Region>>(make(request, pipelines, residents));
        made = prepared;
    }
    return prepared;
}

std::vector<Region> Preparations::make(const Request &request, std::span<const Pipeline> pipelines,
                                       Residents &residents) const {
    const plan::LayerPlan &plan = request.plan;
    std::vector<MemoryRequest> requests;
    for (const uint64_t bytes : plan.preparation.memory)
        requests.push_back({"prepared weights of '" + request.step.name + "'", bytes});
    std::vector<Region> memory = allocate(device_, requests, "the prepared weights");
    requests.clear();
    for (const auto &constant : plan.constants)
        requests.push_back({"a constant of '" + request.step.name + "'", constant.size()});
    const std::vector<Region> constants = allocate(device_, requests, "constants");
    std::vector<Upload> uploads;
    for (size_t i = 0; i < constants.size(); ++i) uploads.push_back({plan.constants[i], constants[i]});
    upload(device_, uploads);

    const std::map<std::string, Region> weights = residents.weights(request.weights());
    std::vector<BoundDispatch> dispatches;
    for (const plan::Dispatch &d : plan.preparation.dispatches) {
        std::vector<Region> bound;
        for (const plan::Binding &b : d.bindings) {
            const bool given = b.bytes != 0;
            const Region &whole = !given                      ? residents.zeros()
                                  : b.role == LAMINA_WEIGHT   ? weights.at(request.weight(b))
                                  : b.role == LAMINA_CONSTANT ? constants[b.index]
                                                              : memory[b.index];
            bound.push_back({whole.buffer, whole.offset + b.offset, given ? b.bytes : whole.bytes});
        }
        dispatches.push_back({&d, pipelines[dispatches.size()], std::move(bound)});
    }
    const Owned<VkDescriptorPool> sets = make_ready(*device_, dispatches);
    CommandPool(device_).run_once("the preparation of '" + request.step.name + "'", [&](VkCommandBuffer commands) {
        for (const BoundDispatch &d : dispatches) record(*device_, commands, d);
        place(*device_, commands, between_dispatches); // its readers are in later submissions
    });
    return memory;
}

} // namespace lamina::vulkan
