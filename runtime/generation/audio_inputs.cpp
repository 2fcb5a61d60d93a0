#include "generation/audio_inputs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lamina::generation {
namespace {

// Mean 0 and variance 1 (transformers, feature_extraction_wav2vec2.py, zero_mean_unit_var_norm).
void scale_to_variance_1(std::span<float> samples) {
    const auto n = static_cast<double>(samples.size());
    double mean = 0, variance = 0;
    for (const double v : samples) mean += v / n;
    for (const double v : samples) variance += (v - mean) * (v - mean) / n;
    const double scale = 1 / std::sqrt(variance + 1e-7);
    for (float &v : samples) v = static_cast<float>((v - mean) * scale);
}

} // namespace

plan::GraphShapes shapes_of(const model::AudioInput &audio, int64_t batch, int64_t frames) {
    const model::AudioFrames &of = audio.frames.value();
    plan::GraphShapes shapes;
    shapes.inputs[audio.samples] = {DType::f32, {batch, of.lengths.samples(frames), 1}};
    shapes.inputs[of.lengths.input] = {DType::i32, {batch}};
    if (of.norm_lengths) shapes.inputs[of.norm_lengths->input] = {DType::i32, {batch}};
    return shapes;
}

int64_t frames_of_program(const model::AudioInput &audio, int64_t samples) {
    constexpr int64_t least = 16;
    const model::Frames &lengths = audio.frames.value().lengths;
    const int64_t frames = lengths.covering(samples), most = lengths.covering(audio.length);
    if (frames <= least) return std::min(least, most);
    const auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(frames)) / 4);
    return std::min((frames + step - 1) / step * step, most);
}

TensorMap inputs_of_windows(const model::AudioInput &audio, const std::vector<Samples> &windows, int64_t rows,
                            int64_t frames) {
    const model::AudioFrames &of = audio.frames.value();
    const plan::GraphShapes shapes = shapes_of(audio, rows, frames);
    TensorMap out;
    for (const auto &[name, type] : shapes.inputs) out.emplace(name, Tensor(type));
    Tensor &samples = out.at(audio.samples);
    const auto width = static_cast<size_t>(samples.shape()[1]);
    const auto set_length = [&](const model::Frames &counted, size_t row, size_t count) {
        out.at(counted.input).i32()[row] = static_cast<int32_t>(counted.count(static_cast<int64_t>(count)));
    };
    std::vector<float> given;
    for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
        // Rows beyond the windows hear one frame, of silence.
        const Samples own = r < windows.size() ? windows[r] : Samples();
        given.assign(own.begin(), own.end());
        if (of.normalize && !given.empty()) scale_to_variance_1(given);
        std::ranges::copy(given, samples.f32().begin() + static_cast<std::ptrdiff_t>(r * width));
        const size_t count = std::max(own.size(), static_cast<size_t>(of.lengths.width));
        set_length(of.lengths, r, count);
        if (of.norm_lengths) set_length(*of.norm_lengths, r, count);
    }
    return out;
}

std::vector<std::vector<float>> usual_tones(const model::AudioInput &audio) {
    const model::Frames &lengths = audio.frames.value().lengths;
    std::vector<std::vector<float>> tones;
    for (const int64_t frames : {24, 17}) {
        std::vector<float> &tone = tones.emplace_back();
        const int64_t count = lengths.samples(frames) + lengths.step / 2; // some are left over
        for (int64_t i = 0; i < count; ++i)
            tone.push_back(static_cast<float>(0.3 * std::sin(0.1 * static_cast<double>(i)) +
                                              0.1 * std::sin(0.0003 * static_cast<double>(i * (i % 257)))));
    }
    return tones;
}

TensorMap usual_inputs(const model::AudioInput &audio) {
    const std::vector<std::vector<float>> tones = usual_tones(audio);
    return inputs_of_windows(audio, {tones[0], tones[1]}, 2,
                             audio.frames->lengths.covering(static_cast<int64_t>(tones[0].size())));
}

} // namespace lamina::generation
