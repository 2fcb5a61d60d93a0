// Namespaces, macros and the variable `loop`.
#pragma once

#include "template/run.hpp"
#include "template/syntax.hpp"
#include "template/value.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lamina::jinja {

// The only mutable values: {% set ns.name = value %}.
class Namespace final : public Object {
  public:
    [[nodiscard]] const char *kind() const override { return "a namespace"; }
    [[nodiscard]] std::optional<Value> attribute(Run &run, std::string_view name) override;
    void set(std::string_view name, Value value) { values_.insert_or_assign(std::string(name), std::move(value)); }

  private:
    std::map<std::string, Value, std::less<>> values_;
};

class MacroObject final : public Object {
  public:
    // The body sees the variables of `scope`, in which the macro is defined.
    MacroObject(const MacroDefinition &definition, const Scope *scope) : definition_(definition), scope_(scope) {}
    [[nodiscard]] const char *kind() const override { return "a macro that is not called"; }
    [[nodiscard]] Value call(Run &run, const Arguments &arguments) override; // returns its output

  private:
    void bind(Run &run, const Arguments &arguments) const;

    const MacroDefinition &definition_;
    const Scope *scope_;
};

// The variable `loop`.
class LoopObject final : public Object {
  public:
    // `chosen` says which items the loop has; empty: all. As in Jinja, it is asked when its answer is needed, since
    // what the loop does may change it.
    LoopObject(Items all, std::function<bool(const Value &)> chosen)
        : all_(std::move(all)), chosen_(std::move(chosen)) {}
    [[nodiscard]] const char *kind() const override { return "a loop"; }
    [[nodiscard]] std::optional<Value> attribute(Run &run, std::string_view name) override;
    // Whether there is such an item, which is then the loop's.
    [[nodiscard]] bool go_to(size_t index);
    [[nodiscard]] const Value &item() const { return at(index_); }

  private:
    [[nodiscard]] bool has(size_t index);
    [[nodiscard]] const Value &at(size_t index) const { return chosen_ ? found_[index] : all_[index]; }

    Items all_;
    std::function<bool(const Value &)> chosen_;
    std::vector<Value> found_; // among the first `asked_`
    size_t asked_ = 0, index_ = 0;
};

} // namespace lamina::jinja
