// page.hpp.
#include <lamina/page.hpp>

#include "api/access.hpp"
#include "reading/pages.hpp"

namespace lamina {
namespace {

template <class Work> auto in_turn(Session &session, const Work &work) {
    detail::SessionState &state = detail::Access::state(session);
    const std::scoped_lock turn(state.turn);
    return work(state);
}

} // namespace

std::vector<std::vector<LabelScore>> classify_pages(Session &session, const std::vector<Page> &pages,
                                                    const PageOptions &options) {
    return in_turn(session,
                   [&](detail::SessionState &state) { return reading::classify_pages(state, pages, options); });
}

std::vector<std::vector<WordLabels>> label_words(Session &session, const std::vector<Page> &pages,
                                                 const PageOptions &options) {
    return in_turn(session, [&](detail::SessionState &state) { return reading::label_words(state, pages, options); });
}

std::vector<std::vector<PageAnswer>> answer_pages(Session &session, const std::vector<Page> &pages,
                                                  const std::vector<PageQuestion> &questions,
                                                  const PageOptions &options) {
    return in_turn(
        session, [&](detail::SessionState &state) { return reading::answer_pages(state, pages, questions, options); });
}

} // namespace lamina
