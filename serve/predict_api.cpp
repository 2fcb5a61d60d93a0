// What answers /predict: classes of texts, in the form of Text Embeddings Inference.
#include "fields.hpp"
#include "route.hpp"
#include "tokens.hpp"

#include "base/json.hpp"

namespace lamina::serve {
namespace {

constexpr size_t most_predicted = 2048; // texts, as in other requests

struct PredictRequest {
    std::vector<Classification::Given> texts;
    bool several = false; // the answer is a list for each of them
    bool raw = false;
    std::optional<bool> cut;
};

// ["a text"], or ["a text", "another"], which are read together.
Classification::Given one_or_two(const JsonView &list) {
    const size_t count = list.items().size();
    if (count != 1 && count != 2) list.fail("expected a list of one text or two, found " + list.description());
    Classification::Given out{std::string(list.at(size_t{0}).string()), std::nullopt};
    if (count == 2) out.second = std::string(list.at(size_t{1}).string());
    return out;
}

void read_inputs(const JsonView &inputs, PredictRequest &out) {
    if (inputs.is_string()) {
        out.texts.push_back({std::string(inputs.string()), std::nullopt});
        return;
    }
    if (!inputs.is_list() || inputs.items().size() == 0)
        inputs.fail("expected a text, a list of two that are read together, or lists of these; found " +
                    inputs.description());
    out.several = !inputs.at(size_t{0}).is_string();
    if (!out.several) {
        out.texts.push_back(one_or_two(inputs));
        return;
    }
    if (const size_t found = inputs.items().size(); found > most_predicted)
        inputs.fail("expected at most " + std::to_string(most_predicted) + " texts, found " + std::to_string(found));
    for (const JsonView each : inputs.items()) out.texts.push_back(one_or_two(each));
}

PredictRequest predict_request(std::string_view body) {
    const JsonText json(body, "request");
    const JsonView request = json.root();
    expect_fields(request, "TeiPredictRequest");
    PredictRequest out;
    read_inputs(request.at("inputs"), out);
    if (request.has("raw_scores")) out.raw = request.at("raw_scores").boolean();
    out.cut = truncation_of(request);
    return out;
}

size_t tokens_in_texts(const Model &model, const PredictRequest &request, bool cut) {
    size_t out = 0;
    for (size_t i = 0; i < request.texts.size(); ++i) {
        const std::string field = request.several ? "inputs/" + std::to_string(i) : "inputs";
        const auto &[first, second] = request.texts[i];
        out += second ? tokens_of_pairs(model, first, {*second}, field, cut) : tokens_in(model, {first}, field, cut);
    }
    return out;
}

Json predictions(const std::vector<LabelScore> &labels) {
    Json out = Json::array();
    for (const LabelScore &each : labels) out.push_back({{"score", each.score}, {"label", each.label}});
    return out;
}

} // namespace

Response Api::tei_predict(const Call &call) {
    PredictRequest request = parsed(call.request, predict_request);
    Engine &engine = only_engine(call, &Engine::classifies, "tell classes of texts");
    const size_t tokens =
        with_texts(call.request, [&] { return tokens_in_texts(engine.model(), request, cuts(request.cut)); });
    constexpr size_t of_label = 256; // bytes: with its name, as a result and as JSON
    const size_t labels = std::max<size_t>(engine.contents().reading->labels.size(), 2);
    const auto work = call.work<Classification>();
    const auto memory = work->memory = take(answer_memory_, request.texts.size() * labels * of_label, call.request);
    work->texts = std::move(request.texts);
    work->raw = request.raw;
    engine.submit(work);
    await(*work, call.request);
    count(call, {.prompt = tokens});
    if (!request.several) return {.body = predictions(work->labels.front()).in_one_line()};
    Json out = Json::array();
    for (const std::vector<LabelScore> &each : work->labels) out.push_back(predictions(each));
    return {.body = out.in_one_line()};
}

} // namespace lamina::serve
