// Results, metrics and refusals as text, and who may come in.
#include "catch.hpp"

#include "serve/answer_form.hpp"
#include "serve/gate.hpp"
#include "serve/metrics.hpp"
#include "serve/openai_result.hpp"
#include "serve/openai_scores.hpp"
#include "serve/refusal.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <limits>
#include <vector>

using namespace lamina;
using namespace lamina::serve;
using matchers::contains;

namespace {
const AnswerHead chat{true, "chatcmpl-1", "m", 17};
const AnswerHead completion{false, "cmpl-1", "m", 17};
} // namespace

TEST_CASE("answers have the form that OpenAI's clients expect") {
    const auto whole = nlohmann::json::parse(answer_json(chat, {{"Hi \"you\"", Finish::end}}, {3, 2}));
    CHECK(whole["object"] == "chat.completion");
    CHECK(whole["choices"][0]["message"]["content"] == "Hi \"you\"");
    CHECK(whole["choices"][0]["finish_reason"] == "stop");
    CHECK(whole["usage"]["total_tokens"] == 5);
    const auto text = nlohmann::json::parse(answer_json(completion, {{"a", Finish::length}, {"b", Finish::stop}}, {}));
    CHECK(text["object"] == "text_completion");
    CHECK(text["choices"][0]["finish_reason"] == "length");
    CHECK(text["choices"][1]["text"] == "b");
    CHECK(text["choices"][1]["index"] == 1);
}

TEST_CASE("events are one line each, with what they add") {
    const auto event = [](const std::string &text) {
        REQUIRE(text.starts_with("data: "));
        REQUIRE(text.ends_with("\n\n"));
        return nlohmann::json::parse(text.substr(6));
    };
    CHECK(event(role_event(chat, 0))["choices"][0]["delta"]["role"] == "assistant");
    CHECK(event(piece_event(chat, 1, "a\nb"))["choices"][0]["delta"]["content"] == "a\nb");
    CHECK(event(piece_event(completion, 1, "a"))["choices"][0]["text"] == "a");
    CHECK(event(finish_event(chat, 0, Finish::end))["choices"][0]["finish_reason"] == "stop");
    CHECK(event(finish_event(chat, 0, Finish::end))["choices"][0]["delta"].empty());
    CHECK(event(usage_event(chat, {1, 2}))["choices"].empty());
}

TEST_CASE("embeddings as base64 are the bytes of their floats") {
    const Tensor vectors = Tensor::of({2, 2}, std::vector<float>{1, -2, 0.5F, 0});
    const auto json = nlohmann::json::parse(embeddings_json("m", vectors, true, 4));
    CHECK(json["data"][0]["embedding"] == "AACAPwAAAMA="); // as Python's base64 has them
    CHECK(json["data"][1]["embedding"] == "AAAAPwAAAAA=");
    const auto numbers = nlohmann::json::parse(embeddings_json("m", vectors, false, 4));
    CHECK(numbers["data"][0]["embedding"][1] == -2);
    CHECK(numbers["usage"]["prompt_tokens"] == 4);
}

TEST_CASE("subtitles have the times of their segments, or of their windows") {
    Transcript t;
    t.text = "One. Two.";
    t.parts = {{0, 29.5, {}}, {29.5, 3725.25, {}}};
    t.parts[0].hypothesis.text = " One.";
    t.parts[1].hypothesis.text = " Two.";
    t.parts[1].hypothesis.tokens = {5, 6, 7}, t.parts[1].hypothesis.log_probability = -6;
    CHECK(subtitles(t, Subtitles::srt) ==
          "1\n00:00:00,000 --> 00:00:29,500\nOne.\n\n2\n00:00:29,500 --> 01:02:05,250\nTwo.\n\n");
    CHECK(subtitles(t, Subtitles::vtt).starts_with("WEBVTT\n\n00:00:00.000 --> 00:00:29.500\nOne.\n\n"));
    const auto verbose = [&](Granularities times) {
        return nlohmann::json::parse(verbose_transcript_json(t, "transcribe", times));
    };
    CHECK(verbose({.segments = true})["duration"] == 3725.25);
    CHECK(verbose({.segments = true})["language"].is_null());
    t.language = "en";
    CHECK(verbose({.segments = true})["language"] == "en");
    CHECK(verbose({.segments = true})["segments"].size() == 2);
    CHECK(!verbose({.segments = true}).contains("words"));
    t.segments = {{.begin = 30, .end = 31.5, .text = " Two.", .tokens = {6}, .part = 1}};
    CHECK(subtitles(t, Subtitles::srt) == "1\n00:00:30,000 --> 00:00:31,500\nTwo.\n\n");
    const auto segments = verbose({.segments = true})["segments"];
    REQUIRE(segments.size() == 1);
    CHECK((segments[0]["start"] == 30 && segments[0]["end"] == 31.5 && segments[0]["avg_logprob"] == -2));
    const auto both = verbose({.segments = true, .words = true});
    CHECK(both["segments"].size() == 2); // windows, as the transcript's segments are words
    CHECK((both["words"][0]["word"] == "Two." && both["words"][0]["start"] == 30));
    CHECK(!verbose({.segments = false, .words = true}).contains("segments"));
}

TEST_CASE("a refusal has the form of its protocol, and the status of its cause") {
    const auto openai = nlohmann::json::parse(refusal("/v1/models", Refusal(404, "no", "model"), "no").body);
    CHECK(openai["error"]["message"] == "no");
    CHECK(openai["error"]["param"] == "model");
    CHECK(openai["error"]["type"] == "not_found_error");
    CHECK(refusal("/v2/models/m/infer", 400, "no").body == R"({"error":"no"})");
    CHECK(refusal("/v1/x", Error(ErrorCode::input, "bad"), "bad").status == 400);
    CHECK(refusal("/v1/x", Error(ErrorCode::memory, "full"), "full").status == 503);
    CHECK(refusal("/v1/x", Error(ErrorCode::unproven, "wrong"), "wrong").status == 500);
    CHECK(refusal("/v1/x", std::bad_alloc(), "full").status == 503);
    CHECK(refusal("/v1/x", 400, "bytes \xff").body.find('\xff') == std::string::npos);
    const Response in_request = refusal("/v1/x", Error(ErrorCode::input, "request: /messages/0/role: wrong"), "wrong");
    CHECK(nlohmann::json::parse(in_request.body)["error"]["param"] == "messages");
}

TEST_CASE("paths become names of models, and words that look like them stay") {
    CHECK(with_name("/m/a: /m/a/b", "/m/a", "a") == "a: a/b");
    CHECK(with_name("'/m/a', (/m/a) and /m/a.", "/m/a", "b") == "'b', (b) and b.");
    CHECK(with_name("/m/a.gguf: a", "/m/a.gguf", "b") == "b: a");
    for (const std::string other : {"/m/ab", "/m/a-b", "/m/a.gguf", "/n/m/a", "x/m/a", "./m/a", "/m/a\xC3\xA4"})
        CHECK(with_name(other, "/m/a", "b") == other);
    CHECK(with_name("whisper: whisper-tiny has none", "whisper", "whisper-tiny") ==
          "whisper-tiny: whisper-tiny has none");
    CHECK(with_name("expected a list, found 3.5", "e", "english") == "expected a list, found 3.5");
    CHECK(with_name("found 3.5", ".", "x") == "found 3.5");
    CHECK(with_name("e", "", "x") == "e");
}

TEST_CASE("the gate counts who is inside, and lets nobody in when it is full or closed") {
    const auto status = [](Gate &gate) {
        try {
            (void)gate.enter();
            return 200;
        } catch (const Refusal &why) {
            return why.status();
        }
    };
    Gate gate(1);
    auto first = gate.enter();
    CHECK(status(gate) == 429);
    first.reset();
    CHECK(status(gate) == 200);
    gate.close();
    gate.wait_until_empty();
    CHECK(status(gate) == 503);
}

TEST_CASE("metrics are in Prometheus's text format") {
    Metrics metrics;
    metrics.request("/v1/embeddings", 200, std::chrono::milliseconds(30));
    metrics.request("/v1/embeddings", 200, std::chrono::seconds(100));
    metrics.tokens("a\"b", {.prompt = 5, .answer = 4, .reused = 3});
    metrics.tokens("a\"b", {.prompt = 1, .answer = 3, .reused = 1});
    metrics.batch("m", 3);
    const std::string text = metrics.text({{"lamina_models", {"Models.", 2}}}, {{"m", "loaded"}});
    CHECK_THAT(text, contains("# TYPE lamina_requests_total counter\n"));
    CHECK_THAT(text, contains("lamina_requests_total{path=\"/v1/embeddings\",status=\"200\"} 2\n"));
    CHECK_THAT(text, contains("lamina_request_seconds_bucket{path=\"/v1/embeddings\",le=\"0.025\"} 0\n"));
    CHECK_THAT(text, contains("lamina_request_seconds_bucket{path=\"/v1/embeddings\",le=\"0.05\"} 1\n"));
    CHECK_THAT(text, contains("lamina_request_seconds_bucket{path=\"/v1/embeddings\",le=\"+Inf\"} 2\n"));
    CHECK_THAT(text, contains("lamina_request_seconds_sum{path=\"/v1/embeddings\"} 100.03\n"));
    CHECK_THAT(text, contains("lamina_batch_size_bucket{model=\"m\",le=\"4\"} 1\n"));
    CHECK_THAT(text, contains("lamina_prompt_tokens_total{model=\"a\\\"b\"} 6\n"));
    CHECK_THAT(text, contains("lamina_reused_tokens_total{model=\"a\\\"b\"} 4\n"));
    CHECK_THAT(text, contains("lamina_generated_tokens_total{model=\"a\\\"b\"} 7\n"));
    CHECK_THAT(text, contains("# TYPE lamina_models gauge\nlamina_models 2\n"));
    CHECK_THAT(text, contains("lamina_model_state{model=\"m\",state=\"loaded\"} 1\n"));
}

TEST_CASE("tokens that are parts of a character, and those without a chance, are told in JSON") {
    const double never = -std::numeric_limits<double>::infinity();
    const std::vector<ScoredToken> tokens{
        {{7, " \xc3", -0.5}, {{7, " \xc3", -0.5}, {9, "b", never}}}, {{8, "\xa9", -0.25}, {}}, {{9, "b", -1}, {}}};
    int64_t offset = 4;
    const auto told = nlohmann::json::parse(completion_scores(tokens, offset).in_one_line());
    CHECK(told.at("tokens") == nlohmann::json({"bytes:\\x20\\xc3", "bytes:\\xa9", "b"}));
    CHECK(told.at("token_logprobs") == nlohmann::json({-0.5, -0.25, -1.0}));
    CHECK(told.at("top_logprobs")[0] == nlohmann::json({{"bytes:\\x20\\xc3", -0.5}, {"b", -9999.0}}));
    CHECK(told.at("text_offset") == nlohmann::json({4, 6, 6})); // in characters
    CHECK(offset == 7);
    const auto chatted = nlohmann::json::parse(chat_scores(tokens).in_one_line());
    CHECK(chatted.at("content")[0].at("bytes") == nlohmann::json({32, 195}));
    CHECK(chatted.at("content")[0].at("top_logprobs").size() == 2);
}

// Every form, so that one that is added to it is tested, too.
TEST_CASE("an error in a stream is an event in the form of its API") {
    for (const AnswerForm &form :
         {openai_form(false), openai_form(true), response_form(Json::object()), message_form({})}) {
        const std::string event = form.error_event(500, "it \"failed\"");
        const size_t data = event.find("data: ");
        REQUIRE(data != std::string::npos);
        CHECK(event.ends_with("\n\n"));
        CHECK_THAT(nlohmann::json::parse(event.substr(data + 6)).dump(), contains("it \\\"failed\\\""));
        const std::string whole =
            form.whole({form.chat, "id", "m", 17}, {{.text = "hello", .finish = Finish::end}}, {3, 2});
        CHECK_THAT(nlohmann::json::parse(whole).dump(), contains("\"hello\""));
    }
}
