// Listener in audio.hpp.
#include <lamina/audio.hpp>

#include "api/access.hpp"
#include "generation/transcribe.hpp"
#include "generation/voice.hpp"

#include <algorithm>
#include <utility>

namespace lamina {

struct Listener::State {
    Session &session;
    GenerateOptions options;
    const model::AudioInput &input;
    std::vector<float> recent{};    // what is not heard yet, and before it as much as a window, to know how loud it was
    size_t heard = 0;               // of `recent`
    size_t looked_at = 0;           // samples of `recent`
    uint64_t forgotten = 0;         // samples before `recent`
    std::vector<Transcript> done{}; // kept until the caller has them, whatever fails meanwhile

    [[nodiscard]] size_t window() const { return static_cast<size_t>(input.length); }

    // Transcribes what has been said: up to a pause, or all of it.
    void hear(bool all) {
        constexpr int64_t looks_a_second = 50;
        if (!all && recent.size() < looked_at + static_cast<size_t>(input.rate / looks_a_second)) return;
        looked_at = recent.size();
        const auto silence =
            static_cast<size_t>((generation::pause - generation::margin) * static_cast<double>(input.rate));
        for (const generation::Stretch &voice : generation::voiced(recent, input.rate))
            while (voice.end > heard) {
                const size_t begin = std::max(voice.begin, heard);
                const generation::Samples rest(recent.data() + begin, voice.end - begin);
                const bool ended = all || voice.end + silence <= recent.size();
                if (!ended && rest.size() <= window()) return;
                const generation::Samples next = generation::windows_of(rest, input).front();
                heard = begin + next.size(); // also if that fails, which would fail again
                done.push_back(transcribed(begin, next));
            }
        if (all) heard = recent.size();
    }

    Transcript transcribed(size_t begin, generation::Samples samples) {
        detail::SessionState &state = detail::Access::state(session);
        const std::scoped_lock turn(state.turn);
        Transcript out = std::move(generation::transcribe(state, {samples}, options).front());
        options.first += out.parts.size(); // each draws random numbers of its own
        const double seconds = static_cast<double>(forgotten + begin) / static_cast<double>(input.rate);
        for (Transcript::Part &part : out.parts) part.begin += seconds, part.end += seconds;
        for (const auto pieces : {&Transcript::segments, &Transcript::phrases})
            for (Transcript::Segment &each : out.*pieces) each.begin += seconds, each.end += seconds;
        return out;
    }

    void forget() {
        if (recent.size() > 2 * window() + heard) heard = recent.size() - 2 * window(); // nobody spoke
        if (heard <= window()) return;
        const size_t count = heard - window();
        recent.erase(recent.begin(), recent.begin() + static_cast<ptrdiff_t>(count));
        heard -= count, forgotten += count, looked_at -= count;
    }
};

Listener::Listener(Session &session, GenerateOptions options)
    : state_(std::make_unique<State>(
          State{session, std::move(options), generation::audio_input_of(*detail::Access::state(session).model)})) {
    state_->options.skip_silence = false; // there is none in an utterance
}
Listener::Listener(Listener &&) noexcept = default;
Listener &Listener::operator=(Listener &&) noexcept = default;
Listener::~Listener() = default;

std::vector<Transcript> Listener::add(std::span<const float> samples) {
    if (samples.empty()) return {};
    generation::expect_samples(samples, 1);
    state_->recent.insert(state_->recent.end(), samples.begin(), samples.end());
    state_->hear(false);
    state_->forget();
    return std::exchange(state_->done, {});
}

std::vector<Transcript> Listener::finish() {
    state_->hear(true);
    return std::exchange(state_->done, {});
}

} // namespace lamina
