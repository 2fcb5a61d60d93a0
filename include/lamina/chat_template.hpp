// Chat templates: a conversation as the text that a model was trained to continue. Such templates come with models and
// are written in Jinja, of which Lamina has what they use (docs/models.md).
//
//     const auto format = lamina::ChatTemplate::parse(text, "smol/chat_template.jinja");
//     std::string prompt = format.render({{"user", "Why is the sky blue?"}});
#pragma once

#include <lamina/error.hpp>

#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lamina {

struct ChatMessage {
    std::string role; // "system", "user", "assistant": what the template knows
    std::string content;
};

struct ChatOptions {
    bool add_generation_prompt = true; // end with what begins the model's answer
    std::string bos_token, eos_token;
    // Other variables of the template, as JSON: {"enable_thinking", "false"}, {"tools", "[...]"}. They take the place
    // of those above: "messages", for messages with more than a role and a content.
    std::map<std::string, std::string> variables;
    std::optional<std::time_t> now; // what strftime_now() tells; none: the time
};

// Cheap to copy. All functions may be called from several threads at once.
class ChatTemplate {
  public:
    // Throws Error(input) with the line and column of what is not understood. `name` begins every message.
    [[nodiscard]] static ChatTemplate parse(std::string_view text, std::string name = "chat template");

    // As the Python package transformers renders it. Throws Error(input) when the template refuses the conversation,
    // uses what is not supported, or runs into its limits: it can neither hang nor take all memory.
    [[nodiscard]] std::string render(const std::vector<ChatMessage> &messages, const ChatOptions &options = {}) const;

    struct Parts;
    explicit ChatTemplate(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  private:
    std::shared_ptr<const Parts> parts_;
};

} // namespace lamina
