// Tables of the built-in filters, tests, methods and functions.
#pragma once

#include "template/value.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::jinja {

// The arguments of a call to a built-in function.
class Passed {
  public:
    Run &run;
    const Value &value; // the value that is filtered or tested, or whose method is called
    const Arguments &arguments;

    // By the index of the parameter.
    [[nodiscard]] bool has(size_t i) const { return bound_[i] != nullptr; }
    [[nodiscard]] const Value &operator[](size_t i) const { return *bound_[i]; }
    [[nodiscard]] const std::string &text(size_t i) const; // fails if it is not a string
    [[nodiscard]] int64_t integer(size_t i, int64_t otherwise) const;
    [[nodiscard]] bool truth(size_t i, bool otherwise) const;

  private:
    friend Value call_builtin(Run &run, const struct Builtin &builtin, const Value &value, const Arguments &arguments);
    Passed(Run &r, const Value &v, const Arguments &a) : run(r), value(v), arguments(a) {}
    std::vector<const Value *> bound_; // by parameter; null: not passed
};

struct Builtin {
    const char *name;
    const char *parameters; // "old new count?": the last is optional; "*": any
    Value (*function)(const Passed &passed);
};
using Builtins = std::span<const Builtin>;

[[nodiscard]] Value call_builtin(Run &run, const Builtin &builtin, const Value &value, const Arguments &arguments);

// ---- Lookup by name; the error for an unknown filter or test lists the known ones ----
[[nodiscard]] Value apply_filter(Run &run, std::string_view name, const Value &value, const Arguments &arguments);
[[nodiscard]] bool apply_test(Run &run, std::string_view name, const Value &value, const Arguments &arguments);
[[nodiscard]] const Builtin *find_method(const Value &value, std::string_view name); // null: unknown
[[nodiscard]] const Builtin *find_function(std::string_view name);

// ---- The tables ----
[[nodiscard]] Builtins text_filters();
[[nodiscard]] Builtins list_filters();
[[nodiscard]] Builtins choosing_filters();
[[nodiscard]] Builtins number_filters();
[[nodiscard]] Builtins tests();
[[nodiscard]] Builtins text_methods();
[[nodiscard]] Builtins collection_methods(const Value &value); // of dicts, lists and tuples
[[nodiscard]] Builtins functions();

} // namespace lamina::jinja
