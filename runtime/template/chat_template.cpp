#include "base/own_stack.hpp"
#include "base/utf8.hpp"
#include "template/parser.hpp"
#include "template/printing.hpp"
#include "template/run.hpp"

#include <lamina/chat_template.hpp>

#include <mutex>

namespace lamina {

struct ChatTemplate::Parts {
    jinja::Source source;
    jinja::Block block;
    mutable std::once_flag is_probed = {};
    mutable bool knows_only_parts = false; // templates of some models that see lose a content that is a string
};

namespace {

// Templates nest, and are read, run and destroyed by functions that call themselves. The limits of all three fit here.
constexpr size_t stack = 8u << 20;

void destroy(const ChatTemplate::Parts *parts) {
    try {
        on_own_stack(stack, [&] { delete parts; });
    } catch (const Error &) { // no room for it: most templates need none
        delete parts;
    }
}

} // namespace

ChatTemplate ChatTemplate::parse(std::string_view text, std::string name) {
    std::shared_ptr<const Parts> parts;
    on_own_stack(stack, [&] {
        jinja::Source source(text, std::move(name));
        jinja::Block block = jinja::parse_template(source);
        parts = {new Parts{std::move(source), std::move(block)}, destroy};
    });
    return ChatTemplate(std::move(parts));
}

namespace jinja {
namespace {

Value text_part(Run &run, Value text) { return run.dict({{"type", run.text("text")}, {"text", std::move(text)}}); }

// A text, or parts of which the last is a text.
Value content_of(Run &run, const ChatMessage &message) {
    if (message.images == 0) return run.text(message.content);
    std::vector<Value> parts(message.images, run.dict({{"type", run.text("image")}}));
    parts.push_back(text_part(run, run.text(message.content)));
    return run.list(std::move(parts));
}

Value messages_of(Run &run, const std::vector<ChatMessage> &messages) {
    std::vector<Value> out;
    for (const ChatMessage &each : messages)
        out.push_back(run.dict({{"role", run.text(each.role)}, {"content", content_of(run, each)}}));
    return run.list(std::move(out));
}

// The messages with each content that is a string as a list of one part.
Value with_parts(Run &run, const Value &messages) {
    if (messages.sequence() == nullptr) return messages;
    std::vector<Value> out;
    for (const Value &message : messages.sequence()->items) {
        const Value *content = message.dict() != nullptr ? message.dict()->find("content") : nullptr;
        if (content == nullptr || content->text() == nullptr) {
            out.push_back(message);
            continue;
        }
        std::vector<Dict::Member> members = message.dict()->members;
        members.emplace_back("content", run.list({text_part(run, *content)}));
        out.push_back(run.dict(std::move(members)));
    }
    return run.list(std::move(out));
}

void check_utf8(const std::vector<ChatMessage> &messages) {
    for (const ChatMessage &each : messages)
        for (const std::string &text : {each.role, each.content})
            if (const size_t bad = first_invalid_utf8(text); bad != text.size())
                throw Error(ErrorCode::input, in_quotes(text) + ": invalid UTF-8 at offset " + std::to_string(bad));
}

std::string rendered(Run run, const Block &block, const std::vector<ChatMessage> &messages, const ChatOptions &options,
                     bool as_parts) {
    return run.capture([&] {
        run.in_scope(nullptr, [&] {
            run.set("messages", messages_of(run, messages));
            run.set("add_generation_prompt", options.add_generation_prompt);
            if (!options.bos_token.empty()) run.set("bos_token", run.text(options.bos_token));
            if (!options.eos_token.empty()) run.set("eos_token", run.text(options.eos_token));
            for (const char *absent : {"tools", "documents"}) run.set(absent, nullptr);
            for (const auto &[name, json] : options.variables)
                run.set(name, value_of_json(run, JsonText(json, "the variable " + name).root()));
            if (as_parts) run.set("messages", with_parts(run, *run.find("messages")));
            run.render(block);
        });
    });
}

// Whether the template writes what a user says.
bool writes_text(const ChatTemplate::Parts &parts, bool as_parts) {
    constexpr uint64_t enough_steps = 1u << 24;
    const std::string probe = "What is 6 x 7?";
    ChatOptions options;
    options.bos_token = "<s>", options.eos_token = "</s>";
    try {
        const std::string found =
            rendered(Run(parts.source, {}, enough_steps), parts.block, {{"user", probe}}, options, as_parts);
        return found.find(probe) != std::string::npos;
    } catch (const Error &) { // it needs something else
        return false;
    }
}

bool knows_only_parts(const ChatTemplate::Parts &parts) {
    std::call_once(parts.is_probed,
                   [&] { parts.knows_only_parts = !writes_text(parts, false) && writes_text(parts, true); });
    return parts.knows_only_parts;
}

} // namespace
} // namespace jinja

std::string ChatTemplate::render(const std::vector<ChatMessage> &messages, const ChatOptions &options) const {
    jinja::check_utf8(messages);
    const bool converses = !messages.empty() || options.variables.contains("messages");
    std::string out;
    on_own_stack(stack, [&] {
        const bool as_parts = converses && jinja::knows_only_parts(*parts_);
        out = jinja::rendered({parts_->source, options.now}, parts_->block, messages, options, as_parts);
    });
    return out;
}

} // namespace lamina
