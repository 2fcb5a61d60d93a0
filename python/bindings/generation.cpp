// Generated text: Session::hypotheses() of lamina.hpp, and conversations, of texts.hpp.
#include "call.hpp"
#include "module.hpp"
#include "pickles.hpp"

#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <lamina/sampling.hpp>
#include <lamina/texts.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace lamina::python {
namespace {

using Texts = std::vector<std::string>;

const char *finish_name(const Hypothesis &h) {
    return h.finish == Finish::end ? "end" : h.finish == Finish::stop ? "stop" : "length";
}

std::map<std::string, std::string> choices(const GenerateOptions &options) {
    return {options.choices.begin(), options.choices.end()};
}
void choose(GenerateOptions &options, const std::map<std::string, std::string> &choices) {
    options.choices = Choices(choices.begin(), choices.end());
}

// A schema as text: a dict, or a class of pydantic, is written as JSON.
std::string schema_text(const nb::object &schema) {
    if (nb::isinstance<nb::str>(schema)) return nb::cast<std::string>(schema);
    const bool model = nb::hasattr(schema, "model_json_schema");
    const nb::object value = model ? schema.attr("model_json_schema")() : schema;
    return nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(value));
}

void add_grammar(nb::module_ &m) {
    nb::class_<Grammar>(
        m, "Grammar",
        "What a generated text must be. Keep one for texts alike: what is found out for one serves those "
        "after it.")
        .def_static(
            "json_schema",
            [](const nb::object &schema) {
                const std::string text = schema_text(schema);
                return unlocked([&] { return Grammar::json_schema(text); });
            },
            nb::arg("schema"), "JSON of a schema: a dict, the text of one, or a model of pydantic.")
        .def_static("json_object", &Grammar::json_object, "Any JSON object.")
        .def_static(
            "regex", [](const std::string &pattern) { return unlocked([&] { return Grammar::regex(pattern); }); },
            nb::arg("pattern"), "Texts that a regular expression matches as a whole.")
        .def_static(
            "gbnf", [](const std::string &text) { return unlocked([&] { return Grammar::gbnf(text); }); },
            nb::arg("text"), "The notation of llama.cpp: rules, of which \"root\" is the text.")
        .def("matches", &Grammar::matches, nb::arg("text"), "Whether a text is of the grammar.");
}

// All, or those that have no effect where nothing is sampled.
std::vector<std::string> sampling_names(bool all) {
    std::vector<std::string> out;
    for (const SamplingOption &option : sampling_options)
        if (all || option.samples) out.emplace_back(option.name);
    return out;
}

constexpr std::array timestamps_named{"", "segments", "words", "characters"}; // in the order of Timestamps

std::string timestamps(const GenerateOptions &options) {
    return timestamps_named[static_cast<size_t>(options.timestamps)];
}
void tell_times(GenerateOptions &options, const std::string &name) {
    const auto found = std::ranges::find(timestamps_named, name);
    if (found == timestamps_named.end())
        throw nb::value_error("timestamps: expected 'segments', 'words' or 'characters'");
    options.timestamps = static_cast<Timestamps>(found - timestamps_named.begin());
}

// The names are those of lamina.hpp, which explains them, as does lamina/_options.py.
void add_options(nb::module_ &m) {
    auto options = nb::class_<GenerateOptions>(m, "GenerateOptions")
                       .def(nb::init<>())
                       .def_rw("batch", &GenerateOptions::batch)
                       .def_rw("beams", &GenerateOptions::beams)
                       .def_rw("beams_compete", &GenerateOptions::beams_compete)
                       .def_rw("hypotheses", &GenerateOptions::hypotheses)
                       .def_rw("length_penalty", &GenerateOptions::length_penalty)
                       .def_rw("seed", &GenerateOptions::seed)
                       .def_rw("first", &GenerateOptions::first)
                       .def_rw("max_length", &GenerateOptions::max_length)
                       .def_rw("min_length", &GenerateOptions::min_length)
                       .def_rw("ignore_end", &GenerateOptions::ignore_end)
                       .def_rw("biases", &GenerateOptions::biases)
                       .def_rw("likeliest", &GenerateOptions::likeliest)
                       .def_rw("prompt_scores", &GenerateOptions::prompt_scores)
                       .def_rw("dry_breakers", &GenerateOptions::dry_breakers)
                       .def_prop_rw("choices", &choices, &choose)
                       .def_rw("stop", &GenerateOptions::stop)
                       .def_rw("grammar", &GenerateOptions::grammar)
                       .def_rw("special_tokens", &GenerateOptions::special_tokens)
                       .def_rw("skip_special_tokens", &GenerateOptions::skip_special_tokens)
                       .def_rw("cached", &GenerateOptions::cached)
                       .def_rw("reuse", &GenerateOptions::reuse)
                       .def_rw("guess_ahead", &GenerateOptions::guess_ahead)
                       .def_rw("skip_silence", &GenerateOptions::skip_silence)
                       .def_rw("progress", &GenerateOptions::progress)
                       .def_rw("stream", &GenerateOptions::stream)
                       .def_prop_rw("timestamps", &timestamps, &tell_times);
    for (const SamplingOption &option : sampling_options)
        std::visit([&](auto member) { options.def_rw(option.name.data(), member); }, option.member);
    m.attr("sampling_options") = nb::cast(sampling_names(true));
    m.attr("options_of_samples") = nb::cast(sampling_names(false));
}

} // namespace

void add_generation(nb::module_ &m) {
    add_grammar(m);
    add_options(m);
    pickled(nb::class_<TokenScore>(m, "TokenScore", "How likely a token was, by the model alone.")
                .def_ro("token", &TokenScore::token)
                .def_prop_ro(
                    "text", [](const TokenScore &s) { return nb::bytes(s.text.data(), s.text.size()); },
                    "Bytes: a character may take several tokens.")
                .def_ro("log_probability", &TokenScore::log_probability, "Natural logarithm.")
                .def("__repr__",
                     [](const TokenScore &s) {
                         return nb::str("<lamina.TokenScore {} {!r}, {:.4g}>")
                             .format(s.token, nb::bytes(s.text.data(), s.text.size()), s.log_probability);
                     }),
            &TokenScore::token, &TokenScore::text, &TokenScore::log_probability);
    pickled(nb::class_<ScoredToken, TokenScore>(m, "ScoredToken", "A token of an answer.")
                .def_ro("likeliest", &ScoredToken::likeliest, "The likeliest tokens in its place, best first."),
            &ScoredToken::token, &ScoredToken::text, &ScoredToken::log_probability, &ScoredToken::likeliest);
    pickled(
        nb::class_<Hypothesis>(m, "Hypothesis", "A text that a model generated.")
            .def_ro("text", &Hypothesis::text)
            .def_ro("tokens", &Hypothesis::tokens)
            .def_ro("log_probability", &Hypothesis::log_probability, "Natural logarithm, of all tokens and the end.")
            .def_ro("score", &Hypothesis::score, "Hypotheses of a text are ranked by it.")
            .def_prop_ro("finish", &finish_name,
                         "Why it ended: at an \"end\" token, before a \"stop\" string, or at the maximum \"length\".")
            .def_ro("scores", &Hypothesis::scores, "How likely its tokens were: the option likeliest.")
            .def_ro("prompt_scores", &Hypothesis::prompt_scores,
                    "How likely the prompt's tokens were, but for the first: the option prompt_scores.")
            .def_ro("reused", &Hypothesis::reused, "Tokens of the prompt that were not computed again.")
            .def_ro("start", &Hypothesis::start,
                    "Of a model with an encoder: what the tokens follow, such as the language that was heard.")
            .def_ro("ends", &Hypothesis::ends, "In seconds, when each token ends: the option timestamps=\"words\".")
            .def("__repr__",
                 [](const Hypothesis &h) {
                     return nb::str("<lamina.Hypothesis {!r}, score {:.4g}>").format(h.text, h.score);
                 }),
        &Hypothesis::text, &Hypothesis::tokens, &Hypothesis::log_probability, &Hypothesis::score, &Hypothesis::finish,
        &Hypothesis::reused, &Hypothesis::scores, &Hypothesis::prompt_scores, &Hypothesis::start, &Hypothesis::ends);

    m.def(
        "generate",
        [](Session &session, const Texts &texts, const GenerateOptions &options) {
            return unlocked([&] { return session.hypotheses(texts, options); });
        },
        nb::arg("session"), nb::arg("texts"), nb::arg("options"));
    m.def(
        "chat_prompt",
        [](const Model &model, const std::vector<std::pair<std::string, std::string>> &messages) {
            std::vector<ChatMessage> conversation;
            for (const auto &[role, content] : messages) conversation.push_back({role, content});
            return chat_prompt(model, conversation);
        },
        nb::arg("model"), nb::arg("messages"));
    m.def(
        "chat_prompt_of_parts",
        [](const Model &model, const std::string &messages) {
            return chat_prompt(model, {}, {{"messages", messages}});
        },
        nb::arg("model"), nb::arg("messages"), "The same of messages as JSON, which may have parts.");
    m.def("suggested_options", &suggested_options, nb::arg("model"));
}

} // namespace lamina::python
