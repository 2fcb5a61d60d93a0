// Filters, tests, methods and functions: each a name, its parameters and a function.
#pragma once

#include "template/value.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::jinja {

// What a built-in function is called with.
class Passed {
  public:
    Run &run;
    const Value &value; // what it filters or tests, or whose method it is
    const Arguments &arguments;

    // By the index of the parameter.
    [[nodiscard]] bool has(size_t i) const { return bound_[i] != nullptr; }
    [[nodiscard]] const Value &operator[](size_t i) const { return *bound_[i]; }
    [[nodiscard]] const std::string &text(size_t i) const; // fails when it is none
    [[nodiscard]] int64_t integer(size_t i, int64_t otherwise) const;
    [[nodiscard]] bool truth(size_t i, bool otherwise) const;

  private:
    friend Value call_builtin(Run &run, const struct Builtin &builtin, const Value &value, const Arguments &arguments);
    Passed(Run &r, const Value &v, const Arguments &a) : run(r), value(v), arguments(a) {}
    std::vector<const Value *> bound_; // null: not given
};

struct Builtin {
    const char *name;
    const char *parameters; // "old new count?": the last is optional; "*": whatever is passed
    Value (*function)(const Passed &passed);
};
using Builtins = std::span<const Builtin>;

[[nodiscard]] Value call_builtin(Run &run, const Builtin &builtin, const Value &value, const Arguments &arguments);

// ---- By name; an unknown one fails with those that are known ----
[[nodiscard]] Value apply_filter(Run &run, std::string_view name, const Value &value, const Arguments &arguments);
[[nodiscard]] bool apply_test(Run &run, std::string_view name, const Value &value, const Arguments &arguments);
[[nodiscard]] const Builtin *find_method(const Value &value, std::string_view name); // null: there is none
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
