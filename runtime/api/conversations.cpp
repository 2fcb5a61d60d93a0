#include <lamina/texts.hpp>

#include "api/access.hpp"
#include "model/place.hpp"

#include "base/json_reader.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace lamina {
namespace {

// The messages of a conversation, and what its prompt is without some of them.
class Conversation {
  public:
    Conversation(const Model &model, const std::vector<ChatMessage> &messages,
                 const std::map<std::string, std::string> &variables)
        : model_(model), messages_(messages), variables_(variables) {
        const auto written = variables.find("messages"); // instead of `messages`
        if (written == variables.end()) {
            for (const ChatMessage &each : messages) roles_.push_back(each.role);
            return;
        }
        const JsonText json(written->second, "messages");
        for (const JsonView each : json.root().items()) {
            roles_.emplace_back(each.at("role").string());
            written_.emplace_back(each.written());
        }
    }

    // Where its turns begin.
    [[nodiscard]] std::vector<size_t> turns() const {
        std::vector<size_t> out;
        for (size_t i = 0; i < roles_.size(); ++i)
            if (roles_[i] == "user") out.push_back(i);
        return out;
    }

    [[nodiscard]] std::string prompt_without(size_t first, size_t last) const {
        const auto is_left = [&](size_t i) { return i < first || i >= last; };
        std::vector<ChatMessage> messages;
        for (size_t i = 0; i < messages_.size(); ++i)
            if (is_left(i)) messages.push_back(messages_[i]);
        std::map<std::string, std::string> variables = variables_;
        if (!written_.empty()) {
            std::string list;
            for (size_t i = 0; i < written_.size(); ++i)
                if (is_left(i)) list += (list.empty() ? "" : ",") + written_[i];
            variables["messages"] = "[" + list + "]";
        }
        return chat_prompt(model_, messages, variables);
    }

  private:
    const Model &model_;
    const std::vector<ChatMessage> &messages_;
    const std::map<std::string, std::string> &variables_;
    std::vector<std::string> roles_, written_; // written: as JSON, if it is so that they were given
};

} // namespace

std::string chat_prompt(const Model &model, const std::vector<ChatMessage> &messages,
                        const std::map<std::string, std::string> &variables) {
    const model::Model &content = *detail::Access::model(model);
    if (!content.chat)
        throw Error(ErrorCode::usage, content.folder.string() +
                                          " has no chat template, so it was not made for "
                                          "conversations: it " +
                                          model::what_it_does(content));
    ChatOptions options;
    options.bos_token = content.chat->bos, options.eos_token = content.chat->eos;
    options.variables = variables;
    return detail::Access::chat_template(model).render(messages, options);
}

ShortenedChat shortened_chat_prompt(const Model &model, const std::vector<ChatMessage> &messages, size_t longest,
                                    size_t answer, const std::map<std::string, std::string> &variables) {
    const size_t most = longest - std::min(answer == 0 ? longest / 4 : answer, longest / 2);
    const auto counted = [&](std::string prompt, size_t left_out) {
        std::vector<int32_t> ids = token_ids(model, prompt, false);
        return ShortenedChat{std::move(prompt), left_out, std::move(ids)};
    };
    ShortenedChat out = counted(chat_prompt(model, messages, variables), 0);
    if (out.ids.size() <= most) return out;
    const Conversation conversation(model, messages, variables);
    const std::vector<size_t> turns = conversation.turns();
    if (turns.size() < 2) return out;
    // The first turn from which all fits: it is not in [0, none) and, if there is any, not beyond `some`.
    size_t none = 1, some = turns.size() - 1;
    const auto without = [&](size_t turn) {
        return counted(conversation.prompt_without(turns.front(), turns[turn]), turns[turn] - turns.front());
    };
    out = without(some);
    while (none < some) {
        const size_t middle = (none + some) / 2;
        if (ShortenedChat shorter = without(middle); shorter.ids.size() <= most) {
            some = middle;
            out = std::move(shorter);
        } else {
            none = middle + 1;
        }
    }
    return out;
}

} // namespace lamina
