// What chooses adapters of a model by their numbers, as clients of llama.cpp do.
#include "openai_request.hpp"
#include "route.hpp"

#include "base/json.hpp"

#include <map>
#include <string>
#include <vector>

namespace lamina::serve {

Response Api::list_adapters(const Call &) {
    Json out = Json::array();
    std::map<std::string, int64_t> numbers; // by model
    for (const Models::Listed &each : models_.list()) {
        const ServedModel &adapter = *each.model;
        if (adapter.parent.empty()) continue;
        out.push_back({{"id", numbers[adapter.parent]++},
                       {"path", adapter.name},
                       {"scale", adapter.adapters.front().scale},
                       {"model", adapter.parent}});
    }
    return {.body = out.in_one_line()};
}

void Api::mix_adapters(const Call &call, const AnswerRequest &request) {
    if (!request.lora) return;
    const auto refuse = [](const std::string &why) { throw Refusal(400, "request: /lora: " + why, "lora"); };
    const std::string &name = models_.name_of(request.model);
    std::vector<Adapter> known;
    for (const Models::Listed &each : models_.list()) {
        if (each.model->name == name && !each.model->parent.empty())
            refuse(name + " is an adapter: ask for the model that it changes, " + each.model->parent);
        if (each.model->parent == name) known.push_back(each.model->adapters.front());
    }
    std::vector<Adapter> wanted;
    for (const auto &[id, scale] : *request.lora) {
        if (known.empty()) refuse(name + " has no adapters");
        if (id >= known.size())
            refuse("there is no adapter " + std::to_string(id) + ": " + name + " has " + std::to_string(known.size()) +
                   ", which /lora-adapters lists");
        if (scale != 0) wanted.push_back({known[id].path, scale});
    }
    if (wanted.empty()) return;
    (void)engine_that_writes(call, request.model);
    std::shared_ptr<Engine> &engine = call.use->engine;
    if (auto known_mix = models_.mix(*engine, wanted)) {
        engine = std::move(known_mix);
        return;
    }
    const auto turn = take(mixing_, 1, call.request);
    engine = models_.mixed(engine, wanted);
}

} // namespace lamina::serve
