#include "draft.hpp"

namespace lamina::cli {

void add_draft_option(const Arguments &app, std::filesystem::path &draft) {
    app.option("--draft", draft, "MODEL",
               "a smaller model with the same vocabulary guesses the next tokens of a text that is written alone; "
               "several are "
               "then checked in one step, as long as that is faster")
        .not_empty();
}

void use_draft(Session &session, const std::filesystem::path &draft, const Runtime &runtime,
               const SessionOptions &how) {
    if (draft.empty()) return;
    const Device &device = session.device();
    const SessionOptions same{.precision = how.precision, .fusion = how.fusion, .cache = how.cache};
    session.use_draft(runtime.session(runtime.load(draft), device.parts.empty() ? device : device.parts.front(), same));
}

} // namespace lamina::cli
