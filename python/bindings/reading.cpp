// Vectors, classes and token ids of texts, of texts.hpp.
#include "call.hpp"
#include "module.hpp"
#include "pickles.hpp"
#include "tensors.hpp"

#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <lamina/inspect.hpp>
#include <lamina/texts.hpp>

namespace lamina::python {
namespace {

using Texts = std::vector<std::string>;

std::vector<std::vector<int32_t>> ids_of(const Model &model, const Texts &texts) {
    TextIds found = tokenize(model, texts);
    if (found.refused)
        throw Error(ErrorCode::input, "text " + std::to_string(found.refused->text + 1) + ": " + found.refused->why);
    return std::move(found.ids);
}

std::map<std::string, std::string> prompts_of(const Model &model) {
    const std::optional<TextReading> reading = inspect(model).reading;
    return reading ? std::map<std::string, std::string>(reading->prompts.begin(), reading->prompts.end())
                   : std::map<std::string, std::string>();
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::vector<TextPair> both(const Pairs &pairs) {
    std::vector<TextPair> out;
    for (const auto &[first, second] : pairs) out.push_back({first, second});
    return out;
}

} // namespace

void add_reading(nb::module_ &m) {
    nb::class_<ReadOptions>(m, "ReadOptions")
        .def(nb::init<>())
        .def_rw("batch", &ReadOptions::batch)
        .def_rw("truncate", &ReadOptions::truncate)
        .def_rw("windows", &ReadOptions::windows)
        .def_rw("prompt", &ReadOptions::prompt)
        .def_rw("prompt_text", &ReadOptions::prompt_text)
        .def_rw("progress", &ReadOptions::progress);
    nb::class_<AnswerOptions>(m, "AnswerOptions")
        .def(nb::init<>())
        .def_rw("best", &AnswerOptions::best)
        .def_rw("longest", &AnswerOptions::longest)
        .def_rw("may_be_none", &AnswerOptions::may_be_none)
        .def_rw("batch", &AnswerOptions::batch)
        .def_rw("progress", &AnswerOptions::progress);
    pickled(nb::class_<Answer>(m, "Answer", "The part of a text that answers a question.")
                .def_ro("text", &Answer::text)
                .def_prop_ro(
                    "begin", [](const Answer &a) { return a.characters.begin; }, "Its first character.")
                .def_prop_ro(
                    "end", [](const Answer &a) { return a.characters.end; }, "The character behind it.")
                .def_ro("score", &Answer::score, "How likely it is.")
                .def("__repr__", [](const Answer &a) { return nb::str("({!r}, {:.6g})").format(a.text, a.score); }),
            &Answer::text, &Answer::characters, &Answer::score);
    nb::class_<FillOptions>(m, "FillOptions")
        .def(nb::init<>())
        .def_rw("best", &FillOptions::best)
        .def_rw("batch", &FillOptions::batch)
        .def_rw("progress", &FillOptions::progress);
    nb::class_<MatchOptions>(m, "MatchOptions")
        .def(nb::init<>())
        .def_rw("sentence", &MatchOptions::sentence)
        .def_rw("multi_label", &MatchOptions::multi_label)
        .def_rw("batch", &MatchOptions::batch)
        .def_rw("truncate", &MatchOptions::truncate)
        .def_rw("progress", &MatchOptions::progress);
    pickled(nb::class_<WordScore>(m, "WordScore", "A word for a mask, and how likely it is.")
                .def_ro("word", &WordScore::word)
                .def_ro("token", &WordScore::token, "Its token id.")
                .def_ro("score", &WordScore::score, "How likely it is.")
                .def("__repr__", [](const WordScore &w) { return nb::str("({!r}, {:.6g})").format(w.word, w.score); }),
            &WordScore::word, &WordScore::token, &WordScore::score);
    pickled(nb::class_<MaskedWord>(m, "MaskedWord", "A place of a text where a word is missing.")
                .def_prop_ro(
                    "begin", [](const MaskedWord &w) { return w.characters.begin; }, "The first character of the mask.")
                .def_prop_ro(
                    "end", [](const MaskedWord &w) { return w.characters.end; }, "The character behind it.")
                .def_ro("words", &MaskedWord::words, "Best first.")
                .def("__repr__", [](const MaskedWord &w) { return nb::str("<{}>").format(w.words); }),
            &MaskedWord::characters, &MaskedWord::words);
    pickled(
        nb::class_<LabelScore>(m, "LabelScore", "A class that a model knows, and how likely it is.")
            .def_ro("label", &LabelScore::label)
            .def_ro("score", &LabelScore::score, "A probability, or the value itself for regression.")
            .def("__repr__", [](const LabelScore &s) { return nb::str("({!r}, {:.6g})").format(s.label, s.score); }),
        &LabelScore::label, &LabelScore::score);
    pickled(nb::class_<TokenLabels>(m, "TokenLabels", "A token of a text, and its classes.")
                .def_ro("token", &TokenLabels::token)
                .def_prop_ro(
                    "begin", [](const TokenLabels &t) { return t.characters.begin; }, "Its first character.")
                .def_prop_ro(
                    "end", [](const TokenLabels &t) { return t.characters.end; }, "The character behind it.")
                .def_ro("labels", &TokenLabels::labels, "Best first.")
                .def("__repr__",
                     [](const TokenLabels &t) { return nb::str("<{!r}: {}>").format(t.token, t.labels.front()); }),
            &TokenLabels::token, &TokenLabels::characters, &TokenLabels::labels);

    m.def(
        "embed",
        [](Session &session, const Texts &texts, const ReadOptions &options) {
            return array_of(unlocked([&] { return embed(session, texts, options); }));
        },
        nb::arg("session"), nb::arg("texts"), nb::arg("options"));
    m.def(
        "embed_tokens",
        [](Session &session, const Texts &texts, const ReadOptions &options) {
            nb::list out;
            for (const Tensor &each : unlocked([&] { return embed_tokens(session, texts, options); }))
                out.append(array_of(each));
            return out;
        },
        nb::arg("session"), nb::arg("texts"), nb::arg("options"));
    m.def(
        "classify",
        [](Session &session, const Texts &texts, const ReadOptions &options) {
            return unlocked([&] { return classify(session, texts, options); });
        },
        nb::arg("session"), nb::arg("texts"), nb::arg("options"));
    m.def(
        "classify_pairs",
        [](Session &session, const Pairs &pairs, const ReadOptions &options) {
            return unlocked([&] { return classify_pairs(session, both(pairs), options); });
        },
        nb::arg("session"), nb::arg("pairs"), nb::arg("options"));
    m.def(
        "answer",
        [](Session &session, const Pairs &pairs, const AnswerOptions &options) {
            return unlocked([&] { return answer(session, both(pairs), options); });
        },
        nb::arg("session"), nb::arg("pairs"), nb::arg("options"));
    m.def(
        "label_tokens",
        [](Session &session, const Texts &texts, const ReadOptions &options) {
            return unlocked([&] { return label_tokens(session, texts, options); });
        },
        nb::arg("session"), nb::arg("texts"), nb::arg("options"));
    m.def(
        "fill_masks",
        [](Session &session, const Texts &texts, const FillOptions &options) {
            return unlocked([&] { return fill_masks(session, texts, options); });
        },
        nb::arg("session"), nb::arg("texts"), nb::arg("options"));
    m.def(
        "match_texts",
        [](Session &session, const Texts &texts, const std::vector<std::string> &labels, const MatchOptions &options) {
            return unlocked([&] { return match_texts(session, texts, labels, options); });
        },
        nb::arg("session"), nb::arg("texts"), nb::arg("labels"), nb::arg("options"));
    m.def("tokenize", &ids_of, nb::arg("model"), nb::arg("texts"));
    m.def("token_ids", &token_ids, nb::arg("model"), nb::arg("text"), nb::arg("special"));
    m.def(
        "detokenize",
        [](const Model &model, const std::vector<int32_t> &ids, bool skip_special) {
            return detokenize(model, ids, skip_special);
        },
        nb::arg("model"), nb::arg("ids"), nb::arg("skip_special"));
    m.def("prompts", &prompts_of, nb::arg("model"));
}

} // namespace lamina::python
