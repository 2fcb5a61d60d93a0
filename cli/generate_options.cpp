#include "generate_options.hpp"

#include "seed.hpp"

#include "base/file.hpp"

#include <type_traits>

namespace lamina::cli {
namespace {

constexpr int64_t largest_count = 1 << 20;

template <class T>
void number(const Arguments &app, const std::string &name, T &value, const std::string &description,
            std::type_identity_t<T> least, std::type_identity_t<T> most) {
    app.option(name, value, "N", description).shows_default().within(least, most);
}

constexpr uint64_t most_bytes = 16u << 20; // of a file with a grammar

std::string text_of(const std::filesystem::path &file) {
    const std::vector<std::byte> bytes = read_file(file, most_bytes);
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

} // namespace

void add_search_options(const Arguments &app, GenerateOptions &generate) {
    number(app, "--batch", generate.batch, "the most texts to run side by side", size_t{1}, size_t{4096});
    app.option("--beams", generate.beams, "N", "number of beams; 1: greedy; default: as the model says, else 1")
        .within(int64_t{1}, int64_t{64});
    number(app, "--hypotheses", generate.hypotheses, "how many of each text --json shows, best first; 0: one per beam",
           int64_t{0}, int64_t{64});
    app.option("--length-penalty", generate.length_penalty, "N",
               "rank hypotheses by log probability / length^N; default: as the model says, else 1")
        .within(0.0, 10.0);
}

void add_answer_options(const Arguments &app, GenerateOptions &generate, Defaults defaults) {
    const auto option = [&](const std::string &name, auto &value, const std::string &description, auto least,
                            auto most) {
        if (defaults == Defaults::of_model)
            app.option(name, value, "N", description + "; default: as the model suggests").within(least, most);
        else
            number(app, name, value, description, least, most);
    };
    option("--temperature", generate.temperature, "above 0: sample instead of searching", 0.0, 100.0);
    option("--top-k", generate.top_k, "sample among the N most likely tokens; 0: all", size_t{0},
           size_t{largest_count});
    option("--top-p", generate.top_p, "sample among the fewest tokens that together have this probability", 0.0, 1.0);
    option("--min-p", generate.min_p, "sample among tokens at least N times as likely as the likeliest", 0.0, 1.0);
    app.option("--repetition-penalty", generate.repetition_penalty, "N",
               "above 1: make tokens that occurred before less likely; default: as the model says, else 1")
        .within(0.01, 100.0);
    add_seed(app, generate.seed, "seed of the samples");
    number(app, "--max-length", generate.max_length,
           defaults == Defaults::own ? "the most tokens to generate; 0: as the model says"
                                     : "the most tokens of an answer",
           int64_t{0}, largest_count);
    app.option("--stop", generate.stop, "TEXT", "end an answer before this text; may be repeated").not_empty();
}

void check_answer_options(const Arguments &app, const GenerateOptions &generate) {
    if (generate.temperature == 0)
        refuse_given(app, {"--top-k", "--top-p", "--min-p", "--seed"},
                     "needs --temperature: without it nothing is sampled");
    if (!(generate.top_p > 0)) throw Error(ErrorCode::usage, "--top-p: expected a number above 0, at most 1, found 0");
}

void add_grammar_options(const Arguments &app, GrammarArguments &grammar) {
    const Argument schema = app.option("--json-schema", grammar.json_schema, "FILE",
                                       "answer with JSON of this schema (JSON Schema, draft 2020-12)")
                                .not_empty();
    const Argument rules =
        app.option("--grammar", grammar.rules, "FILE", "answer with a text of this grammar, in llama.cpp's notation")
            .not_empty()
            .excludes(schema);
    app.option("--regex", grammar.regex, "PATTERN", "answer with a text that this regular expression matches")
        .not_empty()
        .excludes(schema)
        .excludes(rules);
}

std::optional<Grammar> grammar_of(const GrammarArguments &given) {
    if (!given.json_schema.empty()) return Grammar::json_schema(text_of(given.json_schema), given.json_schema.string());
    if (!given.rules.empty()) return Grammar::gbnf(text_of(given.rules), given.rules.string());
    if (!given.regex.empty()) return Grammar::regex(given.regex, "--regex");
    return std::nullopt;
}

} // namespace lamina::cli
