#include "openai_scores.hpp"

#include "base/utf8.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

namespace lamina::serve {
namespace {

// A part of a character has no text; it is shown as OpenAI does.
std::string text_of(const TokenScore &token) {
    if (first_invalid_utf8(token.text) == token.text.size()) return token.text;
    std::string out = "bytes:";
    for (const char c : token.text) {
        std::array<char, 5> byte{};
        std::snprintf(byte.data(), byte.size(), "\\x%02x", static_cast<unsigned char>(c));
        out += byte.data();
    }
    return out;
}

Json number_of(double log_probability) {
    if (std::isnan(log_probability)) return nullptr;
    constexpr double least = -9999; // JSON has no infinity
    return std::max(log_probability, least);
}

Json as_json(const TokenScore &token) {
    Json bytes = Json::array();
    for (const char c : token.text) bytes.push_back(int64_t{static_cast<unsigned char>(c)});
    return {{"token", text_of(token)}, {"logprob", number_of(token.log_probability)}, {"bytes", std::move(bytes)}};
}

// Characters that begin in the text.
int64_t characters_of(std::string_view text) {
    return std::ranges::count_if(text, [](char c) { return (c & '\xC0') != '\x80'; });
}

} // namespace

Json chat_scores(std::span<const ScoredToken> tokens) {
    Json content = Json::array();
    for (const ScoredToken &each : tokens) {
        Json token = as_json(each);
        Json others = Json::array();
        for (const TokenScore &other : each.likeliest) others.push_back(as_json(other));
        token["top_logprobs"] = std::move(others);
        content.push_back(std::move(token));
    }
    return {{"content", std::move(content)}, {"refusal", nullptr}};
}

Json completion_scores(std::span<const ScoredToken> tokens, int64_t &offset) {
    Json names = Json::array(), numbers = Json::array(), others = Json::array(), offsets = Json::array();
    for (const ScoredToken &each : tokens) {
        names.push_back(text_of(each));
        numbers.push_back(number_of(each.log_probability));
        Json top = std::isnan(each.log_probability) ? Json(nullptr) : Json::object();
        for (const TokenScore &other : each.likeliest) top[text_of(other)] = number_of(other.log_probability);
        others.push_back(std::move(top));
        offsets.push_back(std::max(offset, int64_t{0}));
        offset += characters_of(each.text);
    }
    return {{"tokens", std::move(names)},
            {"token_logprobs", std::move(numbers)},
            {"top_logprobs", std::move(others)},
            {"text_offset", std::move(offsets)}};
}

int64_t offset_before(std::string_view prompt, std::span<const ScoredToken> tokens) {
    int64_t out = characters_of(prompt);
    for (const ScoredToken &each : tokens) out -= characters_of(each.text);
    return out;
}

} // namespace lamina::serve
