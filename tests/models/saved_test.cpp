// A model in memory and its saved folder compute the same.
#include "system.hpp"

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <lamina/transformer.hpp>

#include <algorithm>
#include <cstring>

using namespace lamina;

namespace {

constexpr TransformerLayer layer{.d_model = 16, .heads = 4, .ffn = 24, .dropout = 0.1};
const TextVocabularies text{
    .source = {"a", "b", "c"}, .target = {"<s>", "</s>", "x", "y", "z"}, .source_characters = true, .max_length = 6};

ModelDescription translator(DType dtype) {
    return build(EncoderDecoder{.source_embedding = {.d_model = 16, .vocabulary = 3, .dropout = 0.1},
                                .encoder = {.layer = layer, .layers = 2},
                                .target_embedding = {.d_model = 16, .vocabulary = 5},
                                .decoder = {.layer = layer.with_source_attention(), .layers = 2},
                                .generator = {.d_model = 16, .vocabulary = 5}},
                 {.seed = 5, .dtype = dtype, .text = text});
}

Expected inputs() {
    const std::vector<int32_t> source{0, 1, 2, 2, 1, 0}, lengths{3, 2}, target{0, 2, 3, 0, 4, 1}, position{0, 0};
    return {.in = {{"source", Tensor::of({2, 3}, std::span(source))},
                   {"source_lengths", Tensor::of({2}, std::span(lengths))},
                   {"target", Tensor::of({2, 3}, std::span(target))},
                   {"position", Tensor::of({2}, std::span(position))}},
            .out = {},
            .weight = {},
            .state = {},
            .state_after = {}};
}

bool same_bits(const TensorMap &a, const TensorMap &b) {
    return std::ranges::equal(a, b, [](const auto &x, const auto &y) {
        return x.first == y.first && x.second.type() == y.second.type() &&
               std::memcmp(x.second.bytes().data(), y.second.bytes().data(), x.second.bytes().size()) == 0;
    });
}

} // namespace

TEST_CASE("saved models: built, saved and loaded, a model computes the same, bit for bit") {
    const TemporaryFolder folder;
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const ModelDescription built = translator(dtype);
        const auto path = folder.path() / name_of(dtype);
        built.save(path);
        const Model in_memory = runtime().load(built), loaded = runtime().load(path);
        for (const Device &device : devices()) {
            INFO(name_of(dtype) << " on " << device.id);
            const TensorMap found = run_all(loaded, device, inputs());
            CHECK(found.size() == 6); // memory, keys and values of two layers, probabilities
            CHECK(same_bits(run_all(in_memory, device, inputs()), found));
            Session a = runtime().session(in_memory, device), b = runtime().session(loaded, device);
            CHECK(a.generate({"abc", "c", ""}) == b.generate({"abc", "c", ""}));
        }
    }
}

TEST_CASE("saved models: dropout layers change nothing") {
    EncoderOnly with{.embedding = {.d_model = 16, .vocabulary = 3, .dropout = 0.5},
                     .encoder = {.layer = layer, .layers = 2}};
    EncoderOnly without = with;
    without.embedding.dropout = without.encoder.layer.dropout = 0;
    const Model dropping = runtime().load(build(with)), plain = runtime().load(build(without));
    const Device device = runtime().device("reference");
    const TensorMap a = run_all(dropping, device, inputs()), b = run_all(plain, device, inputs());
    for (size_t i = 0; i < a.at("memory").f32().size(); ++i)
        CHECK_THAT(a.at("memory").f32()[i], matchers::within_abs(b.at("memory").f32()[i], 1e-6));
}

TEST_CASE("saved models: a decoder alone continues a text") {
    const ModelDescription built = build(DecoderOnly{.embedding = {.d_model = 16, .vocabulary = 5},
                                                     .decoder = {.layer = layer, .layers = 2},
                                                     .generator = {.d_model = 16, .vocabulary = 5}},
                                         {.seed = 3, .text = TextVocabularies{.target = text.target, .max_length = 6}});
    const Model model = runtime().load(built);
    const auto texts = [&](const std::string &device) {
        return runtime().session(model, runtime().device(device)).generate({"x y", "z"});
    };
    const auto found = texts("cpu");
    CHECK(found == texts("reference"));
    CHECK(found.size() == 2);
}
