// The limits of templates, and their error messages.
#include "base/own_stack.hpp"
#include "catch.hpp"

#include <lamina/chat_template.hpp>

using namespace lamina;

namespace {

std::string rendered(const std::string &text) { return ChatTemplate::parse(text, "t.jinja").render({{"user", "Hi"}}); }
std::string refusal(const std::string &text) {
    return message_of([&] { static_cast<void>(rendered(text)); });
}

std::string repeated(const std::string &text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
}

} // namespace

TEST_CASE("a conversation and its options reach the template") {
    ChatOptions options;
    options.add_generation_prompt = false;
    options.bos_token = "<s>";
    options.eos_token = "</s>";
    options.variables = {{"thinking", "false"}, {"tools", R"([{"name": "now"}])"}};
    const auto text =
        ChatTemplate::parse("{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}"
                            "{% endfor %}{{ thinking }}{{ tools[0].name }}{{ add_generation_prompt }}")
            .render({{"user", "Hi"}, {"assistant", "é"}}, options);
    CHECK(text == "<s>user: Hi</s>assistant: é</s>FalsenowFalse");
    CHECK(rendered("{{ bos_token is defined }}{{ eos_token is defined }}{{ bos_token }}") == "FalseFalse");
    CHECK_THAT(refusal("{{ bos_token + 'a' }}"), matchers::contains("bos_token"));
}

TEST_CASE("errors name the template, the line and the column, and show the line") {
    CHECK(refusal("a\n{{ x | nope }}") ==
          "t.jinja:2:8: " + refusal("{{ x | nope }}").substr(std::string("t.jinja:1:8: ").size()));
    CHECK_THAT(refusal("{{ x | lenght }}"),
               matchers::contains("the filter 'lenght' is not supported; did you mean 'length'?; "
                                  "supported: capitalize,"));
    CHECK_THAT(refusal("{{ 1 is nope }}"), matchers::contains("the test 'nope' is not supported"));
    CHECK_THAT(refusal("{% include 'x' %}"),
               matchers::contains("t.jinja:1:4: the tag 'include' is not supported; supported: set, if, for,"));
    CHECK_THAT(refusal("{{ 'a'.zfill(2) }}"), matchers::contains("'a' has no method 'zfill'; supported: capitalize,"));
    CHECK_THAT(refusal("{{ messages[0].tool.name }}"), matchers::contains("has no 'tool', so it has no 'name'"));
    CHECK_THAT(refusal("éé{{ raise_exception('Roles must alternate') }}"),
               matchers::contains("t.jinja:1:21: the template raised an error: Roles must alternate, in 'éé{{"));
    CHECK_THAT(refusal("{% if true %}"), matchers::contains("found the end of the template"));
}

TEST_CASE("text that is not UTF-8 is refused") {
    CHECK_THAT(refusal("a\xFF"), matchers::contains("t.jinja: invalid UTF-8 at offset 1"));
    CHECK_THAT(message_of([] {
                   static_cast<void>(ChatTemplate::parse("").render({{"user", "\xC3"}}));
               }),
               matchers::contains("invalid UTF-8 at offset 0"));
}

TEST_CASE("a template can neither hang nor exhaust memory") {
    const std::string forever = "{% for a in range(99999) %}{% for b in range(99999) %}";
    CHECK_THAT(refusal(forever + "{% endfor %}{% endfor %}"), matchers::contains("steps"));
    CHECK_THAT(refusal(forever + "aaaaaaaaaaaaaaaaaaaaaaaa{% endfor %}{% endfor %}"),
               matchers::contains("the output is longer"));
    CHECK_THAT(refusal("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), matchers::contains("deep"));
    CHECK_THAT(refusal("{{ 'a' * 99999999999 }}"), matchers::contains("t.jinja:1:8"));
    CHECK_THAT(refusal("{{ [1] * 999999999 }}"), matchers::contains("steps"));
    CHECK_THAT(refusal("{{ range(100001) }}"), matchers::contains("at most 100000"));
    const std::string grows = "{% set ns = namespace(v=[1, 2]) %}{% for a in range(9999) %}";
    CHECK_THAT(refusal(grows + "{% set ns.v = [ns.v, ns.v] %}{% endfor %}"), matchers::contains("nest"));
    CHECK_THAT(refusal(grows + "{% set ns.v = ns.v + ns.v %}{% endfor %}"), matchers::contains("steps"));
    CHECK_THAT(
        refusal("{% set ns = namespace(v=[1, 2]) %}{% for a in range(90) %}{% set ns.v = [ns.v, ns.v] %}{% endfor %}"
                "{{ ns.v }}"),
        matchers::contains("steps"));
    CHECK_THAT(
        refusal("{% set ns = namespace(v='ab') %}{% for a in range(99) %}{% set ns.v = ns.v ~ ns.v %}{% endfor %}"),
        matchers::contains("bytes"));
}

TEST_CASE("syntax that nests too deep is refused while parsing") {
    constexpr int deep = 2000, long_chain = 100'000;
    CHECK_THAT(refusal("{{ " + repeated("(", deep) + "1" + repeated(")", deep) + " }}"), matchers::contains("deep"));
    CHECK_THAT(refusal("{{ " + repeated("[", deep) + repeated("]", deep) + " }}"), matchers::contains("deep"));
    CHECK_THAT(refusal("{{ " + repeated("not ", deep) + "a }}"), matchers::contains("deep"));
    CHECK_THAT(refusal("{{ " + repeated("-", deep) + "1 }}"), matchers::contains("deep"));
    CHECK_THAT(refusal("{{ 1" + repeated(" + 1", long_chain) + " }}"), matchers::contains("tokens"));
    CHECK_THAT(refusal("{{ a" + repeated("|trim", long_chain) + " }}"), matchers::contains("tokens"));
    CHECK_THAT(refusal(repeated("{% if true %}", deep)), matchers::contains("deep"));
    CHECK(rendered("{{ 0" + repeated(" + 1", 500) + " }}") == "500");
}

TEST_CASE("the deepest templates are read, run and destroyed on a small stack") {
    lamina::on_own_stack(64u << 10, [] {
        const std::string sum = "{{ 1" + repeated(" + 1", 1400) + " }}";
        CHECK(rendered(sum) == "1401");
        CHECK(refusal("{{ 1" + repeated(" + 1", 2400) + " }}").find("nest more than") != std::string::npos);
        CHECK(rendered("{{ " + repeated("(", 90) + "1" + repeated(")", 90) + " }}") == "1");
        CHECK_THAT(refusal("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), matchers::contains("nest more than"));
    });
}
