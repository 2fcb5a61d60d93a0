// The words of pages through a model that reads them.
#pragma once

#include "plan/graph_plan.hpp"
#include "session/state.hpp"

#include <lamina/page.hpp>

#include <cstdint>
#include <vector>

namespace lamina::reading {

// Throws Error(usage) for a model without a "pages" block, or that gives something else. `what`: "classes of pages".
[[nodiscard]] const model::Pages &pages_of(const model::Model &model, model::Reading::Gives expected, const char *what);

// As in page.hpp.
[[nodiscard]] std::vector<std::vector<LabelScore>>
classify_pages(detail::SessionState &session, const std::vector<Page> &pages, const PageOptions &options);
[[nodiscard]] std::vector<std::vector<WordLabels>>
label_words(detail::SessionState &session, const std::vector<Page> &pages, const PageOptions &options);
[[nodiscard]] std::vector<std::vector<PageAnswer>> answer_pages(detail::SessionState &session,
                                                                const std::vector<Page> &pages,
                                                                const std::vector<PageQuestion> &questions,
                                                                const PageOptions &options);

// The inputs of the graph for pages that Lamina makes up, and the shapes of those for `batch` pages of `length` tokens.
[[nodiscard]] TensorMap usual_inputs(const model::Pages &model);
[[nodiscard]] plan::GraphShapes shapes_of(const model::Pages &model, int64_t batch, int64_t length);

} // namespace lamina::reading
