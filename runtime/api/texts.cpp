// texts.hpp: texts on their way into a model.
#include <lamina/texts.hpp>

#include "api/access.hpp"
#include "generation/text_inputs.hpp"

namespace lamina {

TextIds tokenize(const Model &model, const std::vector<std::string> &texts) {
    return generation::read_texts(*detail::Access::model(model), *detail::Access::plugins(model), texts);
}

std::vector<GraphRun> graph_runs(Session &session, const std::vector<std::string> &texts) {
    return generation::inputs_of_texts(detail::Access::state(session), texts, generation::Rows::of_texts).graphs;
}

} // namespace lamina
