// Prompts in blocks, growing caches, and the effects of options on the output.
#include "all_scores.hpp"
#include "catch.hpp"

#include "api/access.hpp"
#include "generation/decoder.hpp"
#include "generation/sampling.hpp"
#include "generation/stop.hpp"
#include "letters.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"

#include <lamina/lamina.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <set>

using namespace lamina;
using matchers::contains;
using test::runtime;

namespace {

Session letters() { return runtime().session(runtime().load(test::letters()), runtime().device("cpu")); }

} // namespace

TEST_CASE("a prompt in blocks gives the same scores as token by token") {
    Session session = letters();
    detail::SessionState &state = detail::Access::state(session);
    for (const size_t length : {1, 7, 8, 255, 256, 257, 700}) {
        INFO(length << " tokens");
        generation::Ids prompt(length);
        for (size_t i = 0; i < length; ++i) prompt[i] = static_cast<int32_t>(2 + i * 7 % 26);
        const generation::Ids shorter(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>((length + 1) / 2));
        const auto found = [&] {
            generation::Decoder blocks(state, {}, {2, length + 1});
            return test::all_scores(test::step(blocks, {prompt, shorter}));
        }();
        generation::Decoder tokens(state, {}, {2, length + 1});
        std::vector<float> expected(found.size());
        for (size_t i = 0; i < length; ++i) {
            const auto next = test::all_scores(test::step(
                tokens, {{prompt[i]}, i < shorter.size() ? generation::Ids{shorter[i]} : generation::Ids{}}));
            const auto half = static_cast<std::ptrdiff_t>(found.size() / 2);
            if (i + 1 == length) std::copy_n(next.begin(), half, expected.begin());
            if (i + 1 == shorter.size()) std::copy(next.begin() + half, next.end(), expected.begin() + half);
        }
        for (size_t i = 0; i < found.size(); ++i) CHECK_THAT(found[i], matchers::within_abs(expected[i], 1e-4));
    }
}

TEST_CASE("growing caches do not change the generated text") {
    Session session = letters();
    GenerateOptions options;
    options.max_length = 600; // beyond twice what caches begin with
    const auto cached = session.hypotheses({"lamina", "x"}, options);
    options.cached = false;
    const auto whole = session.hypotheses({"lamina", "x"}, options);
    for (size_t i = 0; i < 2; ++i) {
        CHECK(cached[i].front().tokens.size() == 600);
        CHECK(cached[i].front().tokens == whole[i].front().tokens);
        CHECK(cached[i].front().finish == Finish::length);
    }
    options.cached = true;
    options.beams = 2;
    options.max_length = 300;
    const auto beams = session.hypotheses({"lamina"}, options);
    options.cached = false;
    CHECK(session.hypotheses({"lamina"}, options).front().front().tokens == beams.front().front().tokens);
}

TEST_CASE("what a text has in common with the one before is not computed again, and its answer is the same") {
    Session session = letters();
    GenerateOptions again;
    again.reuse = true;
    std::string conversation = "lamina";
    size_t held = 0;
    for (int turn = 0; turn < 14; ++turn) { // until caches have grown
        const Hypothesis found = session.hypotheses({conversation}, again).front().front();
        CHECK(found.text == letters().generate({conversation}).front());
        CHECK(found.reused == held);
        conversation += found.text;
        held = conversation.size(); // with <s>, and without the last letter, which was never given to the decoder
        conversation += "so";
    }
}

TEST_CASE("a text that changes what was said before is computed from there on") {
    Session session = letters();
    GenerateOptions again;
    again.reuse = true;
    const auto reused = [&](const std::string &text) {
        const Hypothesis found = session.hypotheses({text}, again).front().front();
        CHECK(found.text == letters().generate({text}).front());
        return found.reused;
    };
    CHECK(reused("abcdefgh") == 0);
    CHECK(reused("abcdefgh") == 8); // with <s>; the last letter's scores are needed
    CHECK(reused("abcxyz") == 4);
    CHECK(reused("abcdefgh") == 4);
    CHECK(reused("b") == 1);

    CHECK(session.hypotheses({"b"}, {}).front().front().reused == 0); // unless it is asked for
    again.cached = false;
    CHECK(reused("b") == 0);
    again.cached = true;
    CHECK(reused("b") == 0); // nothing is in the caches
    again.beams = 3;
    const auto beams = session.hypotheses({"bcd"}, again).front();
    GenerateOptions alone;
    alone.beams = 3;
    CHECK(beams.front().tokens == letters().hypotheses({"bcd"}, alone).front().front().tokens);
    CHECK(session.hypotheses({"bcd"}, again).front().front().tokens == beams.front().tokens);
}

TEST_CASE("a row that holds much of its text loses nothing while another reads a long one beside it") {
    const auto short_sighted = [] {
        Session session = letters();
        detail::SessionState &state = detail::Access::state(session);
        auto changed = std::make_shared<model::Model>(*state.model);
        changed->generation->context = 40;
        state.model = changed;
        return session;
    };
    Session session = short_sighted();
    GenerateOptions again;
    again.reuse = true;
    const std::string whole(30, 'c');
    CHECK(session.generate({"a", whole}, again) == short_sighted().generate({"a", whole}));
    const std::vector<std::string> longer{"a" + std::string(29, 'x'), whole + "d"};
    const auto found = session.hypotheses(longer, again);
    CHECK(found[0].front().reused == 2);
    CHECK(found[1].front().reused == 31);
    Session fresh = short_sighted();
    for (size_t i = 0; i < 2; ++i) CHECK(found[i].front().text == fresh.generate(longer)[i]);
}

TEST_CASE("the output ends before a stop text, and streaming gives the same text") {
    Session session = letters();
    const std::string whole = session.generate({"lamina"}).front();
    REQUIRE(whole.size() == 20);
    const std::string stop = whole.substr(7, 3);
    const std::string expected = whole.substr(0, whole.find(stop));
    GenerateOptions options;
    options.stop = {"#never", stop};
    std::string streamed;
    bool held = true;
    options.stream = [&](size_t text, std::string_view piece) {
        CHECK(text == 0);
        streamed += piece;
        held = held && expected.starts_with(streamed); // no part of the stop was shown
    };
    const Hypothesis found = session.hypotheses({"lamina"}, options).front().front();
    CHECK(found.text == expected);
    CHECK(found.finish == Finish::stop);
    CHECK(streamed == expected);
    CHECK(held);

    options.stop.clear();
    std::vector<std::string> pieces(2);
    options.stream = [&](size_t text, std::string_view piece) { pieces[text] += piece; };
    CHECK(session.generate({"lamina", "xy"}, options) == pieces);
    options.stop = {""};
    CHECK_THAT(message_of([&] { (void)session.generate({"a"}, options); }), contains("stop: expected texts"));
    options.stop.clear(), options.beams = 2;
    CHECK_THAT(message_of([&] { (void)session.generate({"a"}, options); }),
               contains("beams: expected 1, because a text is streamed, found 2"));
}

TEST_CASE("streaming holds back text that may become a stop text") {
    CHECK(generation::safe_length("say st", {"stop", "toast"}) == 4);
    CHECK(generation::safe_length("say sta", {"stop", "a!"}) == 6);
    CHECK(generation::safe_length("say stop it", {"stop"}) == 4);
    CHECK(generation::safe_length("say", {}) == 3);
    CHECK(generation::safe_length("", {"stop"}) == 0);
}

TEST_CASE("a penalty on repetition makes tokens that occurred less likely") {
    std::array<float, 5> scores{2, -2, 1, 0.5F, -1};
    generation::Ids occurred{1, 0, 7, 1};
    generation::penalize(scores, occurred, 2);
    CHECK(scores == std::array<float, 5>{1, -4, 1, 0.5F, -1});
    generation::penalize(scores, occurred, 1);
    CHECK(scores[1] == -4);

    Session session = letters();
    GenerateOptions options;
    options.max_length = 26;
    options.repetition_penalty = 50; // no letter that occurred is chosen again while there are others
    const std::string text = session.generate({"a"}, options).front();
    CHECK(std::set<char>(text.begin(), text.end()).size() > 20);
    options.repetition_penalty = 0.01; // scores stay finite
    CHECK(message_of([&] { (void)session.generate({"a"}, options); }).empty());
    options.repetition_penalty = 1e-300;
    CHECK_THAT(message_of([&] { (void)session.generate({"a"}, options); }),
               contains("repetition_penalty: expected a number from 0.01 to 100"));
}

TEST_CASE("min_p samples only among tokens that are likely enough") {
    const std::array<double, 4> log_probabilities{std::log(0.5), std::log(0.3), std::log(0.15), std::log(0.05)};
    const generation::Likeliest tokens{log_probabilities};
    GenerateOptions options;
    generation::SampleMemory memory;
    std::vector<double> room;
    options.temperature = 1;
    CHECK(generation::draw(tokens, options, {0.99}, memory, room) == 3);
    options.min_p = 0.2; // of 0.5: 0.1
    CHECK(generation::draw(tokens, options, {0.999}, memory, room) == 2);
    options.min_p = 0.5;
    CHECK(generation::draw(tokens, options, {0.999}, memory, room) == 1);
    CHECK(generation::draw(tokens, options, {0.5}, memory, room) == 0);
    options.min_p = 1;
    CHECK(generation::draw(tokens, options, {0.999}, memory, room) == 0);
}

// Candidates may leave a draw open, but what they determine is what all tokens would.
TEST_CASE("a token that is drawn from the likeliest is the one that is drawn from all") {
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    generation::SampleMemory memory;
    std::vector<double> room;
    for (const double deviation : {0.5, 2.0, 6.0}) {
        std::vector<double> all(3000);
        for (double &v : all) v = deviation * normal(random);
        std::ranges::sort(all, std::greater<>());
        double sum = 0;
        for (const double v : all) sum += std::exp(v);
        for (double &v : all) v -= std::log(sum);
        for (const double temperature : {0.3, 0.9, 1.0, 1.1, 3.0})
            for (const double top_p : {1.0, 0.9, 0.4})
                for (const double min_p : {0.0, 0.05}) {
                    GenerateOptions options;
                    options.temperature = temperature, options.top_p = top_p, options.min_p = min_p;
                    INFO(deviation << ", temperature " << temperature << ", top_p " << top_p << ", min_p " << min_p);
                    size_t drawn = 0;
                    for (size_t i = 0; i < 50; ++i) {
                        const double chance = generation::uniform(1, i, 0, 0);
                        const auto expected = generation::draw({all}, options, {chance}, memory, room);
                        REQUIRE(expected);
                        const std::span known = std::span<const double>(all).first(64);
                        const auto found = generation::draw({known, all.size() - 64}, options, {chance}, memory, room);
                        if (!found) continue;
                        CHECK(*found == *expected);
                        ++drawn;
                    }
                    if (deviation == 6 && temperature <= 1) CHECK(drawn > 40); // nearly all of the probability is known
                    if (deviation < 1 && temperature >= 1 && min_p == 0) CHECK(drawn < 40);
                }
    }
}

TEST_CASE("suppressed tokens are never chosen; some are only suppressed at the beginning") {
    Session session = letters();
    const std::string whole = session.generate({"lamina"}).front();
    detail::SessionState &state = detail::Access::state(session);
    auto changed = std::make_shared<model::Model>(*state.model);
    const int32_t first = *changed->generation->target->id(whole.substr(0, 1));
    changed->tokens.suppress = {first};
    state.model = changed;
    CHECK(session.generate({"lamina"}).front().find(whole[0]) == std::string::npos);
    changed->tokens.suppress.clear();
    changed->tokens.begin_suppress = {first};
    const std::string later = session.generate({"lamina"}).front();
    CHECK(later[0] != whole[0]);
    changed->tokens.end = {*changed->generation->target->id(later.substr(3, 1))};
    std::string streamed;
    GenerateOptions options;
    options.stream = [&](size_t, std::string_view piece) { streamed += piece; };
    const Hypothesis ended = session.hypotheses({"lamina"}, options).front().front();
    CHECK(ended.finish == Finish::end);
    CHECK(ended.text == later.substr(0, later.find(later[3])));
    CHECK(streamed == ended.text);
}
