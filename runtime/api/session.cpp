// lamina::Session.
#include "api/access.hpp"

#include "architectures/beside.hpp"
#include "architectures/open.hpp"
#include "generation/draft.hpp"
#include "generation/generation.hpp"

#include <atomic>

namespace lamina {

void Session::use_draft(const Session &draft) {
    const std::string why = generation::Draft::why_not(*state_->model, *draft.state_->model);
    if (!why.empty()) throw Error(ErrorCode::input, "a draft: " + why);
    if (!state_->turn.may_take(draft.state_->turn))
        throw Error(
            ErrorCode::usage,
            "a draft: expected another session, of a smaller model, that never had a draft. The session that takes it "
            "must never have been a draft. A session with adapters counts as the one whose weights it uses");
    const std::scoped_lock turn(state_->turn);
    state_->draft = draft.state_;
}

Session Session::with_adapters(const std::vector<Adapter> &adapters) const {
    static std::atomic<uint64_t> last = 0;
    const std::shared_ptr<detail::SessionState> &base = state_->beside ? state_->beside : state_;
    const auto changed =
        architectures::open(base->model->folder, {.adapters = adapters, .mmproj = base->model->projector},
                            base->runtime->plugins->folders());
    architectures::Beside found =
        architectures::beside(*base->model, *changed, "adapter " + std::to_string(++last) + ": ");
    Session out;
    out.state_ = std::make_shared<detail::SessionState>(base, std::move(found.model), std::move(found.weights));
    const std::scoped_lock turn(out.state_->turn);
    out.state_->surviving_loss([&] { out.state_->connect(); });
    out.state_->draft = state_->draft;
    return out;
}

const Device &Session::device() const { return state_->device; }

std::vector<Session::Part> Session::parts() const {
    const std::scoped_lock turn(state_->turn);
    state_->surviving_loss([&] { state_->connect(); });
    std::vector<Part> out;
    if (!state_->split) return out;
    const split::Layers &layers = state_->split->layers();
    const split::Division &division = state_->split->division();
    for (size_t i = 0, first = 0; i < division.counts.size(); first += division.counts[i++]) {
        Part part{.device = state_->places[i].device,
                  .layers = division.counts[i],
                  .first = {},
                  .last = {},
                  .weights = division.weights[i],
                  .caches = division.caches[i],
                  .tokens = layers.tokens,
                  .room = division.rooms[i]};
        if (part.layers != 0) part.first = layers.all[first].name, part.last = layers.all[first + part.layers - 1].name;
        out.push_back(std::move(part));
    }
    return out;
}

namespace {

void expect_graph(const model::Model &model, const std::string &graph) {
    if (!model.graphs.contains(graph))
        throw Error(ErrorCode::input, model.folder.string() + " has no graph '" + graph + "'");
}

} // namespace

std::map<std::string, TensorType, std::less<>> Session::output_types(const std::string &graph,
                                                                     const TensorMap &inputs) const {
    const model::Model &model = *state_->model;
    expect_graph(model, graph);
    plan::GraphShapes shapes;
    for (const auto &[name, tensor] : inputs) shapes.inputs[name] = tensor.type();
    const plan::GraphPlan plan = plan::plan_graph(model, model.graphs.at(graph), *state_->runtime->plugins, shapes);
    std::map<std::string, TensorType, std::less<>> out;
    for (const auto &[name, tensor] : plan.outputs) out[name] = plan.tensors[static_cast<size_t>(tensor)].type;
    return out;
}

TensorMap Session::run(const std::string &graph, const TensorMap &inputs, const std::vector<std::string> &taps) {
    expect_graph(*state_->model, graph);
    if (!taps.empty() && !state_->options.keep_all)
        throw Error(ErrorCode::usage, "only a session with keep_all can return tensors inside a graph");
    const std::scoped_lock turn(state_->turn);
    return state_->surviving_loss([&] { return state_->run(graph, inputs, taps); });
}

std::vector<std::vector<Hypothesis>> Session::hypotheses(const std::vector<std::string> &texts,
                                                         const GenerateOptions &options) {
    const std::scoped_lock turn(state_->turn);
    return generation::generate(*state_, texts, options);
}

std::vector<std::string> Session::generate(const std::vector<std::string> &texts, const GenerateOptions &options) {
    std::vector<std::string> out;
    for (const auto &found : hypotheses(texts, options)) out.push_back(found.empty() ? "" : found.front().text);
    return out;
}

} // namespace lamina
