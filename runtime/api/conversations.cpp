#include <lamina/image.hpp>
#include <lamina/texts.hpp>

#include "api/access.hpp"
#include "api/image_prompts.hpp"
#include "model/place.hpp"

#include "base/json_reader.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace lamina {
namespace {

// Parts of a message that are images.
size_t images_in(JsonView message) {
    if (!message.has("content") || !message.at("content").is_list()) return 0;
    size_t out = 0;
    for (const JsonView part : message.at("content").items())
        if (part.is_object() && part.has("type") && part.at("type").is_string() && part.at("type").string() == "image")
            ++out;
    return out;
}

// The messages of a conversation, and what its prompt is without some of them.
class Conversation {
  public:
    Conversation(const Model &model, const std::vector<ChatMessage> &messages,
                 const std::map<std::string, std::string> &variables)
        : model_(model), messages_(messages), variables_(variables) {
        const auto written = variables.find("messages"); // instead of `messages`
        if (written == variables.end()) {
            for (const ChatMessage &each : messages) roles_.push_back(each.role), images_.push_back(each.images);
            return;
        }
        const JsonText json(written->second, "messages");
        for (const JsonView each : json.root().items()) {
            roles_.emplace_back(each.at("role").string());
            written_.emplace_back(each.written());
            images_.push_back(images_in(each));
        }
    }

    // Where its turns begin.
    [[nodiscard]] std::vector<size_t> turns() const {
        std::vector<size_t> out;
        for (size_t i = 0; i < roles_.size(); ++i)
            if (roles_[i] == "user") out.push_back(i);
        return out;
    }

    // How many images the messages before this one have.
    [[nodiscard]] size_t images_before(size_t message) const {
        return std::accumulate(images_.begin(), images_.begin() + static_cast<std::ptrdiff_t>(message), size_t{0});
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
    std::vector<size_t> images_;
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
    const auto tools = variables.find("tools");
    return detail::Access::chat_template(model, tools != variables.end() && tools->second != "null")
        .render(messages, options);
}

namespace {

// A conversation without the messages [first, last), and those of its images that are left.
struct Part {
    std::string prompt;
    size_t first = 0, last = 0;
    std::vector<Image> images = {};
    api::ImagePrompt tokens = {};
};

Part shortened(const Model &model, const std::vector<ChatMessage> &messages, const std::vector<Image> &images,
               size_t longest, size_t answer, const std::map<std::string, std::string> &variables) {
    const size_t most = longest - std::min(answer == 0 ? longest / 4 : answer, longest / 2);
    const Conversation conversation(model, messages, variables);
    const auto counted = [&](size_t first, size_t last) {
        Part out{conversation.prompt_without(first, last), first, last};
        const size_t before = conversation.images_before(first), after = conversation.images_before(last);
        for (size_t i = 0; i < images.size(); ++i)
            if (i < before || i >= after) out.images.push_back(images[i]);
        out.tokens = api::with_places(*detail::Access::model(model), out.prompt, out.images, false);
        return out;
    };
    Part out = counted(0, 0);
    if (out.tokens.ids.size() <= most) return out;
    const std::vector<size_t> turns = conversation.turns();
    if (turns.size() < 2) return out;
    // The first turn from which all fits: it is not in [0, none) and, if there is any, not beyond `some`.
    size_t none = 1, some = turns.size() - 1;
    const auto without = [&](size_t turn) { return counted(turns.front(), turns[turn]); };
    out = without(some);
    while (none < some) {
        const size_t middle = (none + some) / 2;
        if (Part shorter = without(middle); shorter.tokens.ids.size() <= most) {
            some = middle;
            out = std::move(shorter);
        } else {
            none = middle + 1;
        }
    }
    return out;
}

} // namespace

ShortenedChat shortened_chat_prompt(const Model &model, const std::vector<ChatMessage> &messages, size_t longest,
                                    size_t answer, const std::map<std::string, std::string> &variables) {
    Part part = shortened(model, messages, {}, longest, answer, variables);
    return {std::move(part.prompt), part.last - part.first, std::move(part.tokens.ids), {}, 0};
}

ShortenedChat shortened_chat_prompt(const Model &model, Session &session, const std::vector<ChatMessage> &messages,
                                    const std::vector<Image> &images, size_t longest, size_t answer,
                                    const std::map<std::string, std::string> &variables, const BeforeImage &before) {
    Part part = shortened(model, messages, images, longest, answer, variables);
    detail::SessionState &state = detail::Access::state(session);
    generation::expect_ids(*state.model, *state.runtime->plugins, part.tokens.ids); // before they are seen
    api::see(state, part.tokens, part.images, before);
    ShortenedChat out{std::move(part.prompt), part.last - part.first, std::move(part.tokens.ids)};
    for (const auto &image : part.tokens.images)
        out.image_bytes += image->given.bytes().size() + image->rows.bytes().size();
    out.images = std::make_shared<const std::vector<detail::SeenImages::One>>(std::move(part.tokens.images));
    return out;
}

} // namespace lamina
