// Systems built by transformer.hpp with PyTorch's weights, compared with PyTorch.
#include "system.hpp"

#include "catch.hpp"
#include "places.hpp"

#include <lamina/transformer.hpp>

#include <fstream>
#include <functional>
#include <set>

using namespace lamina;
namespace fs = std::filesystem;

namespace {

const fs::path here = fs::path(LAMINA_SOURCE_DIR) / "tests" / "models";

constexpr TransformerLayer pre_norm{.d_model = 8, .heads = 2, .ffn = 12};
constexpr TransformerLayer post_norm{.d_model = 8, .heads = 2, .ffn = 12, .norm_first = false};
constexpr EmbeddingsWithPositionalEncoding source{.d_model = 8, .vocabulary = 11},
    target{.d_model = 8, .vocabulary = 13};

TransformerLayer sequence_first(TransformerLayer layer) {
    layer.batch_first = false;
    return layer;
}
EmbeddingsWithPositionalEncoding sequence_first(EmbeddingsWithPositionalEncoding embedding) {
    embedding.batch_first = false;
    return embedding;
}

using Positions = EmbeddingsWithPositionalEncoding::Positions;
EmbeddingsWithPositionalEncoding with(EmbeddingsWithPositionalEncoding embedding, Positions positions) {
    embedding.positions = positions;
    embedding.max_len = 7;
    return embedding;
}

ModelDescription layer_post_norm() {
    TransformerLayer layer = sequence_first(post_norm);
    layer.activation = Activation::gelu;
    layer.eps = 1e-3;
    return build(layer);
}

ModelDescription encoder_decoder_sequence_first() {
    TransformerLayer layer = sequence_first(post_norm);
    layer.activation = Activation::gelu;
    return build(
        EncoderDecoder{.source_embedding = sequence_first(source),
                       .encoder = {.layer = layer, .layers = 2},
                       .target_embedding = sequence_first(target),
                       .decoder = {.layer = layer.with_source_attention(), .layers = 2},
                       .generator = {.d_model = 8, .vocabulary = 13, .output = Generator::Output::log_probabilities}});
}

ModelDescription encoder_decoder_key_mask() {
    return build(
        EncoderDecoder{.source_embedding = source,
                       .encoder = {.layer = post_norm, .layers = 2, .mask = Mask::keys},
                       .target_embedding = target,
                       .decoder = {.layer = post_norm.with_source_attention(), .layers = 2, .source_mask = Mask::keys},
                       .generator = {.d_model = 8, .vocabulary = 13, .output = Generator::Output::log_probabilities}});
}

// Builds the system of each golden file.
const std::map<std::string, std::function<ModelDescription()>> systems{
    {"layer_pre_norm", [] { return build(pre_norm); }},
    {"layer_post_norm", layer_post_norm},
    {"layer_source_attention", [] { return build(sequence_first(pre_norm).with_source_attention()); }},
    {"encoder", [] { return build(Encoder{.layer = sequence_first(pre_norm), .layers = 2, .mask = Mask::keep}); }},
    {"decoder",
     [] {
         return build(Decoder{
             .layer = post_norm.with_source_attention(), .layers = 2, .mask = Mask::keep, .source_mask = Mask::keep});
     }},
    {"embedding", [] { return build(target); }},
    {"embedding_sequence_first", [] { return build(sequence_first(target)); }},
    {"embedding_halves", [] { return build(sequence_first(with(target, Positions::halves))); }},
    {"embedding_learned", [] { return build(with(target, Positions::learned)); }},
    {"generator", [] { return build(Generator{.d_model = 8, .vocabulary = 13}); }},
    {"encoder_only",
     [] { return build(EncoderOnly{.embedding = source, .encoder = {.layer = pre_norm, .layers = 2}}); }},
    {"decoder_only",
     [] {
         return build(DecoderOnly{.embedding = source,
                                  .decoder = {.layer = pre_norm, .layers = 2},
                                  .generator = {.d_model = 8, .vocabulary = 11, .output = Generator::Output::logits}});
     }},
    {"encoder_decoder",
     [] {
         return build(EncoderDecoder{
             .source_embedding = source,
             .encoder = {.layer = pre_norm, .layers = 2},
             .target_embedding = target,
             .decoder = {.layer = pre_norm.with_source_attention(), .layers = 2},
             .generator = {.d_model = 8, .vocabulary = 13, .output = Generator::Output::log_probabilities}});
     }},
    {"encoder_decoder_sequence_first", encoder_decoder_sequence_first},
    {"encoder_decoder_key_mask", encoder_decoder_key_mask},
};

std::set<std::string> names_in(const fs::path &folder) {
    std::set<std::string> names;
    for (const auto &entry : fs::directory_iterator(folder)) names.insert(entry.path().stem().string());
    return names;
}

} // namespace

TEST_CASE("systems: built models agree with PyTorch on the same weights") {
    for (const auto &[name, make] : systems) {
        INFO(name);
        Expected expected = read_expected(here / "golden" / (name + ".safetensors"));
        ModelDescription model = make();
        for (const auto &[weight, tensor] : model.weights) { // the same number, with the same names and shapes
            INFO(weight);
            REQUIRE(expected.weight.contains(weight));
            CHECK(expected.weight.at(weight).type() == tensor.type());
        }
        CHECK(expected.weight.size() == model.weights.size());
        model.weights = expected.weight;
        check_on_all_devices(runtime().load(model), expected);
    }
}

TEST_CASE("systems: every system has a golden file, and every golden file a system") {
    std::set<std::string> built;
    for (const auto &[name, make] : systems) built.insert(name);
    CHECK(names_in(here / "golden") == built);
}

TEST_CASE("from_torch: converted models agree with PyTorch") {
    const std::set<std::string> names = names_in(here / "converted");
    REQUIRE(names.size() >= 3);
    for (const std::string &name : names) {
        INFO(name);
        check_on_all_devices(runtime().load(here / "converted" / name),
                             read_expected(here / "converted" / name / "expected.safetensors"));
    }
}

TEST_CASE("from_torch: a converted language model continues prompts with PyTorch's likeliest tokens") {
    const fs::path folder = here / "converted" / "language_model";
    std::vector<std::string> prompts, continued;
    std::ifstream lines(folder / "expected.tsv");
    for (std::string line; std::getline(lines, line);) {
        const size_t tab = line.find('\t');
        REQUIRE(tab != std::string::npos);
        prompts.push_back(line.substr(0, tab));
        continued.push_back(line.substr(tab + 1));
    }
    REQUIRE(prompts.size() >= 3);
    const Model model = runtime().load(folder);
    GenerateOptions uncached;
    uncached.cached = false;
    for (const Device &device : devices()) {
        INFO(device.id);
        Session session = runtime().session(model, device);
        CHECK(session.generate(prompts) == continued);
        CHECK(session.generate(prompts, uncached) == continued);
    }
}
