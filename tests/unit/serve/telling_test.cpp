// Answers as they are told, with their prompts or without.
#include "catch.hpp"

#include "serve/openai_scores.hpp"
#include "serve/telling.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <vector>

using namespace lamina;
using namespace lamina::serve;

namespace {

ScoredToken scored(const std::string &text, double log_probability = -1) { return {{1, text, log_probability}, {}}; }

Echo echo_of(const std::string &text, size_t tokens) {
    return {
        .text = text, .tokens = tokens, .first = {7, "<s>", std::numeric_limits<double>::quiet_NaN()}, .scored = true};
}

} // namespace

TEST_CASE("the tokens of a part of an answer are counted, also where special ones are not in its text") {
    const std::vector<TokenText> texts{{"<s>", "<s>"}, {"a", "a"}, {"b", "b"}, {" c", " c"}, {"bc", "b c"}};
    const Hypothesis answer{.text = "ab c", .tokens = {0, 1, 0, 2, 3}};
    CHECK(tokens_of("ab", answer, texts) == 2);
    CHECK(tokens_of("b c", answer, texts) == 2);
    CHECK(tokens_of("ab c", answer, texts) == 3);
    CHECK(tokens_of("a", {.text = "ab c", .tokens = {1, 4}}, texts) == 1);
    CHECK(tokens_of("b", {.text = "ab c", .tokens = {1, 4}}, texts) == 1); // as far as it is in the part
    CHECK(tokens_of("x", answer, texts) == 0);
    // A space that was cleaned up, and one that a text does not begin with.
    CHECK(tokens_of("abca", {.text = "abca", .tokens = {1, 2, 3, 1}}, texts) == 4);
    CHECK(tokens_of("cab", {.text = "cab", .tokens = {3, 1, 2}}, texts) == 3);
    CHECK(tokens_of("", answer, texts) == 0);
}

TEST_CASE("nothing is known of the first token of a prompt, unless the model begins texts with others") {
    const std::vector<ScoredToken> one = echo_of("a b", 2).scores({scored(" b")});
    REQUIRE(one.size() == 2);
    CHECK((one[0].text == "<s>" && std::isnan(one[0].log_probability) && one[1].text == " b"));
    const std::vector<ScoredToken> all = echo_of("a b", 2).scores({scored("<s>"), scored("a"), scored(" b")});
    REQUIRE(all.size() == 2);
    CHECK((all[0].text == "a" && all[1].text == " b"));
}

TEST_CASE("offsets of a prompt's tokens end where it does, whatever they add to its text") {
    const std::vector<ScoredToken> tokens = echo_of("ä b", 3).scores({scored(" ä"), scored(" b")});
    int64_t offset = offset_before("ä b", tokens);
    const auto told = nlohmann::json::parse(completion_scores(tokens, offset).in_one_line());
    CHECK(told.at("text_offset") == nlohmann::json({0, 0, 1}));
    CHECK(offset == 3);
    CHECK(told.at("token_logprobs").at(0).is_null());
    CHECK(told.at("top_logprobs").at(0).is_null());
    CHECK(told.at("token_logprobs").at(1) == -1);
}

TEST_CASE("a prompt is told with the first part of its answer, or alone") {
    serve::Answer answer;
    answer.hypothesis = {.text = " c d", .tokens = {1, 2}, .finish = Finish::stop};
    answer.options.likeliest = 0;
    answer.hypothesis.scores = {scored(" c"), scored(" d")};
    answer.hypothesis.prompt_scores = {scored(" b")};
    Echo echo = echo_of("a b", 2);
    CHECK(choice_of(std::nullopt, answer, nullptr).text == " c d");
    const Choice both = choice_of(std::nullopt, answer, &echo);
    CHECK((both.text == "a b c d" && both.finish == Finish::stop));
    CHECK(nlohmann::json::parse(both.scores.in_one_line()).at("tokens").size() == 4);
    echo.alone = true;
    const Choice prompt = choice_of(std::nullopt, answer, &echo);
    CHECK((prompt.text == "a b" && prompt.finish == Finish::length));
    CHECK(nlohmann::json::parse(prompt.scores.in_one_line()).at("tokens").size() == 2);
}
