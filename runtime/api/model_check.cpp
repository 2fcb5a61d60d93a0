#include "api/model_check.hpp"

#include "generation/alignment.hpp"
#include "generation/audio_inputs.hpp"
#include "generation/generation_shapes.hpp"
#include "generation/speech.hpp"
#include "model/place.hpp"
#include "plan/graph_check.hpp"
#include "plan/graph_plan.hpp"
#include "reading/images.hpp"
#include "reading/pages.hpp"
#include "reading/reading.hpp"

#include <algorithm>
#include <set>

namespace lamina::api {
namespace {

void refuse_unused_weights(const model::Model &model, const abi::Registry &plugins) {
    const std::vector<std::string> unused = plan::unused_weights(model, plugins);
    if (unused.empty()) return;
    std::string message = model.weights.file().string() + ": no layer of the model uses '" + unused.front() + "'";
    if (unused.size() > 1) message += " and " + std::to_string(unused.size() - 1) + " more tensors";
    throw Error(ErrorCode::input, message + ": a layer's weights are named LAYER.PORT ('lamina inspect' lists them)");
}

// Scores that are taken for what they are not give answers that are wrong and look right.
void expect_logits(const plan::GraphPlan &plan, int32_t tensor, const std::string &place) {
    for (const plan::Step &step : plan.steps)
        for (uint32_t i = 0; i < step.out.size(); ++i)
            if (step.out[i] == tensor && (step.call.layer().contract->outputs[i].flags & LAMINA_PROBABILITIES) != 0)
                throw Error(ErrorCode::input, place + "expected logits, found the probabilities of layer '" +
                                                  step.name + "' (" + std::string(step.call.layer().id()) +
                                                  "); write \"probabilities\" instead of \"logits\"");
}

// A state whose size follows from other ports takes in every token for good, and steps also compute tokens that are
// only filler. So its layer must be told how many count.
void expect_lengths(const model::Model &model, const plan::GraphPlan &plan) {
    const model::Generation &g = *model.generation;
    const int32_t lengths = g.recurrent() ? plan.inputs.at(g.target_lengths) : plan::none;
    for (const plan::Step &step : plan.steps) {
        const lamina_layer &contract = *step.call.layer().contract;
        for (uint32_t i = 0; i < step.state.size(); ++i) {
            if (step.state[i] == plan::none || contract.states[i].capacity != nullptr) continue;
            if (lengths != plan::none && std::ranges::find(step.in, lengths) != step.in.end()) continue;
            throw Error(ErrorCode::input,
                        model::place_in(model, "/generation") + ": layer '" + step.name + "' (" +
                            std::string(step.call.layer().id()) + ") keeps a state, '" + contract.states[i].name +
                            "', which tokens change for good: it must take how many of a row's ids count. Give the "
                            "graph '" +
                            g.decode +
                            "' an input, i32 \"B\", pass it to the layer, and name it with the "
                            "key 'target_lengths'");
        }
    }
}

// A vocabulary of another size than the table of embeddings is that of another model, and its words mean others. Tables
// may have more rows than a tokenizer has tokens.
bool fits(const model::TextCodec &codec, int64_t rows) {
    const auto size = static_cast<int64_t>(codec.size());
    return codec.split() == model::TextCodec::Split::tokenizer ? size <= rows : size == rows;
}

std::string entries(const model::TextCodec &codec) {
    return (codec.split() == model::TextCodec::Split::tokenizer ? "at least " : "") + std::to_string(codec.size());
}

void check_ids(const model::Model &model, const plan::GraphPlan &plan, const std::string &input,
               const model::TextCodec &codec, const char *side) {
    const int64_t end = generation::end_of_values(plan, input);
    const bool tokenizer = codec.split() == model::TextCodec::Split::tokenizer;
    if (end != INT32_MAX && !fits(codec, end))
        throw Error(ErrorCode::input, model::place_in(model, std::string("/generation/") + side + "/" +
                                                                 (tokenizer ? "tokenizer" : "vocabulary")) +
                                          ": expected " + (tokenizer ? "at most " : "") + std::to_string(end) +
                                          " entries, one for each id that '" + input + "' takes, found " +
                                          std::to_string(codec.size()) + " in " + codec.file());
}

void check_choice(const model::Model &model, const std::string &name, const model::TokenChoice &choice,
                  int64_t scores) {
    const model::Generation &g = *model.generation;
    const auto fail = [&](const char *key, const std::string &what) {
        throw Error(ErrorCode::input, model::place_in(model, "/tokens/choices/" + name + "/" + key) + ": " + what);
    };
    const size_t places = model.tokens.start.size();
    const bool translates = !g.encode.empty() && g.takes_texts(),
               of_source = choice.at != model::TokenChoice::At::output;
    if (of_source && !translates) fail("source", "only a model with an encoder of texts has it");
    if (!of_source && choice.place >= places && !(translates && places == 1))
        fail("place", "expected one in \"start\", which has " + std::to_string(places) +
                          "; only behind the start of one token of a model with an encoder of texts may one be chosen");
    const auto end = of_source ? static_cast<int64_t>(g.source->size()) : scores;
    for (const auto &[wanted, id] : choice.ids)
        if (id >= end)
            fail("ids", "expected ids below " + std::to_string(end) + ", found " + std::to_string(id) + " for " +
                            in_quotes(wanted));
}

void check_tokens(const model::Model &model, int64_t scores) {
    std::string place = "/tokens/";
    const auto check = [&](const model::Ids &ids, const char *key) {
        for (const int32_t id : ids)
            if (id >= scores)
                throw Error(ErrorCode::input, model::place_in(model, place + key) + ": expected ids below " +
                                                  std::to_string(scores) + ", as many as there are scores, found " +
                                                  std::to_string(id) + " in '" + key + "'");
    };
    const model::OutputTokens &tokens = model.tokens;
    for (const model::Ids &choice : tokens.start) check(choice, "start");
    std::set<model::TokenChoice::At> ends; // of a source, that are taken
    for (const auto &[name, choice] : tokens.choices) {
        check_choice(model, name, choice, scores);
        if (choice.at != model::TokenChoice::At::output && !ends.insert(choice.at).second)
            throw Error(ErrorCode::input, model::place_in(model, "/tokens/choices/" + name + "/source") +
                                              ": another choice is of the same end of a source");
    }
    check(tokens.end, "end");
    check(tokens.suppress, "suppress");
    check(tokens.begin_suppress, "begin_suppress");
    if (tokens.timestamps) check({tokens.timestamps->first()}, "timestamps");
    if (const auto &audio = model.generation->audio;
        audio && tokens.timestamps && tokens.timestamps->step * static_cast<double>(audio->rate) < 1)
        throw Error(ErrorCode::input,
                    model::place_in(model, "/tokens/timestamps/step") + ": expected at least as long as a sample");
    if (tokens.start.empty() && !model.generation->encode.empty())
        throw Error(ErrorCode::input, model::place_in(model, "/tokens/start") +
                                          ": expected at least one token, because there is no prompt to begin "
                                          "with");
    place = "/generation/decoding/";
    const model::Decoding &decoding = model.generation->decoding;
    for (const model::SequenceBias &biased : decoding.sequence_bias) check(biased.tokens, "sequence_bias");
    for (const model::Ids &sequence : decoding.bad_words_ids) check(sequence, "bad_words_ids");
    if (decoding.forced_bos_token_id) check({*decoding.forced_bos_token_id}, "forced_bos_token_id");
    check(decoding.forced_eos_token_id, "forced_eos_token_id");
}

// decode: a plan of it, of any shape.
void check_alignment(const model::Model &model, const plan::GraphPlan &decode, const abi::Registry &plugins) {
    const model::Graph &graph = model.graphs.at(model.generation->alignment->graph);
    const auto shape_of = [](const plan::GraphPlan &plan, int32_t tensor) {
        return plan.tensors[static_cast<size_t>(tensor)].type.shape;
    };
    plan::GraphShapes shapes;
    for (const model::GraphInput &input : graph.inputs)
        shapes.inputs[input.name] = decode.tensors[static_cast<size_t>(decode.inputs.at(input.name))].type;
    const plan::GraphPlan plan = plan::plan_graph(model, graph, plugins, shapes);
    for (const model::Alignment::Head &head : model.generation->alignment->heads)
        generation::expect_head(model, head, shape_of(plan, plan.outputs.at(head.queries)),
                                shape_of(decode, decode.inputs.at(head.keys)));
}

void check_generation(model::Model &model, const abi::Registry &plugins) {
    model::Generation &g = *model.generation;
    if (!g.encode.empty() && g.takes_texts())
        check_ids(model,
                  plan::plan_graph(model, model.graphs.at(g.encode), plugins,
                                   generation::encode_shapes(g, 2, 1)), // any shape
                  g.source_ids, *g.source, "source");
    const plan::GraphPlan plan = generation::plan_decode_step(model, plugins);
    expect_lengths(model, plan);
    g.positions = generation::end_of_values(plan, g.position);
    const int32_t output = plan.outputs.at(g.scores);
    const TensorType &scores = plan.tensors[static_cast<size_t>(output)].type;
    const std::string place =
        model::place_in(model, std::string("/generation/") + (g.probabilities ? "probabilities" : "logits")) + ": ";
    if (!g.probabilities) expect_logits(plan, output, place);
    if (scores.shape.size() != 3 || !fits(*g.target, scores.shape[2]))
        throw Error(ErrorCode::input, place + "expected '" + g.scores + "' to be (B, T, " + entries(*g.target) +
                                          "), one value for each entry of " + g.target->file() + ", found " +
                                          to_string(scores.shape) + " for B = 2, T = 1");
    check_ids(model, plan, g.target_ids, *g.target, "target");
    check_tokens(model, scores.shape[2]);
    if (g.alignment) check_alignment(model, plan, plugins);
}

void check_reading(const model::Model &model, const abi::Registry &plugins) {
    const model::Reading &reading = *model.reading;
    constexpr int64_t batch = 2, length = 1; // any shape
    const auto shapes = reading::shapes_of(reading, batch, length);
    reading::expect_shape(model, reading, reading::shape_of_output(model, reading, plugins, shapes), batch, length);
}

void check_pages(const model::Model &model, const abi::Registry &plugins) {
    const model::Pages &pages = *model.pages;
    constexpr int64_t batch = 2, length = 1; // any shape
    const auto shapes = reading::shapes_of(pages, batch, length);
    reading::expect_shape(model, pages.reading, reading::shape_of_output(model, pages.reading, plugins, shapes), batch,
                          length);
}

void check_images(model::Model &model, const abi::Registry &plugins) {
    model::Images &images = *model.images;
    const plan::GraphShapes shapes = reading::shapes_of(images, 2); // any number of images
    const plan::GraphPlan plan = plan::plan_graph(model, model.graphs.at(images.graph), plugins, shapes);
    if (images.gives == model::Images::Gives::texts) return; // check_generation() knows what its decoder takes
    const Shape &shape = plan.tensors[static_cast<size_t>(plan.outputs.at(images.output))].type.shape,
                &patches = shapes.inputs.at(images.patches).shape;
    reading::expect_shape_of_images(model, shape, patches);
    if (images.any_size) {
        const image::Resize &resize = *images.steps.resize;
        images.tokens =
            resize.most / (images.steps.patch * images.steps.patch) / (images.steps.merge * images.steps.merge);
        if (images.place->row_ends) // of at most so many rows
            images.tokens +=
                resize.longest != 0 ? (resize.longest + resize.multiple - 1) / resize.multiple : images.tokens;
    } else if (images.place)
        images.tokens = shape[1] - images.place->skip;
}

void check_speech(const model::Model &model, const abi::Registry &plugins) {
    const model::Speech &speech = *model.speech;
    constexpr int64_t batch = 2, frames = 5; // any shape
    const plan::GraphPlan plan = plan::plan_graph(model, model.graphs.at(speech.graph), plugins,
                                                  generation::shapes_of(speech.audio, batch, frames));
    generation::expect_shape_of_speech(
        model, plan.tensors[static_cast<size_t>(plan.outputs.at(speech.logits))].type.shape, batch, frames);
}

} // namespace

void expect_plugins(const model::Model &model, const abi::Registry &plugins) {
    for (const auto &[name, graph] : model.graphs)
        for (const model::Node &node : graph.nodes) {
            try {
                (void)plugins.layer(node.type);
            } catch (const Error &e) {
                throw Error(e.code(), plan::place_of(model, node) + ": " + e.what());
            }
        }
}

void check_model(model::Model &model, const abi::Registry &plugins) {
    expect_plugins(model, plugins);
    for (const auto &[name, graph] : model.graphs) plan::check_graph(model, graph, plugins);
    refuse_unused_weights(model, plugins);
    if (model.generation) check_generation(model, plugins);
    if (model.reading) check_reading(model, plugins);
    if (model.images) check_images(model, plugins);
    if (model.speech) check_speech(model, plugins);
    if (model.pages) check_pages(model, plugins);
}

} // namespace lamina::api
