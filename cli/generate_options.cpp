#include "generate_options.hpp"

#include "seed.hpp"
#include "table.hpp"

#include "base/file.hpp"

#include <algorithm>
#include <type_traits>

namespace lamina::cli {
namespace {

constexpr int64_t largest_count = 1 << 20;

template <class T>
void number(const Arguments &app, const std::string &name, T &value, const std::string &description,
            std::type_identity_t<T> least, std::type_identity_t<T> most) {
    app.option(name, value, "N", description).shows_default().within(least, most);
}

template <class T> void add_number(const Arguments &app, const SamplingOption &option, T &value, Defaults defaults) {
    using Number = std::conditional_t<std::is_same_v<T, size_t>, uint64_t, double>;
    const bool of_model = defaults == Defaults::of_model || std::is_same_v<T, std::optional<double>>;
    const std::string otherwise =
        defaults == Defaults::of_model ? "; default: as the model suggests" : "; default: as the model says, else 1";
    const Argument argument =
        app.option(option_name(option), value, "N", std::string(option.meaning) + (of_model ? otherwise : ""));
    if (!of_model) Argument(argument).shows_default();
    Argument(argument).within(static_cast<Number>(option.least), static_cast<Number>(option.most));
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
    for (const SamplingOption &option : sampling_options)
        std::visit([&](auto member) { add_number(app, option, generate.*member, defaults); }, option.member);
    add_seed(app, generate.seed, "seed of the samples");
    number(app, "--max-length", generate.max_length,
           defaults == Defaults::own ? "the most tokens to generate; 0: as the model says"
                                     : "the most tokens of an answer; 0: as many as by default",
           int64_t{0}, largest_count);
    number(app, "--min-length", generate.min_length, "tokens before which an answer does not end", int64_t{0},
           largest_count);
    number(app, "--guess-ahead", generate.guess_ahead,
           "where a text repeats itself, guess N tokens and check them in one step, as long as that is faster",
           size_t{0}, size_t{64});
    app.flag("--ignore-end", generate.ignore_end, "let answers go on where the model would end them");
    app.option("--stop", generate.stop, "TEXT", "end an answer before this text; may be repeated").not_empty();
}

void check_answer_options(const Arguments &app, const GenerateOptions &generate) {
    for (const SamplingOption &option : sampling_options) {
        const std::string name = option_name(option);
        if (const auto value = option.of(generate); app.is_given(name) && value && !option.takes(*value))
            throw Error(ErrorCode::usage,
                        name + ": expected " + option.expected() + ", found " + significant(*value, 6));
        if (generate.temperature == 0 && option.samples)
            refuse_given(app, {name}, "needs --temperature: without it nothing is sampled");
    }
    if (generate.temperature == 0) refuse_given(app, {"--seed"}, "needs --temperature: without it nothing is sampled");
    if (generate.dry_multiplier == 0)
        refuse_given(app, {"--dry-base", "--dry-allowed-length"}, "needs --dry-multiplier");
    if (generate.xtc_probability == 0) refuse_given(app, {"--xtc-threshold"}, "needs --xtc-probability");
    if (generate.mirostat == 0) refuse_given(app, {"--mirostat-tau", "--mirostat-eta"}, "needs --mirostat 2");
}

std::string option_name(const SamplingOption &option) {
    std::string out = "--" + std::string(option.name);
    std::ranges::replace(out, '_', '-');
    return out;
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
