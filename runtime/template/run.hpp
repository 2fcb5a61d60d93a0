// One rendering of a template: its variables, its output, the current place, and the remaining budget.
#pragma once

#include "template/source.hpp"
#include "template/syntax.hpp"
#include "template/value.hpp"

#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::jinja {

// Loops, macros and some blocks have their own variables. A macro sees the variables around its definition.
struct Scope {
    const Scope *parent = nullptr;
    std::map<std::string_view, Value> variables; // the names belong to the syntax tree, or outlive the run
};

class Run {
  public:
    // Of at most so many steps: by default a few seconds, and 256 MiB.
    Run(const Source &source, std::optional<std::time_t> now, uint64_t most_steps = 1u << 28)
        : source_(source), now_(now), most_steps_(most_steps) {}

    // Throws Error(input) with the place that is being evaluated.
    [[noreturn]] void fail(const std::string &message) const { source_.fail(place_, message); }

    // ---- Limits: a hostile template can neither hang nor exhaust memory ----
    // A step is about one byte created or examined. Every value costs its size, so this bounds memory as well as time.
    void spend(uint64_t steps);

    // ---- Values ----
    [[nodiscard]] Value text(std::string text);
    [[nodiscard]] Value list(std::vector<Value> items, Sequence::Kind kind = Sequence::Kind::list);
    [[nodiscard]] Value dict(std::vector<Dict::Member> members); // if a key occurs twice, the later value wins
    [[nodiscard]] Value undefined(std::string why);
    template <class Made, class... Parts> [[nodiscard]] Made *object(Parts &&...parts) {
        spend(steps_of_object);
        auto made = std::make_unique<Made>(std::forward<Parts>(parts)...);
        Made *out = made.get();
        objects_.push_back(std::move(made));
        return out;
    }

    // ---- The syntax tree ----
    [[nodiscard]] Value value(const Expression &expression);
    Flow render(const Block &block);

    // ---- Variables ----
    [[nodiscard]] const Value *find(std::string_view name) const;
    void set(std::string_view name, Value value);
    [[nodiscard]] Scope *scope() const { return scope_; }
    // Calls `inside` in a new scope within `parent`. The scope lives as long as the run, because macros may refer to
    // it.
    template <class Inside> auto in_scope(const Scope *parent, const Inside &inside) {
        spend(steps_of_object);
        const Restored<Scope *> scope(scope_, &scopes_.emplace_back(Scope{parent, {}}));
        return inside();
    }

    // ---- Output ----
    void write(std::string_view text);
    // Returns the output of `inside`.
    template <class Inside> [[nodiscard]] std::string capture(const Inside &inside) {
        std::string out;
        const Restored<std::string *> output(output_, &out);
        inside();
        return out;
    }

    [[nodiscard]] std::time_t now() const { return now_ ? *now_ : std::time(nullptr); }

  private:
    static constexpr uint64_t steps_of_object = 256;

    // Sets a member, and restores its old value at the end of the scope.
    template <class T> class Restored {
      public:
        Restored(T &member, T value) : member_(member), old_(std::exchange(member, std::move(value))) {}
        Restored(const Restored &) = delete;
        Restored &operator=(const Restored &) = delete;
        ~Restored() { member_ = std::move(old_); }

      private:
        T &member_, old_;
    };
    [[nodiscard]] size_t one_deeper() const; // fails if that is too deep

    const Source &source_;
    std::optional<std::time_t> now_;
    uint64_t most_steps_;
    size_t place_ = 0, depth_ = 0;
    uint64_t steps_ = 0;
    std::deque<Scope> scopes_;
    std::vector<std::unique_ptr<Object>> objects_;
    Scope *scope_ = nullptr;
    std::string *output_ = nullptr;
};

} // namespace lamina::jinja
