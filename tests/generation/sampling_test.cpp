// What decides which token is drawn, and what makes tokens less likely.
#include "catch.hpp"

#include "generation/filters.hpp"
#include "generation/processors.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"

#include "api/access.hpp"

#include <lamina/batch.hpp>
#include <lamina/sampling.hpp>
#include <lamina/transformer.hpp>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

using namespace lamina;
using generation::Ids;
using test::runtime;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// An untrained language model, whose token N is "tN".
ModelDescription of_words() {
    std::vector<std::string> tokens{"<s>", "</s>"};
    while (tokens.size() < 40) tokens.push_back("t" + std::to_string(tokens.size()));
    const DecoderOnly model{.embedding = {.d_model = 16, .vocabulary = 40},
                            .decoder = {.layer = {.d_model = 16, .heads = 2, .ffn = 32}, .layers = 1},
                            .generator = {.d_model = 16, .vocabulary = 40, .output = Generator::Output::logits}};
    const TextVocabularies text{.target = tokens, .max_length = 12};
    return build(model, {.name = "words", .seed = 5, .text = text});
}

// Which of these tokens are left, by their probabilities.
std::vector<size_t> left(const std::vector<double> &probabilities, const GenerateOptions &options, double chance = 0) {
    std::vector<double> logs, weights(probabilities);
    for (const double p : probabilities) logs.push_back(std::log(p));
    generation::leave_out({weights, logs, 1, chance}, options);
    std::vector<size_t> out;
    for (size_t i = 0; i < weights.size(); ++i)
        if (weights[i] != 0) out.push_back(i);
    return out;
}

// What is added to the scores of a text's next token.
std::vector<float> changes(const GenerateOptions &given, const Ids &tokens, size_t prefix) {
    static const Model model = runtime().load(of_words());
    const model::Model &content = *detail::Access::model(model);
    GenerateOptions options = given;
    options.repetition_penalty = 1;
    const generation::Processors processors(content, options);
    std::vector<float> scores(40, 0);
    Ids room;
    processors.apply(scores, {.tokens = tokens, .prefix = prefix, .longest = 99, .source = {}}, room);
    return scores;
}

std::map<size_t, float> changed(const std::vector<float> &scores) {
    std::map<size_t, float> out;
    for (size_t i = 0; i < scores.size(); ++i)
        if (scores[i] != 0) out.emplace(i, scores[i]);
    return out;
}

} // namespace

TEST_CASE("sampling: XTC leaves out all but the last of those that are likely enough, as often as it is wanted") {
    const std::vector<double> probabilities{0.4, 0.3, 0.2, 0.06, 0.04};
    GenerateOptions options;
    options.xtc_probability = 0.5, options.xtc_threshold = 0.15;
    CHECK(left(probabilities, options, 0.49) == std::vector<size_t>{2, 3, 4});
    CHECK(left(probabilities, options, 0.5) == std::vector<size_t>{0, 1, 2, 3, 4});
    options.xtc_threshold = 0.35; // only one is
    CHECK(left(probabilities, options, 0) == std::vector<size_t>{0, 1, 2, 3, 4});
    options.xtc_threshold = 0.25, options.top_k = 2; // of what the others leave: 4/7 and 3/7
    CHECK(left(probabilities, options, 0) == std::vector<size_t>{1});
}

TEST_CASE("sampling: top_n_sigma keeps what is near the best, whatever the temperature") {
    const std::vector<double> scores{0, -1, -2, -3, -14}; // mean -4, standard deviation 5.099
    std::vector<double> probabilities;
    for (const double s : scores) probabilities.push_back(std::exp(s));
    GenerateOptions options;
    options.top_n_sigma = 0.4; // 2.04
    CHECK(left(probabilities, options) == std::vector<size_t>{0, 1, 2});
    options.top_n_sigma = 0.39; // 1.99
    CHECK(left(probabilities, options) == std::vector<size_t>{0, 1});
    options.top_n_sigma = 1e-9;
    CHECK(left(probabilities, options) == std::vector<size_t>{0});
}

TEST_CASE("sampling: frequency and presence of tokens in the answer alone make them less likely") {
    GenerateOptions options;
    options.frequency_penalty = 0.5, options.presence_penalty = 0.25;
    CHECK(changed(changes(options, {7, 7, 9, 8, 9}, 2)) == std::map<size_t, float>{{8, -0.75F}, {9, -1.25F}});
    options.frequency_penalty = -1, options.presence_penalty = 0; // favours them
    CHECK(changed(changes(options, {7, 8, 8}, 1)) == std::map<size_t, float>{{8, 2.0F}});
}

TEST_CASE("sampling: DRY makes tokens less likely that repeat longer sequences, the longer the less") {
    GenerateOptions options;
    options.dry_multiplier = 2, options.dry_base = 3, options.dry_allowed_length = 2;
    CHECK(changed(changes(options, {5, 6, 7, 8, 5}, 1)).empty()); // 5, then 6: one token that was there before
    CHECK(changed(changes(options, {5, 6, 7, 8, 5, 6}, 1)) == std::map<size_t, float>{{7, -2.0F}});
    CHECK(changed(changes(options, {5, 6, 7, 8, 5, 6, 7}, 1)) == std::map<size_t, float>{{8, -6.0F}});
    // Of several sequences, the longest counts; other tokens have their own.
    CHECK(changed(changes(options, {4, 5, 6, 7, 5, 6, 9, 4, 5, 6}, 0)) ==
          std::map<size_t, float>{{7, -6.0F}, {9, -2.0F}});
    options.dry_breakers = {"t5"}; // sequences begin behind it
    CHECK(changed(changes(options, {4, 5, 6, 7, 9, 4, 5, 6}, 0)).empty());
    CHECK(changed(changes(options, {4, 6, 5, 9, 4, 6}, 0)).empty()); // nor does it become less likely
    options.dry_breakers = {};
    CHECK(changed(changes(options, {4, 6, 5, 9, 4, 6}, 0)) == std::map<size_t, float>{{5, -2.0F}});
    Ids same(500, 3);
    CHECK(changes(options, same, 0)[3] == -1e30F); // finite
}

TEST_CASE("sampling: biases are added, and -infinity excludes") {
    GenerateOptions options;
    options.biases = {{3, 1.5}, {4, -infinite}};
    CHECK(changed(changes(options, {5}, 1)) ==
          std::map<size_t, float>{{3, 1.5F}, {4, -std::numeric_limits<float>::infinity()}});
    Session session = runtime().session(runtime().load(of_words()), runtime().device("cpu"));
    GenerateOptions forced;
    forced.biases = {{17, 1000}}, forced.max_length = 3;
    CHECK(session.generate({"t5"}, forced).front() == "t17 t17 t17");
    Batch batch(session, {.slots = 2});
    batch.add("t5", forced);
    std::string text;
    while (!batch.empty())
        for (const auto &each : batch.step()) text += each.piece;
    CHECK_THAT(text, matchers::contains("t17 t17 t17"));
    forced.biases = {{40, 1}};
    CHECK_THAT(message_of([&] { (void)session.generate({"t5"}, forced); }),
               matchers::contains("biases: token 40: the model's tokens are 0 to 39"));
    forced.biases = {{4, infinite}};
    CHECK_THAT(message_of([&] { (void)session.generate({"t5"}, forced); }),
               matchers::contains("biases: token 4: expected"));
}

TEST_CASE("sampling: a text does not end before its least length, and never where ends are ignored") {
    Session session = runtime().session(runtime().load(of_words()), runtime().device("cpu"));
    GenerateOptions options;
    options.biases = {{1, 1000}}; // the end
    const auto length = [&] { return session.hypotheses({"t5"}, options).front().front().tokens.size(); };
    CHECK(length() == 0);
    options.min_length = 4;
    CHECK(length() == 4);
    options.ignore_end = true, options.max_length = 7;
    CHECK(length() == 7);
    options.min_length = 8;
    CHECK_THAT(message_of([&] { (void)length(); }),
               matchers::contains("min_length: expected 0 up to max_length, found 8"));
}

// By the list alone, so that a number that is added to it is tested, too.
TEST_CASE("sampling: every number is refused outside of its bounds, and reads back what it was set to") {
    Session session = runtime().session(runtime().load(of_words()), runtime().device("cpu"));
    for (const SamplingOption &option : sampling_options) {
        INFO(option.name);
        GenerateOptions options;
        for (const double wrong : {option.least - 1, option.most + 1, std::nan("")}) {
            if (option.is_whole() && !(wrong > 0)) continue; // a size_t cannot be
            option.set(options, wrong);
            CHECK_THAT(message_of([&] { (void)session.generate({"t5"}, options); }),
                       matchers::contains(std::string(option.name) + ": expected " + option.expected()));
        }
        options = {};
        option.set(options, option.most);
        CHECK(option.of(options) == option.most);
        CHECK(option.takes(option.most));
        CHECK(option.takes(option.least) == !option.above);
        CHECK(message_of([&] { (void)session.generate({"t5"}, options); }).empty());
    }
}

// ---- How likely tokens were ----

namespace {

// Log probabilities of the next token of a text, from the graph itself.
std::vector<double> expected_after(Session &session, const Ids &tokens) {
    const auto n = static_cast<int64_t>(tokens.size());
    const model::Generation &g = *detail::Access::state(session).model->generation;
    TensorMap inputs;
    inputs.emplace(g.target_ids, Tensor::of({1, n}, tokens));
    inputs.emplace(g.position, Tensor::of({1}, std::vector<int32_t>{0}));
    const Tensor scores = session.run(g.decode, inputs).at(g.scores);
    const auto last = scores.f32().last(40);
    double sum = 0;
    for (const float s : last) sum += std::exp(double{s});
    std::vector<double> out;
    for (const float s : last) out.push_back(s - std::log(sum));
    return out;
}

// Of tokens that follow others.
void check_scores(Session &session, const std::vector<ScoredToken> &scores, size_t likeliest, Ids tokens,
                  const Ids &following) {
    REQUIRE(scores.size() == following.size());
    for (size_t i = 0; i < scores.size(); ++i) {
        const ScoredToken &score = scores[i];
        const std::vector<double> expected = expected_after(session, tokens);
        CHECK(score.token == following[i]);
        CHECK_THAT(score.text, matchers::contains("t" + std::to_string(score.token)));
        CHECK_THAT(score.log_probability, matchers::within_abs(expected[static_cast<size_t>(score.token)], 1e-4));
        REQUIRE(score.likeliest.size() == likeliest);
        std::vector<double> sorted(expected);
        std::ranges::sort(sorted, std::greater<>());
        for (size_t k = 0; k < likeliest; ++k) {
            const auto token = static_cast<size_t>(score.likeliest[k].token);
            CHECK_THAT(score.likeliest[k].log_probability, matchers::within_abs(sorted[k], 1e-4));
            CHECK_THAT(expected[token], matchers::within_abs(sorted[k], 1e-4));
        }
        tokens.push_back(score.token);
    }
}

Ids starting(Session &session, const Ids &prompt) {
    Ids out;
    for (const Ids &start : detail::Access::state(session).model->tokens.start) out.push_back(start.front());
    out.insert(out.end(), prompt.begin(), prompt.end());
    return out;
}

void check_scores(Session &session, const Hypothesis &found, size_t likeliest, const Ids &prompt) {
    check_scores(session, found.scores, likeliest, starting(session, prompt), found.tokens);
}

// Prompts of so many words of of_words().
Ids prompt_of(size_t count) {
    Ids out;
    for (size_t i = 0; i < count; ++i) out.push_back(static_cast<int32_t>(3 + i * i % 37));
    return out;
}

std::string words_of(const Ids &ids) {
    std::string out;
    for (const int32_t word : ids) out += (out.empty() ? "t" : " t") + std::to_string(word);
    return out;
}

} // namespace

TEST_CASE("sampling: how likely tokens were is what the graph says, whatever else is asked for, on every device") {
    for (const Device &device : runtime().devices()) {
        if (!device.unusable.empty() || device.id == "reference") continue;
        INFO(device.id);
        Session session = runtime().session(runtime().load(of_words()), device);
        const auto with = [](const auto &change) {
            GenerateOptions options;
            options.likeliest = 3, options.max_length = 4, options.seed = 3;
            change(options);
            return options;
        };
        for (const GenerateOptions &options :
             {with([](auto &) {}), with([](auto &o) { o.beams = 3; }), with([](auto &o) { o.temperature = 2; }),
              with([](auto &o) { o.temperature = 3, o.beams = 2; }), with([](auto &o) { o.likeliest = 0; }),
              with([](auto &o) { o.temperature = 1, o.beams_compete = true, o.beams = 2; }),
              with([](auto &o) { o.presence_penalty = 2, o.repetition_penalty = 5; }),
              with([](auto &o) { o.grammar = Grammar::regex(" t1[0-9] t7 t[23]"); })}) {
            INFO("beams " << options.beams.value_or(1) << ", temperature " << options.temperature << ", likeliest "
                          << *options.likeliest << (options.grammar ? ", with a grammar" : ""));
            const auto found = session.hypotheses({"t5"}, options);
            for (const Hypothesis &each : found.front()) check_scores(session, each, *options.likeliest, {5});
        }
        CHECK(session.hypotheses({"t5"}).front().front().scores.empty());
    }
}

TEST_CASE("sampling: a batch tells how likely tokens were while it writes") {
    Session session = runtime().session(runtime().load(of_words()), runtime().device("cpu"));
    Batch batch(session, {.slots = 2});
    GenerateOptions options;
    options.likeliest = 2, options.max_length = 5;
    batch.add("t5", options);
    batch.add("t6");
    std::vector<ScoredToken> told;
    std::optional<Hypothesis> found;
    size_t others = 0;
    while (!batch.empty())
        for (Batch::Progress &each : batch.step()) {
            if (each.id != 1) others += each.scores.size();
            if (each.id != 1) continue;
            std::ranges::move(each.scores, std::back_inserter(told));
            if (each.finished) found = std::move(each.finished);
        }
    CHECK(others == 0);
    REQUIRE(found);
    REQUIRE(told.size() == found->scores.size());
    for (size_t i = 0; i < told.size(); ++i) CHECK(told[i].log_probability == found->scores[i].log_probability);
    check_scores(session, *found, 2, {5});
}

// In parts or not, alone or beside others, in the first row and others.
TEST_CASE("sampling: how likely the tokens of prompts were is what the graph says, on every device") {
    for (const Device &device : runtime().devices()) {
        if (!device.unusable.empty() || device.id == "reference") continue;
        INFO(device.id);
        Session session = runtime().session(runtime().load(of_words()), device);
        GenerateOptions options;
        options.likeliest = 2, options.max_length = 2, options.prompt_scores = true, options.reuse = true;
        const std::vector<size_t> lengths{1, 2, 7, 24, 13};
        const auto check = [&](const Hypothesis &found, size_t length) {
            INFO(length << " tokens");
            const Ids all = starting(session, prompt_of(length));
            check_scores(session, found.prompt_scores, 2, {all.front()}, Ids(all.begin() + 1, all.end()));
            check_scores(session, found, 2, prompt_of(length));
            CHECK(found.reused == 0);
        };
        std::vector<std::string> texts;
        for (const size_t length : lengths) texts.push_back(words_of(prompt_of(length)));
        const auto together = session.hypotheses(texts, options);
        for (size_t i = 0; i < lengths.size(); ++i) check(together[i].front(), lengths[i]);

        Batch batch(session, {.slots = 2});
        for (const std::string &text : texts) batch.add(text, options);
        GenerateOptions plain;
        plain.max_length = 2;
        batch.add(texts.back(), plain);
        std::vector<size_t> told(texts.size() + 1);
        while (!batch.empty())
            for (const Batch::Progress &each : batch.step()) {
                told[each.id - 1] += each.prompt_scores.size();
                if (each.finished && each.id <= texts.size()) check(*each.finished, lengths[each.id - 1]);
                if (each.finished) CHECK(told[each.id - 1] == each.finished->prompt_scores.size());
            }
        CHECK(told.back() == 0);
    }
}

TEST_CASE("sampling: the scores of prompts are refused where there are none") {
    Session session = runtime().session(runtime().load(of_words()), runtime().device("cpu"));
    const auto refused = [&](const auto &change, const char *why) {
        GenerateOptions options;
        options.likeliest = 0, options.prompt_scores = true;
        change(options);
        CHECK_THAT(message_of([&] { (void)session.generate({"t5 t6"}, options); }), matchers::contains(why));
    };
    refused([](auto &o) { o.likeliest = {}; }, "prompt_scores: expected it with likeliest");
    refused([](auto &o) { o.cached = false; }, "and with caches");
    refused([](auto &o) { o.beams = 2; }, "prompt_scores: expected a model that continues texts, and one beam");
}

// ---- Mirostat ----

namespace {

// The tokens of a sample, by the algorithm as the paper has it, on the probabilities of the graph.
Ids plain_mirostat(Session &session, Ids tokens, const GenerateOptions &options, uint64_t sample) {
    double mu = 2 * options.mirostat_tau;
    Ids out;
    while (out.size() < static_cast<size_t>(options.max_length)) {
        std::vector<std::pair<double, int32_t>> ranked;
        double all = 0;
        const std::vector<double> logs = expected_after(session, tokens);
        for (size_t i = 0; i < logs.size(); ++i) {
            if (i == 1) continue; // the end
            ranked.emplace_back(std::exp(logs[i] / options.temperature), static_cast<int32_t>(i));
            all += ranked.back().first;
        }
        std::ranges::sort(ranked, std::greater<>());
        while (ranked.size() > 1 && -std::log2(ranked.back().first / all) > mu) ranked.pop_back();
        double left = 0;
        for (const auto &[p, token] : ranked) left += p;
        double below = generation::chances_of(options.seed, 0, sample, out.size()).token * left;
        size_t place = 0;
        while (place + 1 < ranked.size() && (below -= ranked[place].first) >= 0) ++place;
        mu -= options.mirostat_eta * (-std::log2(ranked[place].first / left) - options.mirostat_tau);
        out.push_back(ranked[place].second);
        tokens.push_back(out.back());
    }
    return out;
}

} // namespace

TEST_CASE("sampling: mirostat draws what the plain algorithm draws, and samples know nothing of each other") {
    Session session = runtime().session(runtime().load(of_words()), runtime().device("cpu"));
    GenerateOptions options;
    options.temperature = 0.4, options.mirostat = 2, options.ignore_end = true, options.max_length = 9;
    std::set<Ids> different;
    for (const auto &[tau, eta] : {std::pair{1.0, 0.5}, {3.0, 0.1}, {0.1, 1.0}}) {
        options.mirostat_tau = tau, options.mirostat_eta = eta;
        for (options.seed = 1; options.seed < 6; ++options.seed) {
            INFO("tau " << tau << ", eta " << eta << ", seed " << options.seed);
            options.beams = 3;
            std::set<Ids> found, expected;
            const auto samples = session.hypotheses({"t5"}, options);
            for (const Hypothesis &each : samples.front()) found.insert(each.tokens);
            for (uint64_t sample = 0; sample < 3; ++sample)
                expected.insert(plain_mirostat(session, starting(session, {5}), options, sample));
            CHECK(found == expected);
            different.insert(found.begin(), found.end());
        }
    }
    CHECK(different.size() > 20);
    options.beams_compete = true;
    CHECK_THAT(message_of([&] { (void)session.generate({"t5"}, options); }),
               matchers::contains("mirostat: expected one beam"));
    options.mirostat = 1;
    CHECK_THAT(message_of([&] { (void)session.generate({"t5"}, options); }),
               matchers::contains("mirostat: expected 0 or 2, found 1"));
}
