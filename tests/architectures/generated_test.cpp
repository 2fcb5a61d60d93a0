// What comes of generation_config.json, compared with generate() of transformers: generate.py writes generated.json.
#include "with_tokenizer.hpp"

#include "architectures/generation_settings.hpp"
#include "catch.hpp"
#include "generation/filters.hpp"

#include <lamina/audio.hpp>
#include <lamina/convert.hpp>
#include <lamina/sampling.hpp>
#include <lamina/texts.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

using namespace lamina;
using nlohmann::json;
using test::runtime;

namespace {

json expected() { return test::json_of(test::architectures / "generated.json"); }

// "w7 w9" of 7 and 9.
std::string text_of(const json &ids) {
    std::string out;
    for (const int32_t id : ids) out += (out.empty() ? "w" : " w") + std::to_string(id);
    return out;
}

// Of these frequencies, in Hz, for as long as the model takes.
Audio sound_of(const json &tones) {
    Audio out{.rate = 16000};
    for (int i = 0; i < 3520; ++i) {
        double sum = 0;
        for (const double hertz : tones) sum += 0.3 * std::sin(2 * std::numbers::pi * hertz * i / 16000);
        out.samples.push_back(static_cast<float>(sum));
    }
    return out;
}

// Of all hypotheses, best first; of what is heard, the best.
json tokens_of(Session &session, const json &wanted) {
    const json &given = wanted.at("given");
    if (wanted.at("model") == "whisper") {
        GenerateOptions german;
        german.choices = {{"language", "de"}, {"task", "transcribe"}};
        return {transcribe(session, {sound_of(given)}, german).front().parts.front().hypothesis.tokens};
    }
    json out = json::array();
    const auto found = session.hypotheses({text_of(given)});
    for (const Hypothesis &each : found.front()) out.push_back(each.tokens);
    return out;
}

json found(const json &wanted) {
    const WithTokenizer model(wanted.at("model"), wanted.at("config"));
    std::filesystem::remove(model.path() / "generation_config.json");
    if (!wanted.at("settings").is_null()) model.write("generation_config.json", wanted.at("settings").dump());
    Session session = model.session();
    return tokens_of(session, wanted);
}

// Why a folder with this generation_config.json is refused; "" if it is not.
std::string refusal(const json &settings) {
    const WithTokenizer model("llama");
    model.write("generation_config.json", settings.dump());
    return message_of([&] { (void)runtime().load(model.path()); });
}

GenerateOptions sampling_of(const json &settings) {
    GenerateOptions out;
    out.temperature = 1;
    for (const SamplingOption &option : sampling_options)
        if (const auto found = settings.find(option.name); found != settings.end())
            option.set(out, found->get<double>());
    return out;
}

} // namespace

TEST_CASE("generation_config.json: texts are those of transformers, for every setting and every decoder") {
    const json cases = expected().at("cases");
    for (const json &wanted : cases) {
        INFO(wanted.dump());
        CHECK(found(wanted) == wanted.at("ids"));
    }
}

TEST_CASE("generation_config.json: a converted model keeps all settings") {
    const json cases = expected().at("cases");
    for (size_t i = 0; i < cases.size(); i += 7) {
        INFO(cases[i].dump());
        const WithTokenizer model(cases[i].at("model"), cases[i].at("config"));
        std::filesystem::remove(model.path() / "generation_config.json");
        if (!cases[i].at("settings").is_null()) model.write("generation_config.json", cases[i].at("settings").dump());
        const TemporaryFolder folder;
        convert(runtime(), model.path(), {}).model.save(folder.path() / "converted");
        Session session = test::session_of(folder.path() / "converted");
        CHECK(tokens_of(session, cases[i]) == cases[i].at("ids"));
    }
}

TEST_CASE("generation_config.json: every key that transformers knows is read, harmless or refused") {
    const std::vector<std::string_view> known = architectures::generation_keys();
    const std::vector<std::string> keys = expected().at("keys");
    for (const std::string &key : keys) {
        INFO(key);
        CHECK(std::ranges::count(known, key) == 1);
    }
}

TEST_CASE("generation_config.json: what would change tokens and is not supported is refused with its key and value") {
    using matchers::contains;
    const auto refused = [](const json &settings, const char *key) {
        CHECK_THAT(refusal(settings), contains("generation_config.json: /" + std::string(key) + ": "));
    };
    refused({{"guidance_scale", 1.5}}, "guidance_scale");
    refused({{"watermarking_config", {{"bias", 2.0}}}}, "watermarking_config");
    refused({{"max_time", 2.5}}, "max_time");
    refused({{"token_healing", true}}, "token_healing");
    refused({{"is_assistant", true}}, "is_assistant");
    refused({{"constraints", json::array({1})}}, "constraints");
    refused({{"force_words_ids", {{5}}}}, "force_words_ids");
    refused({{"dola_layers", "high"}}, "dola_layers");
    refused({{"penalty_alpha", 0.6}}, "penalty_alpha");
    refused({{"num_beams", 4}, {"num_beam_groups", 2}}, "num_beam_groups");
    refused({{"num_beams", 4}, {"low_memory", true}}, "low_memory");
    refused({{"cache_implementation", "quantized"}}, "cache_implementation");
    refused({{"early_stopping", "soon"}}, "early_stopping");
    refused({{"sequence_bias", {{"5", 2.0}}}}, "sequence_bias");
    refused({{"exponential_decay_length_penalty", {1}}, {"eos_token_id", 2}}, "exponential_decay_length_penalty");
    refused({{"exponential_decay_length_penalty", {1, 1.5}}}, "exponential_decay_length_penalty");
    refused({{"max_new_tokens", 0}}, "max_new_tokens");
    CHECK_THAT(refusal({{"bad_words_ids", {{5, 60}}}}),
               contains("expected ids below 53, as many as there are scores, found 60 in 'bad_words_ids'"));
    CHECK(
        refusal(
            {{"guidance_scale", 1.0}, {"token_healing", false}, {"num_beam_groups", 1}, {"diversity_penalty", 0.5}}) ==
        "");
    CHECK(refusal({{"num_beams", 1}, {"num_beam_groups", 2}, {"cache_implementation", "static"}, {"my_own_key", 7}}) ==
          "");
}

TEST_CASE("generation_config.json: options take its place") {
    const WithTokenizer model("llama");
    model.write("generation_config.json",
                R"({"num_beams": 3, "repetition_penalty": 3.0, "max_length": 4, "length_penalty": 2.0})");
    Session session = model.session();
    CHECK(session.hypotheses({"w5 w6"}).front().size() == 3);
    CHECK(session.hypotheses({"w5 w6"}).front().front().tokens.size() == 2); // its length counts the prompt
    GenerateOptions options;
    options.beams = 1, options.repetition_penalty = 1, options.max_length = 7;
    const auto found = session.hypotheses({"w5 w6"}, options).front();
    CHECK(found.size() == 1);
    const WithTokenizer plain("llama");
    plain.write("generation_config.json", "{}");
    CHECK(found.front().tokens == plain.session().hypotheses({"w5 w6"}, options).front().front().tokens);
    CHECK_THAT(message_of([&] { (void)session.generate({"w5 w6 w7 w8"}); }),
               matchers::contains("text 1: 4 tokens, but the model's max_length, which counts them, is 4"));
}

// Shares of a few thousand texts each, so they differ by chance: at most by five standard deviations.
TEST_CASE("generation_config.json: beams that are sampled give the texts of transformers, as often") {
    constexpr size_t texts = 4000;
    const json cases = expected().at("sampled_beams");
    for (const json &wanted : cases) {
        INFO(wanted.at("model") << ' ' << wanted.at("settings"));
        const WithTokenizer model(wanted.at("model"));
        model.write("generation_config.json", wanted.at("settings").dump());
        const Model loaded = runtime().load(model.path());
        Session session = test::session_of(model.path());
        GenerateOptions options = suggested_options(loaded);
        options.hypotheses = 1;
        std::map<json, double> shares;
        for (const auto &found :
             session.hypotheses(std::vector<std::string>(texts, text_of(wanted.at("given"))), options))
            shares[found.front().tokens] += 1.0 / texts;
        for (const json &each : wanted.at("texts")) {
            INFO(each);
            const double share = each[1];
            const double deviation = std::sqrt(share * (1 - share) * (1.0 / texts + 1.0 / wanted.at("of").get<int>()));
            CHECK_THAT(shares[each[0]], matchers::within_abs(share, 5 * deviation));
        }
    }
}

TEST_CASE("generation_config.json: samples are drawn with the probabilities of transformers") {
    const json distributions = expected().at("distributions");
    for (const json &wanted : distributions) {
        INFO(wanted.at("settings").dump());
        const GenerateOptions options = sampling_of(wanted.at("settings"));
        const std::vector<double> scores = wanted.at("scores");
        std::vector<size_t> order(scores.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::ranges::sort(order, std::greater<>(), [&](size_t i) { return scores[i]; });
        std::vector<double> weights;
        for (const size_t i : order) weights.push_back(std::exp((scores[i] - scores[order[0]]) / options.temperature));
        std::vector<double> ranked(scores);
        std::ranges::sort(ranked, std::greater<>());
        generation::leave_out({weights, ranked}, options);
        const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (size_t i = 0; i < order.size(); ++i)
            CHECK_THAT(weights[i] / all,
                       matchers::within_abs(wanted.at("probabilities").at(order[i]).get<double>(), 2e-6));
    }
}

TEST_CASE("generated: a model's own stop texts may be special tokens, a caller's are looked for in what it gets") {
    const WithTokenizer model("llama");
    GenerateOptions options;
    options.max_length = 12, options.ignore_end = true;
    const Hypothesis whole = model.session().hypotheses({"w5 w6"}, options).front().front();
    REQUIRE(whole.tokens.size() == 12);
    const size_t place = 4;
    REQUIRE(std::ranges::count(whole.tokens.begin(), whole.tokens.begin() + place, whole.tokens[place]) == 0);
    const std::string stop = "w" + std::to_string(whole.tokens[place]);
    json file = json::parse(tokenizer(false));
    file["added_tokens"].push_back({{"id", whole.tokens[place]},
                                    {"content", stop},
                                    {"special", true},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false}});
    model.write("tokenizer.json", file.dump());
    const auto written = [&](const GenerateOptions &how) {
        return model.session().hypotheses({"w5 w6"}, how).front().front();
    };
    options.stop = {stop};
    CHECK(written(options).finish == Finish::length); // it is not in the text
    options.skip_special_tokens = false;
    CHECK(written(options).finish == Finish::stop);
    CHECK(written(options).tokens.size() == place + 1);
    options.stop.clear(), options.skip_special_tokens = true;
    model.write("generation_config.json", json{{"stop_strings", {stop}}}.dump());
    CHECK(written(options).finish == Finish::stop);
    CHECK(written(options).tokens.size() == place + 1);
}

TEST_CASE("generated: what a draft guesses beyond the model's tokens is left out") {
    const WithTokenizer model("llama");
    GenerateOptions options;
    options.max_length = 12, options.ignore_end = true;
    const std::string alone = model.session().generate({"w5 w6"}, options).front();
    // A head with more rows, the last of which are the likeliest.
    ModelDescription longer = convert(runtime(), model.path(), {}).model;
    for (const char *name : {"model.embed_tokens", "lm_head"})
        for (auto &[weight, values] : longer.weights) {
            if (weight.find(name) == std::string::npos) continue;
            std::vector<float> rows(static_cast<size_t>(words + 4) * static_cast<size_t>(values.shape().back()), 3);
            values = Tensor::of({words + 4, values.shape().back()}, rows);
        }
    Session session = model.session();
    session.use_draft(runtime().session(runtime().load(longer), runtime().device("cpu")));
    CHECK(session.generate({"w5 w6"}, options).front() == alone);
}

TEST_CASE("generated: no two sessions wait for each other as drafts, with adapters or without") {
    const WithTokenizer model("llama");
    Session base = model.session(), other = model.session();
    Session beside = base.with_adapters({{test::architectures / "adapters" / "llama"}});
    beside.use_draft(other);
    CHECK_THAT(message_of([&] { other.use_draft(base); }), matchers::contains("that never had a draft"));
    CHECK_THAT(message_of([&] { beside.use_draft(base); }), matchers::contains("another session"));
    base.use_draft(other);
}

TEST_CASE("generated: no word of a prompt comes again where texts are cleaned up") {
    const WithTokenizer plain("llama"), cleaning("llama");
    cleaning.write("tokenizer_config.json", json{{"clean_up_tokenization_spaces", true}}.dump());
    GenerateOptions options;
    options.max_length = 6, options.ignore_end = true;
    const std::vector<std::string> prompts{"w5 w6 w7", "w9"};
    const std::vector<std::string> wanted = plain.session().generate(prompts, options);
    CHECK(cleaning.session().generate(prompts, options) == wanted);
    std::vector<std::string> pieces(prompts.size());
    options.stream = [&](size_t text, std::string_view piece) { pieces[text] += piece; };
    CHECK(cleaning.session().generate(prompts, options) == wanted);
    CHECK(pieces == wanted);
}
