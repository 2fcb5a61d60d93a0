// What answers /props, as clients of llama.cpp ask for it: what a model can do here, and how it does it by default.
#include "route.hpp"

#include "base/json.hpp"

#include <lamina/sampling.hpp>
#include <lamina/texts.hpp>

#include <optional>

namespace lamina::serve {
namespace {

// What a request has that leaves all numbers open, by the names of its fields.
Json usual_numbers(const Engine &engine) {
    Json out = Json::object();
    if (!engine.writes()) return out;
    const GenerateOptions options = suggested_options(engine.model());
    for (const SamplingOption &option : sampling_options)
        if (const std::optional<double> value = option.of(options)) out[option.name] = *value;
    out["max_tokens"] = engine.contents().generation->max_length;
    out["n_predict"] = engine.contents().generation->max_length; // what llama.cpp calls it
    return out;
}

} // namespace

Json modalities_of(const Engine &engine) { return {{"vision", engine.sees()}, {"audio", engine.transcribes()}}; }

Response Api::show_props(const Call &call) {
    const auto model = call.request.query.find("model");
    const Engine &engine = engine_called_or_only(call, model == call.request.query.end() ? "" : model->second);
    Json settings{{"n_ctx", engine.longest()}, {"params", usual_numbers(engine)}};
    return {.body = Json{{"model_alias", engine.name()},
                         {"build_info", "lamina " + options_.version},
                         {"total_slots", engine.room().slots},
                         {"default_generation_settings", std::move(settings)},
                         {"modalities", modalities_of(engine)}}
                        .in_one_line()};
}

} // namespace lamina::serve
