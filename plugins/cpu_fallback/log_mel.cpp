// Whisper's log-mel spectrogram: the transform and the filters are products.
#include "arrays.hpp"
#include "kernels.hpp"
#include "log_mel/tables.hpp"
#include "product.hpp"
#include "threads.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace lamina::plugin::cpu_fallback {
namespace {

constexpr int64_t block_frames = 512;
constexpr float least_power = 1e-10F, range = 8; // as the layer has them

// A table (rows, cols) as the weight of a product.
struct Table {
    int64_t rows, cols;
    Matrix values{rows, cols};

    [[nodiscard]] WeightRows weight() const {
        return {LAMINA_F32, reinterpret_cast<const std::byte *>(values.data()), rows, cols,
                cols * static_cast<int64_t>(sizeof(float))};
    }
};

// (2 bins, n_fft): the cosines of every frequency at every sample, then the sines.
void fill_with_waves(int64_t n_fft, int64_t bins, float *values) {
    const std::vector<double> turns = log_mel::turns(n_fft);
    for (int64_t bin = 0; bin < bins; ++bin)
        for (int64_t i = 0; i < n_fft; ++i) {
            const auto turn = static_cast<size_t>(i * bin % n_fft);
            values[bin * n_fft + i] = static_cast<float>(turns[2 * turn]);
            values[(bins + bin) * n_fft + i] = static_cast<float>(turns[2 * turn + 1]);
        }
}

// A frame of sound, mirrored beyond its ends, in its window.
void take_frame(std::span<const float> samples, int64_t first, const std::vector<double> &window, float *frame) {
    const auto length = static_cast<int64_t>(samples.size());
    for (size_t i = 0; i < window.size(); ++i) {
        const int64_t at = first + static_cast<int64_t>(i);
        const int64_t mirrored = at < 0 ? -at : at >= length ? 2 * (length - 1) - at : at;
        frame[i] = samples[static_cast<size_t>(mirrored)] * static_cast<float>(window[i]);
    }
}

} // namespace

void log_mel(const Call &call) {
    const Tensor samples = call.in("samples"), y = call.out("y");
    const int64_t n_fft = call.integer("n_fft"), hop = call.integer("hop"), bins = n_fft / 2 + 1;
    const int64_t frames = y.dim(1), mels = y.dim(2);
    const std::vector<double> window = log_mel::hann_window(n_fft),
                              triangles = log_mel::mel_filters(mels, bins, call.integer("sample_rate"));
    const Table transform{2 * bins, n_fft}, filters{mels, bins};
    fill_with_waves(n_fft, bins, transform.values.data());
    std::ranges::copy(triangles, filters.values.data());

    const lamina_tensor left_out{};
    const Tensor no_bias(left_out);
    const Matrix sound(block_frames, n_fft), waved(block_frames, 2 * bins), powers(block_frames, bins);
    // The spectrogram of a few frames, before it is compressed.
    const auto add_block = [&](std::span<const float> own, int64_t first, int64_t count, float *out) {
        in_ranges(count, part_values / n_fft + 1, [&](int64_t begin, int64_t end) {
            for (int64_t t = begin; t < end; ++t)
                take_frame(own, (first + t) * hop - n_fft / 2, window, sound.data() + t * n_fft);
        });
        product(count, sound.data(), transform.weight(), no_bias, waved.data());
        in_ranges(count, part_values / bins + 1, [&](int64_t begin, int64_t end) {
            for (int64_t t = begin; t < end; ++t) {
                const float *const re = waved.data() + t * 2 * bins;
                std::transform(re, re + bins, re + bins, powers.data() + t * bins,
                               [](float a, float b) { return a * a + b * b; });
            }
        });
        product(count, powers.data(), filters.weight(), no_bias, out);
        in_ranges(count * mels, part_values / 16, [&](int64_t begin, int64_t end) {
            std::transform(out + begin, out + end, out + begin,
                           [](float power) { return std::log10(std::max(power, least_power)); });
        });
    };
    for (int64_t b = 0; b < samples.dim(0); ++b) {
        float *const out = y.f32().data() + b * frames * mels;
        for (int64_t first = 0; first < frames; first += block_frames)
            add_block(samples.row(b), first, std::min(block_frames, frames - first), out + first * mels);
        const float least = greatest(out, frames * mels) - range;
        std::transform(out, out + frames * mels, out, [=](float v) { return (std::max(v, least) + 4) / 4; });
    }
}

} // namespace lamina::plugin::cpu_fallback
