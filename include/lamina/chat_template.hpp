// Chat templates turn a conversation into the text that a model was trained to continue. They come with models and are
// written in Jinja. Lamina supports the part of Jinja that they use (docs/models.md).
//
//     const auto format = lamina::ChatTemplate::parse(text, "smol/chat_template.jinja");
//     std::string prompt = format.render({{"user", "Why is the sky blue?"}});
#pragma once

#include <lamina/error.hpp>

#include <cstddef>
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
    std::string role; // "system", "user", "assistant", or others that the template knows
    std::string content;
    size_t images = 0; // that come before it; a template must know them. The images themselves go into the prompt later
};

struct ChatOptions {
    bool add_generation_prompt = true; // end with the text that starts the model's answer
    std::string bos_token, eos_token;  // empty: the template does not know it
    // Other variables of the template, as JSON: {"enable_thinking", "false"}, {"tools", "[...]"}. They override the
    // variables above: pass "messages" for messages with more than a role and a content.
    std::map<std::string, std::string> variables;
    std::optional<std::time_t> now; // the time for strftime_now(); none: the current time
};

// Cheap to copy. All functions may be called from several threads at once.
class ChatTemplate {
  public:
    // Throws Error(input), with line and column, for syntax that is wrong or not supported. Messages begin with `name`.
    [[nodiscard]] static ChatTemplate parse(std::string_view text, std::string name = "chat template");

    // Renders the template as the Python package transformers does. A template that knows a content only as a list of
    // parts, {"type": "text", "text": "..."}, and would lose a string, gets strings as such lists. Throws Error(input)
    // if the template rejects the conversation, uses an unsupported feature, or exceeds the limits on time and memory.
    [[nodiscard]] std::string render(const std::vector<ChatMessage> &messages, const ChatOptions &options = {}) const;

    struct Parts;
    explicit ChatTemplate(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  private:
    std::shared_ptr<const Parts> parts_;
};

} // namespace lamina
