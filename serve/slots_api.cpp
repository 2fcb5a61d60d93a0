// What answers /slots, as clients of llama.cpp ask for it: what the models are writing, but never a text.
#include "refusal.hpp"
#include "route.hpp"

#include "base/json.hpp"

#include <lamina/sampling.hpp>

#include <map>
#include <optional>
#include <string>

namespace lamina::serve {
namespace {

// How an answer is written, by the names of the fields of its request.
Json numbers_of(const Engine &engine, const GenerateOptions &options) {
    Json out = Json::object();
    for (const SamplingOption &option : sampling_options)
        if (const std::optional<double> value = option.of(options)) out[option.name] = *value;
    const int64_t most = options.max_length > 0 ? options.max_length : engine.contents().generation->max_length;
    out["max_tokens"] = most;
    out["n_predict"] = most; // as /props has it
    out["min_tokens"] = options.min_length;
    out["seed"] = options.seed;
    out["ignore_eos"] = options.ignore_end;
    return out;
}

} // namespace

Response Api::show_slots(const Call &call) {
    const auto value = [&](const char *key) {
        const auto found = call.request.query.find(key);
        return found == call.request.query.end() ? "" : found->second;
    };
    const std::string model = value("model").empty() ? "" : engine_called(call, value("model")).name();
    Json out = Json::array();
    bool free = false;
    std::map<std::string, size_t> counts; // by model, whose mixes of adapters have slots of their own
    for (const std::shared_ptr<Engine> &each : models_.engines()) {
        const Engine &engine = *each;
        if (!model.empty() && engine.name() != model) continue;
        const std::vector<Writer::Slot> slots = engine.slots();
        for (const auto &[answer, tokens] : slots) {
            const bool busy = answer != nullptr;
            free = free || !busy;
            Json one{{"id", counts[engine.name()]++},
                     {"model", engine.name()},
                     {"n_ctx", engine.longest()},
                     {"is_processing", busy},
                     {"n_past", tokens}};
            // Numbers of somebody else's request are nobody's business.
            if (busy && answer->owner.client == call.owner.client) one["params"] = numbers_of(engine, answer->options);
            out.push_back(std::move(one));
        }
    }
    if (value("fail_on_no_slot") == "1" && !free) throw Refusal(503, "no slot is free");
    return {.body = out.in_one_line()};
}

} // namespace lamina::serve
