#include "generation/speech.hpp"

#include "generation/audio_inputs.hpp"
#include "generation/ctc.hpp"
#include "generation/scores.hpp"
#include "model/place.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

namespace lamina::generation {
namespace {

// Of the scores of a window's frames.
Transcript transcript_of(const model::Speech &speech, std::span<const float> scores, const GenerateOptions &options) {
    const std::vector<double> likely = log_probabilities_of(scores, speech.labels.size());
    const auto beams = static_cast<size_t>(options.beams.value_or(1));
    const Spelled found = beams == 1 ? likeliest_path(speech, likely) : likeliest_text(speech, likely, beams);
    Hypothesis hypothesis;
    hypothesis.finish = Finish::end;
    hypothesis.log_probability = hypothesis.score = found.log_probability;
    for (const model::Speech::Run &run : found.runs) hypothesis.tokens.push_back(run.label);
    hypothesis.text = speech.text_of(hypothesis.tokens);
    if (!hypothesis.text.empty()) hypothesis.text = speech.between() + hypothesis.text;
    Transcript out{.text = {}, .parts = {{.hypothesis = std::move(hypothesis)}}};
    if (options.timestamps != Timestamps::none) out.segments = segments_of(speech, found.runs, options.timestamps);
    return out;
}

class Windows {
  public:
    Windows(detail::SessionState &session, const std::vector<Samples> &windows, const GenerateOptions &options)
        : session_(session), speech_(*session.model->speech), frames_(*speech_.audio.frames), windows_(windows),
          options_(options), out_(windows.size()) {}

    std::vector<Transcript> run() {
        std::vector<size_t> order(windows_.size());
        std::iota(order.begin(), order.end(), size_t{0});
        // Windows of similar length together; those that are shown as they come, one after the other.
        if (!options_.stream) std::ranges::stable_sort(order, {}, [&](size_t i) { return windows_[i].size(); });
        for (size_t first = 0; first < order.size();) {
            const auto batch = std::span(order).subspan(first, rows_of_batch(order, first));
            run(batch);
            first += batch.size();
            if (options_.progress) options_.progress(first, order.size());
        }
        return std::move(out_);
    }

  private:
    detail::SessionState &session_;
    const model::Speech &speech_;
    const model::AudioFrames &frames_;
    const std::vector<Samples> &windows_;
    const GenerateOptions &options_;
    std::vector<Transcript> out_;

    [[nodiscard]] int64_t frames_of(size_t window) const {
        return frames_.lengths.count(static_cast<int64_t>(windows_[window].size()));
    }

    // As many, of lengths that never fall, as have no more samples than one window may have: memory follows the
    // samples.
    [[nodiscard]] size_t rows_of_batch(const std::vector<size_t> &order, size_t first) const {
        const size_t most = options_.stream ? 1 : options_.batch;
        size_t rows = 1;
        while (rows < most && first + rows < order.size() &&
               (rows + 1) * windows_[order[first + rows]].size() <= static_cast<size_t>(speech_.audio.length))
            ++rows;
        return rows;
    }

    void run(std::span<const size_t> batch) {
        std::vector<Samples> heard;
        std::vector<size_t> of_heard; // with at least a frame
        int64_t longest = 0;
        for (const size_t i : batch) {
            if (frames_of(i) == 0) {
                Hypothesis silence;
                silence.finish = Finish::end;
                out_[i].parts.push_back({.hypothesis = std::move(silence)});
                continue;
            }
            heard.push_back(windows_[i]), of_heard.push_back(i);
            longest = std::max(longest, static_cast<int64_t>(windows_[i].size()));
        }
        if (heard.empty()) return;
        const int64_t frames = frames_of_program(speech_.audio, longest);
        const auto rows = static_cast<int64_t>(std::bit_ceil(heard.size()));
        const TensorMap inputs = inputs_of_windows(speech_.audio, heard, rows, frames);
        const Tensor logits =
            session_.surviving_loss([&] { return session_.run(speech_.graph, inputs); }).at(speech_.logits);
        expect_shape_of_speech(*session_.model, logits.shape(), rows, frames);
        const size_t row = logits.f32().size() / static_cast<size_t>(rows);
        for (size_t r = 0; r < heard.size(); ++r)
            finish(of_heard[r],
                   logits.f32().subspan(r * row, static_cast<size_t>(frames_of(of_heard[r])) * speech_.labels.size()));
    }

    void finish(size_t window, std::span<const float> scores) {
        try {
            out_[window] = transcript_of(speech_, scores, options_);
        } catch (const NoAnswer &why) {
            if (!options_.failed) throw;
            return options_.failed(window, why);
        }
        const std::string &text = out_[window].parts.front().hypothesis.text;
        if (options_.stream && !text.empty()) options_.stream(window, text);
    }
};

} // namespace

void expect_no_choices(const GenerateOptions &o) {
    const auto refuse = [](const std::string &what) {
        throw Error(ErrorCode::usage, what + ": does not apply to this model, which scores characters for each moment "
                                             "of audio and takes the likeliest ones");
    };
    if (o.batch < 1) throw Error(ErrorCode::usage, "batch: expected at least 1, found 0");
    if (const int64_t beams = o.beams.value_or(1); beams < 1 || beams > 1024)
        throw Error(ErrorCode::usage, "beams: expected 1 to 1024, found " + std::to_string(beams));
    if (o.timestamps == Timestamps::segments)
        throw Error(ErrorCode::usage, "timestamps: this model tells those of words and of characters");
    if (o.temperature != 0) refuse("temperature");
    if (o.max_length != 0) refuse("max_length");
    if (o.min_length != 0) refuse("min_length");
    if (!o.biases.empty()) refuse("biases");
    if (o.grammar) refuse("grammar");
    if (o.likeliest) refuse("likeliest");
    if (!o.choices.empty()) refuse(o.choices.begin()->first);
}

std::vector<Transcript> recognized(detail::SessionState &session, const std::vector<Samples> &windows,
                                   const GenerateOptions &options) {
    expect_no_choices(options);
    return Windows(session, windows, options).run();
}

void expect_shape_of_speech(const model::Model &model, const Shape &output, int64_t batch, int64_t frames) {
    const model::Speech &speech = *model.speech;
    const auto labels = static_cast<int64_t>(speech.labels.size());
    if (output == Shape{batch, frames, labels}) return;
    throw Error(ErrorCode::input, model::place_in(model, "/speech/logits") + ": expected '" + speech.logits +
                                      "' to be " + to_string({batch, frames, labels}) +
                                      ", a score of each label for each frame, found " + to_string(output) + " for " +
                                      std::to_string(speech.audio.frames->lengths.samples(frames)) + " samples");
}

} // namespace lamina::generation
