#include <lamina/transformer.hpp>

#include "base/available_memory.hpp"
#include "builder/initial_weights.hpp"

#include "catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace lamina;

namespace {

constexpr TransformerLayer small{.d_model = 8, .heads = 2, .ffn = 16};

EncoderDecoder small_translator() {
    return {.source_embedding = {.d_model = 8, .vocabulary = 3},
            .encoder = {.layer = small, .layers = 2},
            .target_embedding = {.d_model = 8, .vocabulary = 4},
            .decoder = {.layer = small.with_source_attention(), .layers = 3},
            .generator = {.d_model = 8, .vocabulary = 4}};
}
TextVocabularies small_text() {
    return {.source = {"a", "b", "c"}, .target = {"<s>", "</s>", "x", "y"}, .max_length = 5};
}

template <class System> std::string refusal(const System &system, const BuildOptions &options = {}) {
    std::string message;
    try {
        (void)build(system, options);
    } catch (const Error &error) {
        CHECK(error.code() == ErrorCode::usage);
        message = error.what();
    }
    return message;
}

// build() of `system` with something changed.
template <class System, class Change> std::string refusal_with(System system, const Change &change) {
    change(system);
    return refusal(system);
}

bool same_bytes(const Tensor &a, const Tensor &b) {
    return a.type() == b.type() && std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0;
}

} // namespace

TEST_CASE("transformer: weights depend on the seed and the name, and on nothing else") {
    const auto weights = build(small_translator(), {.seed = 1}).weights,
               again = build(small_translator(), {.seed = 1}).weights;
    REQUIRE(weights.size() == again.size());
    for (const auto &[name, tensor] : weights) CHECK(same_bytes(tensor, again.at(name)));

    const std::string matrix = "encoder.0.attention.query.weight";
    CHECK_FALSE(same_bytes(weights.at(matrix), build(small_translator(), {.seed = 2}).weights.at(matrix)));
    CHECK(same_bytes(weights.at(matrix), build(Encoder{.layer = small, .layers = 1}, {.seed = 1}).weights.at(matrix)));
}

TEST_CASE("transformer: a seed gives these weights on every machine") {
    const Tensor table = build(EmbeddingsWithPositionalEncoding{.d_model = 2, .vocabulary = 3}, {.seed = 42})
                             .weights.at("tokens.embedding.table");
    REQUIRE(table.shape() == Shape{3, 2});
    const std::vector<float> found(table.f32().begin(), table.f32().end());
    CHECK(found == std::vector<float>{0x1.f3177cp-1F, -0x1.2cc3eep-1F, 0x1.b6c6d6p-1F, 0x1.660bdep-3F, 0x1.13f8aep-2F,
                                      -0x1.5dcaaap-1F});
}

TEST_CASE("transformer: every copy of a layer has weights of its own") {
    const auto weights = build(small_translator()).weights;
    for (const char *name : {"attention.query.weight", "source_attention.out.weight", "feed_forward.up_weight"}) {
        INFO(name);
        const std::string decoder = "decoder.";
        CHECK_FALSE(same_bytes(weights.at(decoder + "0." + name), weights.at(decoder + "1." + name)));
        CHECK_FALSE(same_bytes(weights.at(decoder + "1." + name), weights.at(decoder + "2." + name)));
    }
    CHECK_FALSE(weights.contains("decoder.3.attention.query.weight"));
    CHECK_FALSE(weights.contains("encoder.2.attention.query.weight"));
}

TEST_CASE("transformer: matrices are even within sqrt(6 / (rows + columns)), biases 0, scales of norms 1") {
    const auto weights = build(TransformerLayer{.d_model = 64, .heads = 4, .ffn = 192}).weights;
    const Tensor &up = weights.at("encoder.0.feed_forward.up_weight");
    REQUIRE(up.shape() == Shape{192, 64});
    const double limit = std::sqrt(6.0 / (192 + 64));
    double sum = 0, square = 0, largest = 0;
    for (const double v : up.f32()) sum += v, square += v * v, largest = std::max(largest, std::abs(v));
    const auto n = static_cast<double>(up.size());
    CHECK(largest <= limit);
    CHECK(largest > 0.99 * limit);
    CHECK(std::abs(sum / n) < 0.02 * limit);
    CHECK(std::abs(square / n - limit * limit / 3) < 0.03 * limit * limit); // the variance of a uniform distribution
    for (const float v : weights.at("encoder.0.feed_forward.up_bias").f32()) CHECK(v == 0);
    for (const float v : weights.at("encoder.0.norm_attention.weight").f32()) CHECK(v == 1);
    for (const float v : weights.at("encoder.0.norm_attention.bias").f32()) CHECK(v == 0);
}

TEST_CASE("transformer: positions are sinusoids in either layout, or a learned table of max_len rows") {
    using Positions = EmbeddingsWithPositionalEncoding::Positions;
    const auto with = [](Positions positions) {
        return build(
            EmbeddingsWithPositionalEncoding{.d_model = 64, .vocabulary = 3, .max_len = 192, .positions = positions});
    };
    const auto params = [](const ModelDescription &model) {
        return nlohmann::json::parse(model.json).at("graphs").at("embed").at("layers").at(1).at("params");
    };
    using nlohmann::json;
    CHECK(params(with(Positions::interleaved)) == json{{"max_len", 192}});
    CHECK(params(with(Positions::halves)) == json{{"max_len", 192}, {"layout", "halves"}});
    CHECK_FALSE(with(Positions::halves).weights.contains("tokens.positions.table"));
    const ModelDescription learned = with(Positions::learned);
    CHECK(params(learned) == json{{"max_len", 192}});
    const Tensor &table = learned.weights.at("tokens.positions.table");
    REQUIRE(table.shape() == Shape{192, 64});
    const float limit = std::sqrt(6.0F / (192 + 64));
    const auto [lowest, highest] = std::ranges::minmax(table.f32());
    CHECK((-limit <= lowest && lowest < -0.99F * limit && 0.99F * limit < highest && highest <= limit));
    CHECK(with(Positions::interleaved).weights.size() + 1 == learned.weights.size());
}

TEST_CASE("transformer: narrow dtypes are for matrices; vectors stay f32") {
    for (const DType dtype : {DType::f16, DType::bf16, DType::q8_0}) {
        const auto weights = build(TransformerLayer{.d_model = 32, .heads = 2, .ffn = 64}, {.dtype = dtype}).weights;
        CHECK(weights.at("encoder.0.attention.key.weight").dtype() == dtype);
        CHECK(weights.at("encoder.0.attention.key.bias").dtype() == DType::f32);
        CHECK(weights.at("encoder.0.norm_attention.weight").dtype() == DType::f32);
    }
    CHECK_THAT(refusal(small, {.dtype = DType::q8_0}),
               matchers::contains("(8, 8) cannot be q8_0, which stores 32 values of a row together"));
    CHECK_THAT(refusal(small, {.dtype = DType::i32}),
               matchers::contains("dtype is i32; expected f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, "
                                  "q6_k, q2_k, q3_k, iq4_nl, iq4_xs, i8_k or i4_k"));
}

TEST_CASE("transformer: layers without bias have no bias weights, but norms do") {
    TransformerLayer layer = small;
    layer.bias = false;
    const auto weights = build(layer).weights;
    CHECK_FALSE(weights.contains("encoder.0.attention.query.bias"));
    CHECK_FALSE(weights.contains("encoder.0.feed_forward.down_bias"));
    CHECK(weights.contains("encoder.0.norm_attention.bias"));
}

TEST_CASE("transformer: a stack is written once, with its dropout, and copies are counted") {
    EncoderDecoder translator = small_translator();
    translator.decoder.layer.dropout = 0.1;
    translator.decoder.layer.eps = 1e-6;
    const auto json = nlohmann::json::parse(build(translator).json);
    const auto &layers = json.at("graphs").at("decode").at("layers");
    REQUIRE(layers.at(2).at("repeat") == 3);
    const auto &copy = layers.at(2).at("layers");
    REQUIRE(copy.size() == 7 + 5 + 3); // norm, attention of five layers or three, feed-forward of one, dropout
    CHECK(copy.at(0).at("params").at("eps") == 1e-6);
    CHECK(copy.at(5).at("name") == "decoder.{i}.attention.out");
    CHECK_FALSE(copy.at(5).contains("inputs")); // no residual
    CHECK(copy.at(6).at("type") == "dropout");
    CHECK(copy.at(6).at("params").at("p") == 0.1);
    CHECK(copy.at(6).at("inputs").at("residual") == "x");
    CHECK(json.at("graphs").at("encode").at("layers").at(2).at("layers").size() == 8); // no dropout: no layers for it
}

TEST_CASE("transformer: encode outputs the keys and values of the source, and decode takes them") {
    const auto graphs = nlohmann::json::parse(build(small_translator()).json).at("graphs");
    const auto &given = graphs.at("encode").at("outputs"), &taken = graphs.at("decode").at("inputs");
    size_t passed = 0;
    for (const auto &[name, input] : taken.items()) {
        if (!given.contains(name)) continue;
        CHECK(input.at("dims") == "B S 8");
        ++passed;
    }
    CHECK(passed == 2 * 3); // of each of the decoder's layers
    CHECK_FALSE(taken.contains("memory"));
    const auto alone = nlohmann::json::parse(build(small_translator().decoder).json).at("graphs").at("decode");
    CHECK(alone.at("inputs").at("memory").at("dims") == "B S 8");
}

TEST_CASE("transformer: every setting out of range is named, with what was expected") {
    const auto layer = [](const auto &change) { return refusal_with(small, change); };
    CHECK(layer([](auto &l) { l.d_model = 7; }) ==
          "encoder.layer: d_model is 7; expected an even number: in positions, sines and cosines come in pairs");
    CHECK(layer([](auto &l) { l.d_model = 0; }) == "encoder.layer: d_model is 0; expected a number from 2 to 1048576");
    CHECK(layer([](auto &l) { l.heads = 3; }) ==
          "encoder.layer: heads is 3; expected a divisor of d_model, which is 8");
    CHECK(layer([](auto &l) { l.heads = 0; }) == "encoder.layer: heads is 0; expected a number from 1 to 8");
    CHECK_THAT(layer([](auto &l) { l.ffn = -1; }), matchers::contains("ffn is -1; expected a number from 1"));
    CHECK_THAT(layer([](auto &l) { l.dropout = 1.5; }), matchers::contains("dropout is 1.5"));
    CHECK_THAT(layer([](auto &l) { l.dropout = std::numeric_limits<double>::quiet_NaN(); }),
               matchers::contains("dropout is nan; expected a number from 0 to 1"));
    CHECK_THAT(layer([](auto &l) { l.eps = -1; }), matchers::contains("eps is -1"));
    CHECK_THAT(refusal(Encoder{.layer = small, .layers = 0}), matchers::contains("encoder: layers is 0"));
    CHECK_THAT(refusal(Encoder{.layer = small, .layers = 1025}), matchers::contains("from 1 to 1024"));
    CHECK_THAT(refusal(Encoder{.layer = small.with_source_attention()}),
               matchers::contains("source_attention is true; expected false: an encoder has no source"));
    CHECK_THAT(refusal(EmbeddingsWithPositionalEncoding{.d_model = 8}), matchers::contains("vocabulary is 0"));
    CHECK_THAT(refusal(EmbeddingsWithPositionalEncoding{.d_model = 8, .vocabulary = 2, .max_len = 0}),
               matchers::contains("max_len is 0"));
    CHECK_THAT(refusal(Generator{.d_model = 8}), matchers::contains("generator: vocabulary is 0"));
    CHECK_THAT(refusal(small, {.name = "a/b"}), matchers::contains("name is 'a/b'; expected letters, digits"));
    CHECK_THAT(refusal(small, {.summary = "\xff"}), matchers::contains("summary is not valid UTF-8"));
}

TEST_CASE("transformer: blocks that do not fit together are refused by name") {
    const auto with = [](const auto &change) { return refusal_with(small_translator(), change); };
    REQUIRE(with([](auto &) {}).empty());
    CHECK(with([](auto &m) { m.generator.d_model = 16; }) ==
          "generator: d_model is 16; expected 8, as in decoder.layer");
    CHECK(with([](auto &m) { m.source_embedding.d_model = 16; }) ==
          "source_embedding: d_model is 16; expected 8, as in encoder.layer");
    CHECK(with([](auto &m) { m.target_embedding.batch_first = false; }) ==
          "target_embedding: batch_first is false; expected true, as in decoder.layer");
    CHECK_THAT(with([](auto &m) { m.decoder.layer.source_attention = false; }),
               matchers::contains("decoder.layer: source_attention is false; expected true"));
    CHECK_THAT(refusal(DecoderOnly{.embedding = {.d_model = 8, .vocabulary = 2},
                                   .decoder = {.layer = small.with_source_attention()},
                                   .generator = {.d_model = 8, .vocabulary = 2}}),
               matchers::contains("a decoder alone has no source"));
}

TEST_CASE("transformer: the output of an encoder that is wider than its decoder is projected") {
    EncoderDecoder m = small_translator();
    m.encoder.layer.d_model = m.source_embedding.d_model = 12;
    const ModelDescription built = build(m);
    CHECK(built.weights.at("decoder.0.source_attention.key.weight").shape() == Shape{8, 12});
    CHECK(built.weights.at("decoder.0.source_attention.query.weight").shape() == Shape{8, 8});
}

TEST_CASE("transformer: text needs vocabularies that fit, and graphs that generation can drive") {
    const auto with = [](const auto &change) {
        EncoderDecoder model = small_translator();
        TextVocabularies text = small_text();
        change(model, text);
        return refusal(model, {.text = text});
    };
    REQUIRE(with([](auto &, auto &) {}).empty());
    CHECK(with([](auto &, auto &t) { t.source.emplace_back("d"); }) ==
          "source_embedding: vocabulary is 3; expected 4, one for each token of source.txt");
    CHECK_THAT(with([](auto &, auto &t) { t.target.clear(); }), matchers::contains("no tokens for target.txt"));
    CHECK_THAT(with([](auto &, auto &t) { t.source = {"a", "b\nc"}; }), matchers::contains("have line breaks"));
    CHECK(with([](auto &, auto &t) { t.end = "</S>"; }) ==
          "text: '</S>' is not in the target vocabulary; choose another start or end");
    CHECK_THAT(with([](auto &, auto &t) { t.max_length = 5000; }), matchers::contains("max_length is 5000"));
    CHECK_THAT(with([](auto &m, auto &) { m.encoder.mask = Mask::keep; }), matchers::contains("needs lengths"));
    CHECK_THAT(with([](auto &m, auto &) { m.decoder.mask = Mask::keep; }), matchers::contains("decoder.mask none"));
    CHECK_THAT(with([](auto &m, auto &) { m.decoder.causal = false; }), matchers::contains("a causal decoder"));
    CHECK_THAT(with([](auto &m, auto &) { m.generator.vocabulary = 5; }),
               matchers::contains("generator: vocabulary is 5; expected 4, as in target_embedding"));
}

TEST_CASE("transformer: weights that exceed the free memory are refused before any is made") {
    using builder::check_memory;
    using builder::memory_for;
    using Rule = builder::InitialWeight::Rule;
    const std::vector<builder::InitialWeight> weights{{"matrix", {6, 4}, Rule::xavier_uniform},
                                                      {"smaller", {3, 4}, Rule::xavier_uniform},
                                                      {"vector", {4}, Rule::ones}};
    CHECK(memory_for(weights, DType::f32) == (24 + 12 + 4) * 4);
    CHECK(memory_for(weights, DType::f16) == (24 + 12) * 2 + 4 * 4 + 24 * 4); // the matrix, before it is narrowed

    CHECK_NOTHROW(check_memory(1000, 1000));
    CHECK_NOTHROW(check_memory(UINT64_MAX, std::nullopt)); // if the system does not say
    CHECK(message_of([] { check_memory(uint64_t{3} << 40, uint64_t{3} << 29); }) ==
          "the weights need 3.0 TiB, 1.5 GiB are free; build a smaller model");
    try {
        (void)build(EmbeddingsWithPositionalEncoding{.d_model = 1 << 20, .vocabulary = 1 << 28},
                    {.progress = [](size_t, size_t) { FAIL("a weight was made"); }});
        FAIL("a table of a pebibyte was made");
    } catch (const Error &error) {
        CHECK(error.code() == ErrorCode::memory);
        CHECK_THAT(error.what(), matchers::contains("the weights need 1.0 PiB, "));
        if (available_memory()) CHECK_THAT(error.what(), matchers::contains(" are free"));
    }
}

TEST_CASE("transformer: progress counts every weight, and may stop the work by throwing") {
    size_t calls = 0, last = 0;
    const ModelDescription built = build(small, {.progress = [&](size_t done, size_t all) {
                                             ++calls;
                                             CHECK(done == calls);
                                             last = all;
                                         }});
    CHECK(calls == built.weights.size());
    CHECK(last == built.weights.size());
    struct Stop {};
    CHECK_THROWS_AS(build(small, {.progress = [](size_t, size_t) { throw Stop(); }}), Stop);
}
