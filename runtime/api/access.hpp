// The state behind the handles of lamina.hpp.
#pragma once

#include "session/state.hpp"

#include <lamina/chat_template.hpp>

#include <array>
#include <mutex>
#include <optional>
#include <utility>

namespace lamina::detail {

struct ModelState {
    ModelState(std::shared_ptr<const model::Model> content, std::shared_ptr<const abi::Registry> checked_against)
        : model(std::move(content)), plugins(std::move(checked_against)) {}

    const std::shared_ptr<const model::Model> model;
    const std::shared_ptr<const abi::Registry> plugins; // that it was checked against

    // Of a model that has one, for conversations with tools or without; it is read when it is first used. Throws Error.
    [[nodiscard]] const ChatTemplate &chat_template(bool tools) const;

  private:
    struct Read {
        std::once_flag once;
        std::optional<ChatTemplate> chat_template;
    };
    mutable std::array<Read, 2> read_; // the second one for tools
};

// Runtime, Model and Session are handles. This gives the API and the tests access to their state.
struct Access {
    static const std::shared_ptr<RuntimeState> &state(const Runtime &r);
    static const std::shared_ptr<const model::Model> &model(const Model &m);
    static const std::shared_ptr<const abi::Registry> &plugins(const Model &m);
    static const ChatTemplate &chat_template(const Model &m, bool tools); // as ModelState::chat_template()
    static SessionState &state(Session &s);
    // Checks a model against the plugins and returns its handle. Throws Error.
    static Model checked(std::shared_ptr<model::Model> content, std::shared_ptr<const abi::Registry> plugins);
};

} // namespace lamina::detail
