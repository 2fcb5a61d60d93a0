// Grammars: what a generated text may be, such as JSON of a schema.
//
//     const char *schema = R"({"type": "object", "properties": {"name": {"type": "string"}}})";
//     lamina::GenerateOptions options;
//     options.grammar = lamina::Grammar::json_schema(schema);
//     std::string json = session.generate({"A person as JSON: "}, options).front();
#pragma once

#include <lamina/error.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace lamina {

// Cheap to copy. What is found out for one text serves those after it, so keep a grammar for texts alike. All functions
// may be called from several threads at once. Those that make a grammar throw Error(input), with `name` and the place,
// for what is wrong or not supported, for what no text matches, and for what is too large. docs/grammars.md says what
// is supported.
class Grammar {
  public:
    // JSON of a schema: JSON Schema, draft 2020-12.
    [[nodiscard]] static Grammar json_schema(std::string_view schema, const std::string &name = "JSON schema");
    // Any JSON object.
    [[nodiscard]] static Grammar json_object();
    // Texts that a regular expression matches as a whole.
    [[nodiscard]] static Grammar regex(std::string_view pattern, const std::string &name = "regular expression");
    // The notation of llama.cpp: rules, of which "root" is the text.
    [[nodiscard]] static Grammar gbnf(std::string_view text, const std::string &name = "grammar");

    // Whether a text is of the grammar.
    [[nodiscard]] bool matches(std::string_view text) const;

    // Of memory that it takes at most when texts of a model are written, about.
    [[nodiscard]] size_t bytes() const;

    struct Parts;
    explicit Grammar(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
    [[nodiscard]] Parts &parts() const { return *parts_; }

  private:
    std::shared_ptr<Parts> parts_;
};

} // namespace lamina
