// encoder_decoder [FOLDER]: builds a small translator block by block, runs its two graphs, reads an intermediate result
// of one, and translates two sentences. The weights are untrained, so the translations are noise, but the same noise on
// every machine.
#include <lamina/lamina.hpp>
#include <lamina/transformer.hpp>

#include <array>
#include <iostream>
#include <numeric>

namespace {

constexpr int64_t d_model = 32, source_tokens = 5, target_tokens = 6;

lamina::ModelDescription build_translator() {
    const lamina::TransformerLayer layer{.d_model = d_model, .heads = 4, .ffn = 64, .dropout = 0.1};
    const lamina::EncoderDecoder translator{
        .source_embedding = {.d_model = d_model, .vocabulary = source_tokens},
        .encoder = {.layer = layer, .layers = 2},
        .target_embedding = {.d_model = d_model, .vocabulary = target_tokens},
        .decoder = {.layer = layer.with_source_attention(), .layers = 2},
        .generator = {.d_model = d_model, .vocabulary = target_tokens},
    };
    const lamina::TextVocabularies text{.source = {"the", "cat", "sat", "on", "mat"},
                                        .target = {"<s>", "</s>", "le", "chat", "est", "assis"},
                                        .max_length = 8};
    return lamina::build(translator, {.name = "translator", .seed = 7, .text = text});
}

// Encodes two sentences, the second one shorter, then decodes all target tokens at once.
void run_graphs(lamina::Session &session) {
    constexpr std::array<int32_t, 6> source{0, 1, 2, 1, 2, 0}, target{0, 2, 3, 0, 3, 4};
    constexpr std::array<int32_t, 2> lengths{3, 2}, position{0, 0};
    const lamina::Tensor source_lengths = lamina::Tensor::of({2}, std::span(lengths));

    // The input of the encoder's last feed-forward network, which is no output of the graph.
    const std::string ff_input = "encoder.1.norm_feed_forward";
    lamina::TensorMap encoded = session.run(
        "encode", {{"source", lamina::Tensor::of({2, 3}, std::span(source))}, {"source_lengths", source_lengths}},
        {ff_input});
    std::cout << "memory " << lamina::to_string(encoded.at("memory").shape()) << ", feed-forward input "
              << lamina::to_string(encoded.at(ff_input).shape()) << '\n';

    lamina::TensorMap inputs{{"target", lamina::Tensor::of({2, 3}, std::span(target))},
                             {"position", lamina::Tensor::of({2}, std::span(position))},
                             {"source_lengths", source_lengths}};
    for (const auto &[name, tensor] : encoded) // the source's keys and values, for each layer of the decoder
        if (name.starts_with("decoder.")) inputs[name] = tensor;
    const lamina::TensorMap decoded = session.run("decode", inputs);
    const lamina::Tensor &probabilities = decoded.at("probabilities");
    const auto row = probabilities.f32().first(target_tokens);
    std::cout << "probabilities " << lamina::to_string(probabilities.shape()) << ", a row sums to "
              << std::accumulate(row.begin(), row.end(), 0.0F) << '\n';
}

} // namespace

int main(int argc, char **argv) {
    try {
        const lamina::ModelDescription translator = build_translator();
        if (argc > 1) translator.save(argv[1]); // lamina inspect FOLDER, lamina run FOLDER "the cat"
        const lamina::Runtime runtime;
        lamina::Session session =
            runtime.session(runtime.load(translator), runtime.device("auto"), {.variants = {}, .keep_all = true});
        run_graphs(session);
        for (const std::string &text : session.generate({"the cat sat", "the mat"})) std::cout << "> " << text << '\n';
    } catch (const lamina::Error &error) {
        std::cerr << error.what() << '\n';
        return static_cast<int>(error.code());
    }
}
