// What the steps of a batch compute.
#pragma once

#include "catch.hpp"

#include "letters.hpp"
#include "plugin_runtime.hpp"

#include <lamina/lamina.hpp>
#include <lamina/measure.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace test {

// A model whose texts never end by themselves, and what its programs compute.
class Counted {
  public:
    explicit Counted(const Letters &how = {}) {
        const lamina::Model loaded = runtime().load(letters(how));
        lamina::SessionOptions options;
        options.profile = [this](const lamina::GraphTimes &times) {
            ++runs_;
            for (const lamina::LayerTime &layer : times.layers) operations_[layer.layer] += layer.cost.operations;
        };
        session_.emplace(runtime().session(loaded, runtime().device("cpu"), options));
        alone_.emplace(runtime().session(loaded, runtime().device("cpu")));
    }
    // The layers that only give scores compute one token of each row.
    double rows(const std::function<void()> &work) {
        return in_layer("generator", work) / (2 * Shape::d_model * Shape::vocabulary);
    }
    // The layers of feed-forward networks compute every token.
    double tokens(const std::function<void()> &work) {
        return in_layer("feed_forward", work) / (4 * Shape::d_model * Shape::ffn);
    }

    // Of the graph.
    size_t runs(const std::function<void()> &work) {
        const size_t before = runs_;
        work();
        return runs_ - before;
    }

    lamina::Session &session() { return *session_; }
    std::string alone(const std::string &text, const lamina::GenerateOptions &options = {}) {
        return alone_->generate({text}, options).front();
    }

  private:
    using Shape = Letters;
    double in_layer(const std::string &name, const std::function<void()> &work) {
        operations_.clear();
        work();
        for (const auto &[layer, operations] : operations_)
            if (layer.find(name) != std::string::npos) return operations;
        std::string found;
        for (const auto &[layer, operations] : operations_) found += layer + " ";
        FAIL("no layer " << name << " among " << found);
        return 0;
    }
    std::map<std::string, double> operations_;
    size_t runs_ = 0;
    std::optional<lamina::Session> session_, alone_;
};

inline std::string some_letters(size_t count, size_t seed) {
    std::string out;
    for (size_t i = 0; i < count; ++i) out += static_cast<char>('a' + (i * i + seed * i + seed) % 26);
    return out;
}

inline lamina::GenerateOptions of_length(int64_t tokens) {
    lamina::GenerateOptions out;
    out.max_length = tokens;
    return out;
}

// The model is untrained: another context may give the same text, but not with the same probability.
inline void expect_same(const lamina::Hypothesis &found, const lamina::Hypothesis &expected) {
    CHECK(found.tokens == expected.tokens);
    CHECK(found.finish == expected.finish);
    CHECK_THAT(found.log_probability, matchers::within_abs(expected.log_probability, 1e-3));
}

} // namespace test
