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

ChatTemplate ChatTemplate::parse(std::string_view text, std::string name) {
    jinja::Source source(text, std::move(name));
    jinja::Block block = jinja::parse_template(source);
    return ChatTemplate(std::make_shared<const Parts>(Parts{std::move(source), std::move(block)}));
}

namespace jinja {
namespace {

Value messages_of(Run &run, const std::vector<ChatMessage> &messages) {
    std::vector<Value> out;
    for (const ChatMessage &each : messages)
        out.push_back(run.dict({{"role", run.text(each.role)}, {"content", run.text(each.content)}}));
    return run.list(std::move(out));
}

void check_utf8(const std::vector<ChatMessage> &messages) {
    for (const ChatMessage &each : messages)
        for (const std::string &text : {each.role, each.content})
            if (const size_t bad = first_invalid_utf8(text); bad != text.size())
                throw Error(ErrorCode::input, in_quotes(text) + ": invalid UTF-8 at offset " + std::to_string(bad));
}

} // namespace
} // namespace jinja

std::string ChatTemplate::render(const std::vector<ChatMessage> &messages, const ChatOptions &options) const {
    using jinja::Value;
    jinja::check_utf8(messages);
    jinja::Run run(parts_->source, options.now);
    return run.capture([&] {
        run.in_scope(nullptr, [&] {
            run.set("messages", jinja::messages_of(run, messages));
            run.set("add_generation_prompt", options.add_generation_prompt);
            run.set("bos_token", run.text(options.bos_token));
            run.set("eos_token", run.text(options.eos_token));
            for (const char *absent : {"tools", "documents"}) run.set(absent, nullptr);
            for (const auto &[name, json] : options.variables)
                run.set(name, jinja::value_of_json(run, JsonText(json, "the variable " + name).root()));
            run.render(parts_->block);
        });
    });
}

} // namespace lamina
