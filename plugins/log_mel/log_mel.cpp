// Whisper's log-mel spectrogram. README.md has the maths.
#include <lamina/plugin.hpp>

#include "log_mel.kernels.hpp"
#include "tables.hpp"

namespace {
using namespace lamina::plugin;
using namespace log_mel;

constexpr double least_power = 1e-10, range = 8; // powers below 10^-8 of the greatest are clamped

struct Setting {
    Tensor samples;
    int64_t batch, length, frames, n_fft, hop, mels, bins, sample_rate;

    explicit Setting(const Call &call)
        : samples(call.in("samples")), batch(samples.dim(0)), length(samples.dim(1)), frames(call.out("y").dim(1)),
          n_fft(call.integer("n_fft")), hop(call.integer("hop")), mels(call.integer("mels")), bins(n_fft / 2 + 1),
          sample_rate(call.integer("sample_rate")) {}
};

class Reference {
  public:
    explicit Reference(const Call &call) : s_(call), y_(call.out("y")) {}

    void run() const {
        for (int64_t b = 0; b < s_.batch; ++b) {
            std::vector<double> logs;
            for (int64_t t = 0; t < s_.frames; ++t) add_frame(b, t, logs);
            const double least = *std::ranges::max_element(logs) - range;
            std::ranges::transform(logs, y_.f32().begin() + b * s_.frames * s_.mels,
                                   [=](double v) { return static_cast<float>((std::max(v, least) + 4) / 4); });
        }
    }

  private:
    const Setting s_;
    const Tensor y_;
    const std::vector<double> window_ = hann_window(s_.n_fft), turns_ = turns(s_.n_fft),
                              filters_ = mel_filters(s_.mels, s_.bins, s_.sample_rate);

    void add_frame(int64_t b, int64_t t, std::vector<double> &logs) const {
        std::vector<double> frame, powers;
        for (int64_t i = 0; i < s_.n_fft; ++i)
            frame.push_back(sample(b, t * s_.hop + i - s_.n_fft / 2) * window_[static_cast<size_t>(i)]);
        for (int64_t bin = 0; bin < s_.bins; ++bin) powers.push_back(power(frame, bin));
        for (int64_t m = 0; m < s_.mels; ++m) {
            double sum = 0;
            for (size_t bin = 0; bin < powers.size(); ++bin)
                sum += filters_[static_cast<size_t>(m) * powers.size() + bin] * powers[bin];
            logs.push_back(std::log10(std::max(sum, least_power)));
        }
    }

    // Beyond its ends the sound is mirrored.
    [[nodiscard]] double sample(int64_t b, int64_t at) const {
        const int64_t mirrored = at < 0 ? -at : at >= s_.length ? 2 * (s_.length - 1) - at : at;
        return s_.samples.row(b)[static_cast<size_t>(mirrored)];
    }

    [[nodiscard]] double power(const std::vector<double> &frame, int64_t bin) const {
        double re = 0, im = 0;
        size_t turn = 0; // i * bin, less whole turns
        for (const double v : frame) {
            re += v * turns_[2 * turn], im -= v * turns_[2 * turn + 1];
            turn += static_cast<size_t>(bin);
            if (turn >= frame.size()) turn -= frame.size();
        }
        return re * re + im * im;
    }
};

// The range [first, end) of bins in which each filter is not 0.
std::vector<uint32_t> extents(const std::vector<double> &filters, int64_t bins) {
    std::vector<uint32_t> out;
    const auto counts = [](double v) { return v != 0; };
    for (auto row = filters.begin(); row != filters.end(); row += bins) {
        const auto first = std::find_if(row, row + bins, counts), end = std::find_if_not(first, row + bins, counts);
        out.push_back(u32(first - row)), out.push_back(u32(end - row));
    }
    return out;
}

class Planner {
  public:
    Planner(const Call &call, Plan &plan) : plan_(plan), s_(call) {}

    void run() {
        const int64_t rows = s_.batch * s_.frames;
        const lamina_ref powers = plan_.scratch(rows * s_.bins * 4), logs = plan_.scratch(rows * s_.mels * 4),
                         peaks = plan_.scratch(s_.batch * 4);
        transform(rows, powers);
        filter(rows, powers, logs);
        const struct { uint32_t batch, size; } push{u32(s_.batch), u32(s_.frames * s_.mels)};
        plan_.dispatch(lamina_kernels::peak, plan_.spread(s_.batch), {logs, peaks}, push);
        plan_.dispatch(lamina_kernels::compress, plan_.spread(ceil_div(rows * s_.mels, 64)),
                       {logs, peaks, plan_.out("y")}, push);
    }

  private:
    Plan &plan_;
    const Setting s_;

    lamina_ref table(const std::vector<double> &values) {
        const std::vector<float> floats(values.begin(), values.end());
        return plan_.constant(std::span(floats));
    }

    void transform(int64_t rows, lamina_ref powers) {
        const struct {
            uint32_t rows, frames, length, hop, n_fft, bins;
        } push{u32(rows), u32(s_.frames), u32(s_.length), u32(s_.hop), u32(s_.n_fft), u32(s_.bins)};
        plan_.dispatch(lamina_kernels::spectrum, plan_.spread(ceil_div(rows, 8) * ceil_div(s_.bins, 64)),
                       {plan_.in("samples"), table(hann_window(s_.n_fft)), table(turns(s_.n_fft)), powers}, push);
    }

    void filter(int64_t rows, lamina_ref powers, lamina_ref logs) {
        const std::vector<double> filters = mel_filters(s_.mels, s_.bins, s_.sample_rate);
        const std::vector<uint32_t> bins = extents(filters, s_.bins);
        const struct { uint32_t rows, bins, mels; } push{u32(rows), u32(s_.bins), u32(s_.mels)};
        plan_.dispatch(lamina_kernels::log_mel, plan_.spread(ceil_div(rows * s_.mels, 64)),
                       {powers, table(filters), plan_.constant(std::span(bins)), logs}, push);
    }
};

struct LogMel {
    static constexpr auto id = "log_mel";
    static constexpr auto summary = "the log-mel spectrogram of Whisper";
    static constexpr auto source = "Radford et al.: Robust Speech Recognition via Large-Scale Weak Supervision, "
                                   "arXiv:2212.04356, section 2.2";

    static constexpr std::array params{
        integer("mels", "mel filters: values per frame", 80, 1, 65536),
        integer("n_fft", "samples per frame", 400, 2, 65536),
        integer("hop", "samples from one frame to the next", 160, 1, 65536),
        integer("sample_rate", "samples per second", 16000, 1, 1e6),
    };
    static constexpr std::array inputs{
        input("samples", "B hop*T", "sound, from -1 to 1; more than n_fft / 2 samples"),
    };
    static constexpr std::array outputs{
        output("y", "B T mels", "a row for each frame"),
    };

    static constexpr auto &kernels = lamina_kernels::all;
    static constexpr std::array variants{
        baseline("a transform by sums: a workgroup takes 8 frames and 64 frequencies"),
    };
    static constexpr std::array tolerances{tolerance(2e-4, 2e-4)};
    static constexpr std::array cases{
        "B=1 T=9",
        "B=2 T=17 mels=128",
        "B=2 T=37 mels=5 n_fft=64 hop=16",
        "B=1 T=65 mels=7 n_fft=33 hop=8",
        "B=3 T=8 mels=20 n_fft=200 hop=100 sample_rate=8000 samples=zeros",
    };

    static void check(const Call &call) {
        const Tensor samples = call.in("samples");
        if (samples.dim(1) <= call.integer("n_fft") / 2)
            throw Invalid("found " + std::to_string(samples.dim(1)) + " samples; expected more than n_fft / 2 = " +
                          std::to_string(call.integer("n_fft") / 2) + ", which are mirrored at the ends");
    }

    static void reference(const Call &call) { Reference(call).run(); }
    static void plan(const Call &call, Plan &plan) { Planner(call, plan).run(); }
};

} // namespace

LAMINA_PLUGIN(LogMel)
