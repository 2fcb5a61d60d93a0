// Templates that know the content of a message only as a list of parts, as those of LLaVA, Idefics3 and SmolVLM do.
#include "catch.hpp"

#include <lamina/chat_template.hpp>

using namespace lamina;

namespace {

// As SmolVLM's: looks into the first part, and goes through all.
const char *in_order = "<s>{% for message in messages %}{{ message['role'] | capitalize }}"
                       "{% if message['content'][0]['type'] == 'image' %}{{ ':' }}{% else %}{{ ': ' }}{% endif %}"
                       "{% for line in message['content'] %}{% if line['type'] == 'text' %}{{ line['text'] }}"
                       "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}</e>\n"
                       "{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}";

// As LLaVA's: filters the parts by their types.
const char *by_type =
    "{% for message in messages %}{{ message['role'].upper() + ': ' }}"
    "{% for part in message['content'] | selectattr('type', 'equalto', 'image') %}{{ '<image>\n' }}{% endfor %}"
    "{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}"
    "{% generation %}{{ part['text'] + ' ' }}{% endgeneration %}{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}";

std::string rendered(const char *text, const std::string &messages) {
    ChatOptions options;
    options.variables["messages"] = messages;
    return ChatTemplate::parse(text).render({}, options);
}

} // namespace

TEST_CASE("templates that know only parts lose nothing of a conversation") {
    const std::vector<ChatMessage> messages{{"system", "Be brief."},
                                            {"user", "What is it?", 2},
                                            {"assistant", "A cat."},
                                            {"user", "Which colour?"},
                                            {"assistant", ""}};
    const auto smol = ChatTemplate::parse(in_order), llava = ChatTemplate::parse(by_type);
    ChatOptions begun;
    begun.bos_token = "<b>";
    CHECK(ChatTemplate::parse(std::string("{{ bos_token + '' }}") + in_order).render({{"user", "Hi"}}, begun) ==
          "<b><s>User: Hi</e>\nAssistant:");
    for (int time = 0; time < 2; ++time) { // what was found out at first is remembered
        CHECK(smol.render(messages) == "<s>System: Be brief.</e>\nUser:<image><image>What is it?</e>\n"
                                       "Assistant: A cat.</e>\nUser: Which colour?</e>\nAssistant: </e>\nAssistant:");
        CHECK(llava.render(messages) == "SYSTEM: Be brief. USER: <image>\n<image>\nWhat is it? ASSISTANT: A cat. "
                                        "USER: Which colour? ASSISTANT:  ASSISTANT:");
    }
}

TEST_CASE("templates that know only parts get messages that are given as JSON so, too") {
    const std::string messages = R"([{"role": "user", "content": [{"type": "text", "text": "See "}, {"type": "image"}]},
                                     {"content": "A dog.", "name": "w", "role": "assistant"},
                                     {"role": "tool", "content": "4 °C"}])";
    CHECK(rendered(in_order, messages) ==
          "<s>User: See <image></e>\nAssistant: A dog.</e>\nTool: 4 °C</e>\nAssistant:");
    CHECK(rendered(by_type, messages) == "USER: <image>\nSee  ASSISTANT: A dog. TOOL: 4 °C ASSISTANT:");
    // What else is in a message stays as it is.
    const char *keys =
        "{% for m in messages %}{% for part in m.content %}{{ part.text }}{% endfor %} {{ m | list }}{% endfor %}";
    CHECK(rendered(keys, R"([{"content": "A", "role": "user", "name": "w"}, {"role": "user"}])") ==
          "A ['content', 'role', 'name'] ['role']");
    const char *first =
        "{% if messages is string %}{{ messages }}{% else %}{{ messages[0].content[0].text }}{% endif %}";
    CHECK(rendered(first, R"([{"role": "user", "content": "A"}])") == "A");
    CHECK(rendered(first, R"("none")") == "none");
}

TEST_CASE("templates that know strings get strings") {
    const char *either = "{% for m in messages %}{% if m.content is string %}({{ m.content }}){% else %}"
                         "{% for part in m.content %}[{{ part.text }}]{% endfor %}{% endif %}{% endfor %}";
    CHECK(ChatTemplate::parse(either).render({{"user", "A"}, {"assistant", "B"}}) == "(A)(B)");
    CHECK(ChatTemplate::parse("{{ messages[0].content }}").render({{"user", "A"}}) == "A");
    // This one writes no texts of either kind, and this one fails for both.
    CHECK(ChatTemplate::parse("{{ messages[0].content is string }}").render({{"user", "A"}}) == "True");
    const char *demanding = "{% if messages[0].role != 'system' %}{{ raise_exception('No rules') }}{% endif %}"
                            "{{ messages[0].content is string }}";
    CHECK(ChatTemplate::parse(demanding).render({{"system", "A"}}) == "True");
}
