// subtitles() in audio.hpp.
#include <lamina/audio.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace lamina {
namespace {

// "00:01:02,345"
std::string clock_time(double seconds, char point) {
    const auto ms = static_cast<int64_t>(std::llround(seconds * 1000));
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%02d:%02d:%02d%c%03d", static_cast<int>(ms / 3600000),
                  static_cast<int>(ms / 60000 % 60), static_cast<int>(ms / 1000 % 60), point,
                  static_cast<int>(ms % 1000));
    return text.data();
}

std::string subtitle(double begin, double end, const std::string &text, char point) {
    return clock_time(begin, point) + " --> " + clock_time(end, point) + "\n" +
           text.substr(std::min(text.find_first_not_of(' '), text.size())) + "\n\n";
}

} // namespace

std::string subtitles(const Transcript &transcript, Subtitles format) {
    const bool srt = format == Subtitles::srt;
    std::string out = srt ? "" : "WEBVTT\n\n";
    size_t number = 0;
    const auto add = [&](double begin, double end, const std::string &text) {
        if (srt) out += std::to_string(++number) + "\n";
        out += subtitle(begin, end, text, srt ? ',' : '.');
    };
    for (const Transcript::Segment &each : transcript.segments) add(each.begin, each.end, each.text);
    if (transcript.segments.empty())
        for (const Transcript::Part &part : transcript.parts)
            if (part.hypothesis.text.find_first_not_of(' ') != std::string::npos)
                add(part.begin, part.end, part.hypothesis.text);
    return out;
}

} // namespace lamina
