// Reading audio files, and resampling.
#include "catch.hpp"
#include "temporary_folder.hpp"
#include "wav.hpp"

#include <lamina/audio.hpp>

#include <sndfile.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <numbers>

using namespace lamina;
using matchers::contains;

namespace {

std::string refusal(const std::filesystem::path &file) {
    return message_of([&] { (void)read_audio(file); });
}

std::vector<float> sine(double hertz, int64_t rate, size_t samples) {
    std::vector<float> out(samples);
    for (size_t i = 0; i < samples; ++i)
        out[i] = static_cast<float>(
            0.5 * std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / static_cast<double>(rate)));
    return out;
}

std::filesystem::path write_encoded(const TemporaryFolder &folder, const std::string &name, int format,
                                    const std::vector<float> &samples) {
    const std::filesystem::path path = folder.path() / name;
    SF_INFO info{};
    info.samplerate = 16000, info.channels = 1, info.format = format;
    SNDFILE *file = sf_open(path.string().c_str(), SFM_WRITE, &info);
    REQUIRE(file != nullptr);
    const auto frames = static_cast<sf_count_t>(samples.size());
    CHECK(sf_writef_float(file, samples.data(), frames) == frames);
    sf_close(file);
    return path;
}

} // namespace

TEST_CASE("audio: WAV files of one channel and of several") {
    const TemporaryFolder folder;
    const Audio mono = read_audio(folder.write("mono.wav", wav({.rate = 22050}, {0, 0.5F, -1, 0.25F})));
    CHECK(mono.rate == 22050);
    CHECK(mono.samples == std::vector<float>{0, 0.5F, -1, 0.25F});
    const Audio stereo = read_audio(folder.write("stereo.wav", wav({.channels = 2}, {0.5F, -0.25F, 0.75F, 0.25F})));
    CHECK(stereo.samples == std::vector<float>{0.125F, 0.5F}); // the means
    std::string streamed = wav({}, {0.5F, 0.25F});
    streamed.replace(streamed.find("data") + 4, 4, "\xff\xff\xff\x7f"); // from a pipe: no length was known
    CHECK(read_audio(folder.write("streamed.wav", streamed)).samples == std::vector<float>{0.5F, 0.25F});
}

TEST_CASE("audio: FLAC and OGG files") {
    const TemporaryFolder folder;
    const std::vector<float> tone = sine(440, 16000, 20000);
    const Audio flac = read_audio(write_encoded(folder, "a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, tone));
    REQUIRE(flac.samples.size() == tone.size());
    for (size_t i = 0; i < tone.size(); i += 97) CHECK_THAT(flac.samples[i], matchers::within_abs(tone[i], 1e-4));
    const std::filesystem::path piped =
        folder.path() / "a.flac"; // a pipe's writer cannot go back and fill in the length
    {
        std::fstream file(piped, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(21);
        const int shared = file.get(); // its low four bits are the length's highest
        file.seekp(21).put(static_cast<char>(shared & 0xF0)).write("\0\0\0\0", 4);
    }
    CHECK(read_audio(piped).samples == flac.samples);
    const Audio ogg = read_audio(write_encoded(folder, "a.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, tone));
    REQUIRE(ogg.samples.size() == tone.size());
    for (size_t i = 0; i < tone.size(); i += 97) CHECK_THAT(ogg.samples[i], matchers::within_abs(tone[i], 0.05));
}

TEST_CASE("audio: resampling keeps tones, and removes those above half the new rate") {
    for (const int64_t rate : {8000, 44100, 48000}) {
        INFO(rate);
        const Audio found = resampled({sine(1000, rate, static_cast<size_t>(rate)), rate}, 16000);
        REQUIRE(std::abs(static_cast<int64_t>(found.samples.size()) - 16000) <= 1);
        const std::vector<float> expected = sine(1000, 16000, 16000);
        for (size_t i = 1000; i < 15000; i += 7) CHECK_THAT(found.samples[i], matchers::within_abs(expected[i], 1e-3));
    }
    const Audio high = resampled({sine(12000, 48000, 48000), 48000}, 16000); // not as a tone of 4,000
    for (size_t i = 1000; i < 15000; i += 7) CHECK_THAT(high.samples[i], matchers::within_abs(0, 1e-3));
    CHECK_THAT(message_of([] { (void)resampled({{0, 0}, 10}, 16000); }), contains("10 samples per second"));
}

TEST_CASE("audio: a file is read at the rate that is wanted, and no further than is wanted") {
    const TemporaryFolder folder;
    const auto file = folder.write("tone.wav", wav({.rate = 44100}, sine(440, 44100, 100'003)));
    const Audio tone = read_audio(file);
    const Audio found = read_audio(file, {.rate = 16000}), whole = resampled(tone, 16000);
    CHECK(found.rate == 16000);
    CHECK(found.samples == whole.samples);
    CHECK(read_audio(file, {.rate = 44100, .longest = 3}).samples == tone.samples);
    CHECK_THAT(message_of([&] { (void)read_audio(file, {.longest = 2}); }),
               contains("tone.wav: is longer than 2 seconds: cut it"));
    const auto high = folder.write("high.wav", wav({.rate = 96000}, std::vector<float>(100'000)));
    CHECK(read_audio(high, {.rate = 16000, .longest = 3}).samples.size() > 16000);
    CHECK_THAT(message_of([&] { (void)read_audio(high, {.longest = 2}); }), contains("2 seconds of 48,000 samples"));
    CHECK_THAT(
        message_of([&] { (void)read_audio(file, {.working = [] { throw Error(ErrorCode::usage, "enough"); }}); }),
        contains("enough"));
    const auto slow = folder.write("slow.wav", wav({.rate = 1}, std::vector<float>(10)));
    CHECK_THAT(message_of([&] { (void)read_audio(slow, {.rate = 16000}); }),
               contains("slow.wav: audio with 1 samples per second cannot be resampled to 16000"));
    for (const ReadAudioOptions &wrong : {ReadAudioOptions{.rate = -1}, ReadAudioOptions{.longest = 0}})
        CHECK_THAT(message_of([&] { (void)read_audio(file, wrong); }), contains("at least one second"));

    // Silence takes a few bytes a second in FLAC, whatever its rate, but its samples do not.
    const std::vector<float> silence(400'000);
    const auto quiet = write_encoded(folder, "quiet.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, silence);
    CHECK(read_audio(quiet, {.rate = 100}).samples.capacity() < 10'000);
}

TEST_CASE("audio: bad files are refused with the reason") {
    const TemporaryFolder folder;
    const auto path = [&](const std::string &name) { return folder.path() / name; };
    CHECK_THAT(refusal(path("absent.wav")), contains("absent.wav: no such file; expected an audio file"));
    CHECK_THAT(refusal(folder.path()), contains("is a folder; expected a file"));
    CHECK_THAT(refusal(folder.write("empty.wav", "")), contains("is empty; expected audio"));
    CHECK_THAT(refusal(folder.write("text.wav", "This is no audio file, but it is long enough to be one.")),
               contains("text.wav: expected audio") && contains("ffmpeg"));
    CHECK_THAT(refusal(folder.write("silent.wav", wav({}, {}))), contains("contains no samples"));
    CHECK_THAT(refusal(folder.write("channels.wav", wav({.channels = 0}, {0}))), contains("expected audio"));

    const std::string whole = wav({}, sine(440, 16000, 100));
    CHECK_THAT(refusal(folder.write("cut.wav", whole.substr(0, whole.size() - 50))),
               contains("is truncated: expected 200 bytes of samples, found 150"));
    for (const size_t length : {size_t{4}, size_t{11}, size_t{13}, size_t{30}, size_t{44}})
        CHECK_FALSE(refusal(folder.write("head.wav", whole.substr(0, length))).empty());
    const auto flac = write_encoded(folder, "a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, sine(440, 16000, 60000));
    const std::string bytes = folder.read("a.flac");
    CHECK_THAT(refusal(folder.write("cut.flac", bytes.substr(0, bytes.size() / 2))), contains("cut.flac: "));

    for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
        CHECK_THAT(refusal(folder.write("nan.wav", wav({.floats = true}, {0, 0.5F, wrong}))),
                   contains("nan.wav: sample 2 is ") && contains("expected numbers from -1 to 1"));
}
