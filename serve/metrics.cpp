#include "metrics.hpp"

#include <cstdio>

namespace lamina::serve {
namespace {

std::string in_short(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.9g", value);
    return text.data();
}

// model="g2p"
std::string labelled(const std::string &name, const std::string &value) {
    std::string out = name + "=\"";
    for (const char c : value) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

std::string heading(const std::string &name, const std::string &what, const char *type) {
    return "# HELP " + name + " " + what + "\n# TYPE " + name + " " + type + "\n";
}

} // namespace

template <size_t Count> void Metrics::add(Histogram<Count> &to, const std::array<double, Count> &bounds, double value) {
    for (size_t i = 0; i < Count; ++i) to.buckets[i] += value <= bounds[i] ? 1 : 0;
    ++to.count;
    to.sum += value;
}

template <size_t Count>
std::string Metrics::text_of(const std::string &name, const std::string &what, const std::string &label,
                             const std::map<std::string, Histogram<Count>> &all,
                             const std::array<double, Count> &bounds) {
    std::string out = heading(name, what, "histogram");
    for (const auto &[key, histogram] : all) {
        const std::string of = labelled(label, key);
        for (size_t i = 0; i < Count; ++i)
            out += name + "_bucket{" + of + ",le=\"" + in_short(bounds[i]) + "\"} " +
                   std::to_string(histogram.buckets[i]) + "\n";
        out += name + "_bucket{" + of + ",le=\"+Inf\"} " + std::to_string(histogram.count) + "\n";
        out += name + "_sum{" + of + "} " + in_short(histogram.sum) + "\n";
        out += name + "_count{" + of + "} " + std::to_string(histogram.count) + "\n";
    }
    return out;
}

void Metrics::request(const std::string &path, int status, Seconds time) {
    const std::scoped_lock lock(mutex_);
    ++requests_[{path, status}];
    add(seconds_[path], times, time.count());
}

void Metrics::tokens(const std::string &model, const Usage &usage) {
    const std::scoped_lock lock(mutex_);
    Usage &all = tokens_[model];
    all.prompt += usage.prompt;
    all.answer += usage.answer;
    all.reused += usage.reused;
    all.guessed += usage.guessed;
    all.accepted += usage.accepted;
}

void Metrics::first_token(const std::string &model, Seconds time) {
    const std::scoped_lock lock(mutex_);
    add(first_seconds_[model], times, time.count());
}

void Metrics::batch(const std::string &model, size_t size) {
    const std::scoped_lock lock(mutex_);
    add(batches_[model], sizes, static_cast<double>(size));
}

std::string Metrics::text(const Gauges &gauges, const std::map<std::string, std::string> &states) const {
    const std::scoped_lock lock(mutex_);
    std::string out = heading("lamina_requests_total", "Requests that were answered.", "counter");
    for (const auto &[key, count] : requests_)
        out += "lamina_requests_total{" + labelled("path", key.first) + "," +
               labelled("status", std::to_string(key.second)) + "} " + std::to_string(count) + "\n";
    out += text_of("lamina_request_seconds", "From a request to the end of its response.", "path", seconds_, times);
    out += text_of("lamina_first_token_seconds", "From a request to the first token of its answer.", "model",
                   first_seconds_, times);
    out += text_of("lamina_batch_size", "Requests that were worked on together.", "model", batches_, sizes);
    const auto tokens = [&](const std::string &name, const std::string &what, size_t Usage::*count) {
        out += heading(name, what, "counter");
        for (const auto &[model, usage] : tokens_)
            out += name + "{" + labelled("model", model) + "} " + std::to_string(usage.*count) + "\n";
    };
    tokens("lamina_prompt_tokens_total", "Tokens of prompts and texts.", &Usage::prompt);
    tokens("lamina_reused_tokens_total", "Of these, the tokens that earlier texts had in common.", &Usage::reused);
    tokens("lamina_generated_tokens_total", "Tokens of answers.", &Usage::answer);
    tokens("lamina_guessed_tokens_total", "Tokens that were guessed ahead.", &Usage::guessed);
    tokens("lamina_accepted_tokens_total", "Of these, the right ones.", &Usage::accepted);
    for (const auto &[name, gauge] : gauges)
        out += heading(name, gauge.first, "gauge") + name + " " + in_short(gauge.second) + "\n";
    out += heading("lamina_model_state", "1 for the state that a model is in: loaded, loading, unloaded, failed.",
                   "gauge");
    for (const auto &[model, state] : states)
        out += "lamina_model_state{" + labelled("model", model) + "," + labelled("state", state) + "} 1\n";
    return out;
}

} // namespace lamina::serve
