// Options of commands that generate text.
#pragma once

#include "arguments.hpp"

#include <lamina/sampling.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace lamina::cli {

// Of searches over many texts: batches, beams, hypotheses.
void add_search_options(const Arguments &app, GenerateOptions &generate);
// Of an answer: how it is sampled, and where it ends. Which defaults --help tells: those of `generate`, or that the
// model's makers suggest some. The one of --max-length is always that of `generate`.
enum class Defaults { own, of_model };
void add_answer_options(const Arguments &app, GenerateOptions &generate, Defaults defaults);
[[nodiscard]] std::string option_name(const SamplingOption &option); // --top-k
// Throws Error(usage) for options of an answer that do not go together.
void check_answer_options(const Arguments &app, const GenerateOptions &generate);

// What an answer must be: --json-schema, --grammar or --regex.
struct GrammarArguments {
    std::filesystem::path json_schema, rules;
    std::string regex;
};
void add_grammar_options(const Arguments &app, GrammarArguments &grammar);
// Nothing if none of them is given. Throws Error(input) for a file that cannot be read or holds no grammar.
[[nodiscard]] std::optional<Grammar> grammar_of(const GrammarArguments &given);

} // namespace lamina::cli
