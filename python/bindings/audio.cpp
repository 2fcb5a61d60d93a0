// Audio to text, of audio.hpp.
#include "call.hpp"
#include "module.hpp"
#include "pickles.hpp"
#include "tensors.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <lamina/audio.hpp>

namespace lamina::python {

void add_audio(nb::module_ &m) {
    nb::class_<Audio>(m, "Audio", "One channel of audio.")
        .def(
            "__init__",
            [](Audio *self, const nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu> &samples,
               int64_t rate) {
                new (self) Audio{{samples.data(), samples.data() + samples.size()}, rate};
            },
            nb::arg("samples"), nb::arg("rate"))
        .def_prop_ro(
            "samples",
            [](const Audio &a) { return array_of(Tensor::of({static_cast<int64_t>(a.samples.size())}, a.samples)); },
            nb::rv_policy::automatic, "From -1 to 1.")
        .def_ro("rate", &Audio::rate, "Samples per second.")
        .def("__repr__", [](const Audio &a) {
            return nb::str("<lamina.Audio of {:.4g} s at {} Hz>")
                .format(static_cast<double>(a.samples.size()) / static_cast<double>(a.rate), a.rate);
        });

    pickled(nb::class_<Transcript::Part>(m, "TranscriptPart", "A window of the audio.")
                .def_ro("begin", &Transcript::Part::begin, "In seconds.")
                .def_ro("end", &Transcript::Part::end)
                .def_ro("hypothesis", &Transcript::Part::hypothesis)
                .def("__repr__",
                     [](const Transcript::Part &p) {
                         return nb::str("<{:.2f} s to {:.2f} s: {!r}>").format(p.begin, p.end, p.hypothesis.text);
                     }),
            &Transcript::Part::begin, &Transcript::Part::end, &Transcript::Part::hypothesis);
    using Segment = Transcript::Segment;
    pickled(nb::class_<Segment>(m, "TranscriptSegment", "What was said from one moment to another.")
                .def_ro("begin", &Segment::begin, "In seconds.")
                .def_ro("end", &Segment::end)
                .def_ro("text", &Segment::text)
                .def_ro("tokens", &Segment::tokens)
                .def_ro("part", &Segment::part, "The number of the part in which it was heard.")
                .def("__repr__",
                     [](const Segment &s) {
                         return nb::str("<{:.2f} s to {:.2f} s: {!r}>").format(s.begin, s.end, s.text);
                     }),
            &Segment::begin, &Segment::end, &Segment::text, &Segment::tokens, &Segment::part);
    pickled(
        nb::class_<Transcript>(m, "Transcript", "What was said.")
            .def_ro("text", &Transcript::text)
            .def_ro("parts", &Transcript::parts)
            .def_ro("segments", &Transcript::segments, "The text in pieces, as the option `timestamps` asks.")
            .def_ro("phrases", &Transcript::phrases,
                    "If these are words of models such as Whisper: the segments that have them.")
            .def_ro("language", &Transcript::language,
                    "\"en\": that was chosen, or heard in the first part; empty: the model does not tell it.")
            .def(
                "srt", [](const Transcript &t) { return subtitles(t, Subtitles::srt); },
                "Subtitles of its segments, or its parts if it has none.")
            .def(
                "vtt", [](const Transcript &t) { return subtitles(t, Subtitles::vtt); }, "The same in WebVTT.")
            .def("__str__", [](const Transcript &t) { return t.text; })
            .def("__repr__", [](const Transcript &t) { return nb::str("<lamina.Transcript {!r}>").format(t.text); }),
        &Transcript::text, &Transcript::parts, &Transcript::segments, &Transcript::phrases, &Transcript::language);

    m.def(
        "read_audio", [](const std::filesystem::path &file) { return unlocked([&] { return read_audio(file); }); },
        nb::arg("file"),
        "Reads WAV, FLAC, OGG, MP3 and the other formats of libsndfile. Several channels are averaged.");
    m.def(
        "transcribe",
        [](Session &session, const std::vector<Audio> &audios, const GenerateOptions &options) {
            return unlocked([&] { return transcribe(session, audios, options); });
        },
        nb::arg("session"), nb::arg("audios"), nb::arg("options"));

    using Samples = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    nb::class_<Listener>(m, "Listener", "Transcribes speech as it comes: `Model.listen`.")
        .def(
            "__init__",
            [](Listener *self, Session &session, const GenerateOptions &options) {
                new (self) Listener(session, options);
            },
            nb::arg("session"), nb::arg("options"), nb::keep_alive<1, 2>())
        .def(
            "add",
            [](Listener &self, const Samples &samples) {
                const std::span<const float> more(samples.data(), samples.size());
                return unlocked([&] { return self.add(more); });
            },
            nb::arg("samples"))
        .def("finish", [](Listener &self) { return unlocked([&] { return self.finish(); }); });
}

} // namespace lamina::python
