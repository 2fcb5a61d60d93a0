// The state behind the handles of lamina.hpp.
#pragma once

#include "session/state.hpp"

namespace lamina::detail {

struct ModelState {
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const abi::Registry> plugins; // that it was checked against
};

// Runtime, Model and Session are handles. This gives the API and the tests access to their state.
struct Access {
    static const std::shared_ptr<RuntimeState> &state(const Runtime &r);
    static const std::shared_ptr<const model::Model> &model(const Model &m);
    static const std::shared_ptr<const abi::Registry> &plugins(const Model &m);
    static SessionState &state(Session &s);
    // Checks a model against the plugins and returns its handle. Throws Error.
    static Model checked(std::shared_ptr<const model::Model> content, std::shared_ptr<const abi::Registry> plugins);
};

} // namespace lamina::detail
