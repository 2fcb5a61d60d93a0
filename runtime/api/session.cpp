// lamina::Session.
#include "api/access.hpp"

#include "generation/generation.hpp"

namespace lamina {

const Device &Session::device() const { return state_->device; }

TensorMap Session::run(const std::string &graph, const TensorMap &inputs, const std::vector<std::string> &taps) {
    if (!state_->model->graphs.contains(graph))
        throw Error(ErrorCode::input, state_->model->folder.string() + " has no graph '" + graph + "'");
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
