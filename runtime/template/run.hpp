// One rendering of a template: its variables, its output, where it is, and what it may still use.
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

// Loops, macros and some blocks have variables of their own. A macro sees those around its definition.
struct Scope {
    const Scope *parent = nullptr;
    std::map<std::string_view, Value> variables; // names are the syntax tree's, or outlive the run
};

class Run {
  public:
    Run(const Source &source, std::optional<std::time_t> now) : source_(source), now_(now) {}

    // Throws Error(input) at the place of what is being evaluated.
    [[noreturn]] void fail(const std::string &message) const { source_.fail(place_, message); }

    // ---- Limits: a template that means harm neither hangs nor takes all memory ----
    // A step is about a byte made or looked at. Every value that is made costs its size, so steps bound memory, too.
    void spend(uint64_t steps);

    // ---- Values ----
    [[nodiscard]] Value text(std::string text);
    [[nodiscard]] Value list(std::vector<Value> items, Sequence::Kind kind = Sequence::Kind::list);
    [[nodiscard]] Value dict(std::vector<Dict::Member> members); // of two with one key, the later one's value
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
    // Calls `inside` with a new scope within `parent`, which lives on: a macro may remember it.
    template <class Inside> auto in_scope(const Scope *parent, const Inside &inside) {
        spend(steps_of_object);
        const Restored<Scope *> scope(scope_, &scopes_.emplace_back(Scope{parent, {}}));
        return inside();
    }

    // ---- Output ----
    void write(std::string_view text);
    // What `inside` writes.
    template <class Inside> [[nodiscard]] std::string capture(const Inside &inside) {
        std::string out;
        const Restored<std::string *> output(output_, &out);
        inside();
        return out;
    }

    [[nodiscard]] std::time_t now() const { return now_ ? *now_ : std::time(nullptr); }

  private:
    static constexpr uint64_t steps_of_object = 256;

    // Gives a member another value, for as long as this lives.
    template <class T> class Restored {
      public:
        Restored(T &member, T value) : member_(member), old_(std::exchange(member, std::move(value))) {}
        Restored(const Restored &) = delete;
        Restored &operator=(const Restored &) = delete;
        ~Restored() { member_ = std::move(old_); }

      private:
        T &member_, old_;
    };
    [[nodiscard]] size_t one_deeper() const; // fails when that is too deep

    const Source &source_;
    std::optional<std::time_t> now_;
    size_t place_ = 0, depth_ = 0;
    uint64_t steps_ = 0;
    std::deque<Scope> scopes_;
    std::vector<std::unique_ptr<Object>> objects_;
    Scope *scope_ = nullptr;
    std::string *output_ = nullptr;
};

} // namespace lamina::jinja
