// Beam search over the scores of frames, compared with all paths.
#include "catch.hpp"

#include "base/random.hpp"
#include "generation/ctc.hpp"
#include "generation/scores.hpp"

#include <cmath>
#include <limits>
#include <map>

using namespace lamina;
using namespace lamina::generation;

namespace {

// "C" stands twice, as texts of labels may.
model::Speech speech() {
    model::Speech out;
    out.audio.rate = 100, out.audio.frames.emplace().lengths.step = 10;
    out.labels = {"A", "-", "B", "|", "C", "C"}, out.blank = "-", out.delimiter = "|";
    return out;
}

std::string spelled(const model::Speech &speech, const std::vector<model::Speech::Run> &runs) {
    std::string out;
    for (const model::Speech::Run &run : runs) out += speech.labels[static_cast<size_t>(run.label)];
    return out;
}

// A path through the frames, label by label, the probability of which is the product of its labels' ones.
struct Path {
    std::vector<model::Speech::Run> runs;
    double probability = 0;
};

struct AllPaths {
    std::map<std::string, double> texts; // the probability of each
    std::map<std::string, Path> likeliest;
};

AllPaths all_paths(const model::Speech &speech, const std::vector<double> &likely) {
    const size_t labels = speech.labels.size(), frames = likely.size() / labels;
    AllPaths out;
    std::vector<int32_t> path(frames);
    for (size_t number = 0; number < static_cast<size_t>(std::pow(labels, frames)); ++number) {
        size_t rest = number;
        double probability = 1;
        for (size_t f = 0; f < frames; ++f, rest /= labels) {
            path[f] = static_cast<int32_t>(rest % labels);
            probability *= std::exp(likely[f * labels + rest % labels]);
        }
        const auto runs = speech.collapsed(path);
        const std::string text = spelled(speech, runs);
        out.texts[text] += probability;
        if (Path &best = out.likeliest[text]; probability > best.probability) best = {runs, probability};
    }
    return out;
}

std::vector<float> random_scores(Random &random, size_t frames, double spread) {
    std::vector<float> out(frames * speech().labels.size());
    for (float &score : out) score = static_cast<float>(spread * (2 * random.unit() - 1));
    return out;
}

} // namespace

TEST_CASE("ctc: with enough beams, the text is the likeliest of all, and its frames are those of its likeliest path") {
    const model::Speech model = speech();
    Random random(7);
    size_t others = 0; // than the greedy text
    for (int i = 0; i < 60; ++i) {
        const std::vector<double> likely = log_probabilities_of(
            random_scores(random, 1 + static_cast<size_t>(i) % 5, i % 2 == 0 ? 1 : 3), model.labels.size());
        const AllPaths all = all_paths(model, likely);
        const auto best = std::ranges::max_element(all.texts, {}, [](const auto &each) { return each.second; });
        const Spelled found = likeliest_text(model, likely, 1000);
        CHECK(spelled(model, found.runs) == best->first);
        CHECK_THAT(found.log_probability, matchers::within_abs(std::log(best->second), 1e-9));
        const auto first = likeliest_path(model, likely);
        others += spelled(model, first.runs) != best->first;

        // The path whose "C" are alike, and count together, is compared by its probability where it is another.
        const Path &wanted = all.likeliest.at(best->first);
        if (best->first.find('C') == std::string::npos) {
            REQUIRE(found.runs.size() == wanted.runs.size());
            for (size_t r = 0; r < wanted.runs.size(); ++r)
                CHECK((found.runs[r].label == wanted.runs[r].label && found.runs[r].begin == wanted.runs[r].begin &&
                       found.runs[r].end == wanted.runs[r].end));
        }
    }
    CHECK(others > 5);
}

TEST_CASE("ctc: thousands of labels, as of Chinese, take no more time than the likeliest of each frame") {
    model::Speech model = speech();
    while (model.labels.size() < 3500) model.labels.push_back("x" + std::to_string(model.labels.size()));
    constexpr size_t frames = 30;
    std::vector<float> scores(frames * model.labels.size());
    Random random(3);
    for (float &score : scores) score = static_cast<float>(random.unit());
    std::vector<int32_t> said;
    for (size_t f = 0; f < frames; ++f) {
        said.push_back(static_cast<int32_t>(model.labels.size() - 1 - f * 7));
        scores[f * model.labels.size() + static_cast<size_t>(said.back())] = 20;
    }
    const Spelled found = likeliest_text(model, log_probabilities_of(scores, model.labels.size()), 1024);
    REQUIRE(found.runs.size() == said.size());
    for (size_t f = 0; f < frames; ++f) CHECK(found.runs[f].label == said[f]);
}

TEST_CASE("ctc: fewer beams look at fewer texts, and one label may follow itself behind a blank") {
    const model::Speech model = speech();
    Random random(11);
    for (int i = 0; i < 20; ++i) {
        const auto likely = log_probabilities_of(random_scores(random, 40, 2), model.labels.size());
        const double few = likeliest_text(model, likely, 2).log_probability,
                     many = likeliest_text(model, likely, 64).log_probability;
        CHECK(many >= few);
        CHECK(few >= likeliest_path(model, likely).log_probability - 20);
    }
    std::vector<float> scores(3 * model.labels.size(), -9.0F);
    scores[0] = scores[6 + 1] = scores[12 + 0] = 9; // A, blank, A
    const Spelled twice = likeliest_text(model, log_probabilities_of(scores, model.labels.size()), 8);
    REQUIRE(spelled(model, twice.runs) == "AA");
    CHECK((twice.runs[0].end == 1 && twice.runs[1].begin == 2 && twice.runs[1].end == 3));

    // Without a blank in between, the path would be likelier, but not one of this text.
    std::vector<float> close(4 * model.labels.size(), -20.0F);
    for (size_t f = 0; f < 4; ++f) close[f * 6] = f % 3 == 0 ? 5.0F : 0.02F, close[f * 6 + 1] = 0;
    const Spelled apart = likeliest_text(model, log_probabilities_of(close, model.labels.size()), 8);
    REQUIRE(spelled(model, apart.runs) == "AA");
    CHECK(apart.runs[1].begin > apart.runs[0].end);

    scores[1] = std::numeric_limits<float>::quiet_NaN();
    CHECK_THROWS_AS(log_probabilities_of(scores, model.labels.size()), NoAnswer);
}

TEST_CASE("ctc: words are what is between delimiters") {
    const model::Speech model = speech();
    const std::vector<model::Speech::Run> runs{{3, 0, 1}, {0, 2, 3}, {2, 5, 7}, {3, 7, 8}, {3, 9, 10}, {4, 11, 12}};
    const auto words = segments_of(model, runs, Timestamps::words);
    REQUIRE(words.size() == 2);
    CHECK((words[0].text == "AB" && words[1].text == "C"));
    CHECK_THAT(words[0].begin, matchers::within_abs(0.2, 1e-9));
    CHECK_THAT(words[0].end, matchers::within_abs(0.7, 1e-9));
    CHECK(words[0].tokens == std::vector<int32_t>{0, 2});
    const auto characters = segments_of(model, runs, Timestamps::characters);
    REQUIRE(characters.size() == 6);
    CHECK((characters[0].text == " " && characters[1].text == "A"));
}
