#include "base/own_stack.hpp"
#include "base/utf8.hpp"
#include "template/parser.hpp"
#include "template/printing.hpp"
#include "template/run.hpp"

#include <lamina/chat_template.hpp>

namespace lamina {

struct ChatTemplate::Parts {
    jinja::Source source;
    jinja::Block block;
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

// A text, or parts of which the last is a text.
Value content_of(Run &run, const ChatMessage &message) {
    if (message.images == 0) return run.text(message.content);
    std::vector<Value> parts(message.images, run.dict({{"type", run.text("image")}}));
    parts.push_back(run.dict({{"type", run.text("text")}, {"text", run.text(message.content)}}));
    return run.list(std::move(parts));
}

Value messages_of(Run &run, const std::vector<ChatMessage> &messages) {
    std::vector<Value> out;
    for (const ChatMessage &each : messages)
        out.push_back(run.dict({{"role", run.text(each.role)}, {"content", content_of(run, each)}}));
    return run.list(std::move(out));
}

void check_utf8(const std::vector<ChatMessage> &messages) {
    for (const ChatMessage &each : messages)
        for (const std::string &text : {each.role, each.content})
            if (const size_t bad = first_invalid_utf8(text); bad != text.size())
                throw Error(ErrorCode::input, in_quotes(text) + ": invalid UTF-8 at offset " + std::to_string(bad));
}

std::string rendered(const Source &source, const Block &block, const std::vector<ChatMessage> &messages,
                     const ChatOptions &options) {
    Run run(source, options.now);
    return run.capture([&] {
        run.in_scope(nullptr, [&] {
            run.set("messages", messages_of(run, messages));
            run.set("add_generation_prompt", options.add_generation_prompt);
            run.set("bos_token", run.text(options.bos_token));
            run.set("eos_token", run.text(options.eos_token));
            for (const char *absent : {"tools", "documents"}) run.set(absent, nullptr);
            for (const auto &[name, json] : options.variables)
                run.set(name, value_of_json(run, JsonText(json, "the variable " + name).root()));
            run.render(block);
        });
    });
}

} // namespace
} // namespace jinja

std::string ChatTemplate::render(const std::vector<ChatMessage> &messages, const ChatOptions &options) const {
    jinja::check_utf8(messages);
    std::string out;
    on_own_stack(stack, [&] { out = jinja::rendered(parts_->source, parts_->block, messages, options); });
    return out;
}

} // namespace lamina
