// How well a model foresees a text, beside the scores of its tokens one by one.
#include "all_scores.hpp"
#include "catch.hpp"

#include "api/access.hpp"
#include "generation/decoder.hpp"
#include "letters.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"

#include <lamina/measure.hpp>
#include <lamina/texts.hpp>

#include <cmath>

using namespace lamina;
using matchers::contains;
using test::runtime;

namespace {

Session letters_on(const char *device) {
    return runtime().session(runtime().load(test::letters()), runtime().device(device));
}

// -ln p of each token after those before it in its window, in double, from steps of one token.
std::vector<double> surprises(Session &session, const std::vector<int32_t> &ids, size_t window) {
    detail::SessionState &state = detail::Access::state(session);
    std::vector<double> out;
    for (size_t begin = 0; begin < ids.size(); begin += window) {
        generation::Decoder decoder(state, {}, {1, window});
        for (size_t i = begin; i + 1 < std::min(begin + window, ids.size()); ++i) {
            const auto scores = test::all_scores(test::step(decoder, {{ids[i]}}));
            double sum = 0;
            for (const float score : scores) sum += std::exp(double{score});
            out.push_back(std::log(sum) - scores[static_cast<size_t>(ids[i + 1])]);
        }
    }
    return out;
}

} // namespace

TEST_CASE("a perplexity is exp of the mean surprise, in whole windows and in a last one that is short") {
    const std::string text = "thequickbrownfoxjumpsoverthelazydog";
    Session session = letters_on("cpu");
    std::vector<int32_t> ids = {};
    for (const auto &start : detail::Access::state(session).model->tokens.start) ids.push_back(start.front());
    const auto of_text = tokenize(runtime().load(test::letters()), {text}).ids.at(0);
    ids.insert(ids.end(), of_text.begin(), of_text.end());
    for (const size_t window : {size_t{2}, size_t{10}, ids.size() - 1, ids.size(), ids.size() + 5}) {
        INFO("windows of " << window << " of " << ids.size() << " tokens");
        const std::vector<double> all = surprises(session, ids, window);
        double mean = 0, variance = 0;
        for (const double s : all) mean += s / static_cast<double>(all.size());
        for (const double s : all) variance += (s - mean) * (s - mean) / static_cast<double>(all.size() - 1);
        std::vector<size_t> done;
        PerplexityOptions options;
        options.window = window;
        options.progress = [&](size_t so_far, size_t tokens) {
            CHECK(tokens == ids.size());
            done.push_back(so_far);
        };
        const Perplexity found = measure_perplexity(session, text, options);
        CHECK(found.tokens == all.size());
        CHECK_THAT(found.value, matchers::within_abs(std::exp(mean), 1e-5));
        CHECK_THAT(found.error,
                   matchers::within_abs(std::exp(mean) * std::sqrt(variance / static_cast<double>(all.size())), 1e-4));
        CHECK(done.back() == ids.size());
        Session reference = letters_on("reference");
        CHECK_THAT(measure_perplexity(reference, text, options).value, matchers::within_abs(found.value, 1e-5));
    }
}

TEST_CASE("a perplexity is that of the dtype in which a session keeps keys and values") {
    const auto with = [](DType cache) {
        SessionOptions options;
        options.cache = cache;
        Session session = runtime().session(runtime().load(test::letters()), runtime().device("cpu"), options);
        return measure_perplexity(session, "thequickbrownfoxjumpsoverthelazydog", {.window = 16}).value;
    };
    const double exact = with(DType::f32), half = with(DType::f16);
    CHECK(half != exact);
    CHECK_THAT(half, matchers::within_abs(exact, 0.05));
}

TEST_CASE("what has no perplexity is refused") {
    Session session = letters_on("cpu");
    const auto refusal = [&](const std::string &text, size_t window) {
        PerplexityOptions options;
        options.window = window;
        return message_of([&] { (void)measure_perplexity(session, text, options); });
    };
    CHECK_THAT(refusal("abc", 1), contains("a window of 1 tokens: expected 2 to "));
    CHECK_THAT(refusal("abc", size_t{1} << 40), contains("expected 2 to "));
    Session g2p = runtime().session(runtime().load(LAMINA_SOURCE_DIR "/models/g2p"), runtime().device("cpu"));
    CHECK_THAT(message_of([&] { (void)measure_perplexity(g2p, "abc"); }), contains("has an encoder"));
}
