// Generated text: Session::hypotheses() of lamina.hpp, and conversations, of texts.hpp.
#include "call.hpp"
#include "module.hpp"

#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <lamina/texts.hpp>

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

// The names are those of lamina.hpp, which explains them, as does lamina/_options.py.
void add_options(nb::module_ &m) {
    nb::class_<GenerateOptions>(m, "GenerateOptions")
        .def(nb::init<>())
        .def_rw("batch", &GenerateOptions::batch)
        .def_rw("beams", &GenerateOptions::beams)
        .def_rw("beams_compete", &GenerateOptions::beams_compete)
        .def_rw("hypotheses", &GenerateOptions::hypotheses)
        .def_rw("length_penalty", &GenerateOptions::length_penalty)
        .def_rw("temperature", &GenerateOptions::temperature)
        .def_rw("top_k", &GenerateOptions::top_k)
        .def_rw("top_p", &GenerateOptions::top_p)
        .def_rw("min_p", &GenerateOptions::min_p)
        .def_rw("top_h", &GenerateOptions::top_h)
        .def_rw("typical_p", &GenerateOptions::typical_p)
        .def_rw("epsilon_cutoff", &GenerateOptions::epsilon_cutoff)
        .def_rw("eta_cutoff", &GenerateOptions::eta_cutoff)
        .def_rw("repetition_penalty", &GenerateOptions::repetition_penalty)
        .def_rw("seed", &GenerateOptions::seed)
        .def_rw("first", &GenerateOptions::first)
        .def_rw("max_length", &GenerateOptions::max_length)
        .def_prop_rw("choices", &choices, &choose)
        .def_rw("stop", &GenerateOptions::stop)
        .def_rw("grammar", &GenerateOptions::grammar)
        .def_rw("special_tokens", &GenerateOptions::special_tokens)
        .def_rw("skip_special_tokens", &GenerateOptions::skip_special_tokens)
        .def_rw("cached", &GenerateOptions::cached)
        .def_rw("reuse", &GenerateOptions::reuse)
        .def_rw("progress", &GenerateOptions::progress)
        .def_rw("stream", &GenerateOptions::stream);
}

} // namespace

void add_generation(nb::module_ &m) {
    add_grammar(m);
    add_options(m);
    nb::class_<Hypothesis>(m, "Hypothesis", "A text that a model generated.")
        .def_ro("text", &Hypothesis::text)
        .def_ro("tokens", &Hypothesis::tokens)
        .def_ro("log_probability", &Hypothesis::log_probability, "Natural logarithm, of all tokens and the end.")
        .def_ro("score", &Hypothesis::score, "Hypotheses of a text are ranked by it.")
        .def_prop_ro("finish", &finish_name,
                     "Why it ended: at an \"end\" token, before a \"stop\" string, or at the maximum \"length\".")
        .def_ro("reused", &Hypothesis::reused, "Tokens of the prompt that were not computed again.")
        .def("__repr__", [](const Hypothesis &h) {
            return nb::str("<lamina.Hypothesis {!r}, score {:.4g}>").format(h.text, h.score);
        });

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
    m.def("suggested_options", &suggested_options, nb::arg("model"));
}

} // namespace lamina::python
