// Namespaces, macros and the variable `loop`.
#pragma once

#include "template/run.hpp"
#include "template/syntax.hpp"
#include "template/value.hpp"

#include <map>
#include <string>

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
    explicit LoopObject(Items items) : items_(std::move(items)) {}
    [[nodiscard]] const char *kind() const override { return "a loop"; }
    [[nodiscard]] std::optional<Value> attribute(Run &run, std::string_view name) override;
    void go_to(size_t index) { index_ = index; }
    [[nodiscard]] const Value &item() const { return items_[index_]; }

  private:
    Items items_;
    size_t index_ = 0;
};

} // namespace lamina::jinja
