#include "generation/voice.hpp"

#include <algorithm>
#include <cmath>

namespace lamina::generation {
namespace {

constexpr int64_t frames_a_second = 50;
// In frames.
constexpr size_t frames_of_loudest = frames_a_second / 5, frames_of_quietest = frames_a_second / 2, shortest_voice = 3,
                 frames_of_pause = static_cast<size_t>(pause * frames_a_second),
                 frames_around = static_cast<size_t>(margin * frames_a_second);
// In decibels.
constexpr double least_contrast = 10, least_level = -50, silence = -60, share_of_contrast = 0.3;

// Of each frame: 0 for the loudest sine, whose mean square is 1/2.
std::vector<double> levels_of(Samples audio, size_t frame) {
    std::vector<double> out;
    for (size_t at = 0; at < audio.size(); at += frame) {
        const Samples part = audio.subspan(at, std::min(frame, audio.size() - at));
        double square = 0;
        for (const float v : part) square += double{v} * double{v};
        out.push_back(10 * std::log10(2 * square / static_cast<double>(part.size()) + 1e-12));
    }
    return out;
}

// The level that voices are above; none are above infinity.
double threshold_of(std::vector<double> levels) {
    std::ranges::sort(levels);
    const double quiet = std::max(levels[std::min(levels.size() / 10, frames_of_quietest)], silence),
                 loud = levels[levels.size() - std::min(levels.size(), frames_of_loudest)];
    if (loud < least_level) return HUGE_VAL;
    return loud - quiet < least_contrast ? -HUGE_VAL : quiet + share_of_contrast * (loud - quiet);
}

} // namespace

std::vector<Stretch> voiced(Samples audio, int64_t rate) {
    if (audio.empty()) return {};
    const auto frame = static_cast<size_t>(std::max<int64_t>(rate / frames_a_second, 1));
    const std::vector<double> levels = levels_of(audio, frame);
    const double threshold = threshold_of(levels);
    std::vector<Stretch> out; // in frames
    for (size_t i = 0; i < levels.size(); ++i) {
        if (!(levels[i] > threshold)) continue;
        if (!out.empty() && i == out.back().end)
            ++out.back().end;
        else
            out.push_back({i, i + 1});
    }
    std::erase_if(out, [](const Stretch &each) { return each.end - each.begin < shortest_voice; });
    std::vector<Stretch> joined;
    for (const Stretch &each : out) {
        const bool goes_on = !joined.empty() && each.begin - joined.back().end < frames_of_pause;
        if (goes_on) joined.back().end = each.end;
        if (!goes_on) joined.push_back(each);
    }
    for (Stretch &each : joined) {
        each.begin = (each.begin - std::min(each.begin, frames_around)) * frame;
        each.end = std::min((each.end + frames_around) * frame, audio.size());
    }
    return joined;
}

Stretch next_heard(const std::vector<Stretch> &voices, size_t at, size_t most, size_t end) {
    const auto first = std::ranges::find_if(voices, [&](const Stretch &each) { return each.end > at; });
    if (first == voices.end()) return {end, end};
    const size_t begin = std::max(first->begin, at);
    size_t last = begin;
    for (auto each = first; each != voices.end() && each->begin < begin + most; ++each)
        last = std::min(each->end, begin + most);
    return {begin, last};
}

} // namespace lamina::generation
