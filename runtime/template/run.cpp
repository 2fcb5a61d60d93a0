#include "template/run.hpp"

#include <algorithm>

namespace lamina::jinja {
namespace {

constexpr size_t longest_text = 16 << 20; // bytes; also limits the output
constexpr size_t deepest_run = 1500;      // nested expressions and blocks, including those of called macros
constexpr size_t deepest_value = 100;     // nested lists and dicts
constexpr uint64_t steps_of_expression = 16;

uint64_t saturating_sum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

} // namespace

void Run::spend(uint64_t steps) {
    steps_ = saturating_sum(steps_, steps);
    if (steps_ > most_steps_)
        fail("the template takes more than " + std::to_string(most_steps_) + " steps, far more than any chat needs");
}

size_t Run::one_deeper() const {
    if (depth_ == deepest_run) fail("expressions and macros nest more than " + std::to_string(deepest_run) + " deep");
    return depth_ + 1;
}

Value Run::text(std::string text) {
    if (text.size() > longest_text)
        fail("expected a string of at most " + std::to_string(longest_text) + " bytes, found " +
             std::to_string(text.size()));
    spend(text.size());
    return std::make_shared<const std::string>(std::move(text));
}

Value Run::list(std::vector<Value> items, Sequence::Kind kind) {
    spend(items.size() * sizeof(Value));
    Sequence out{kind, std::move(items), 1, 0};
    for (const Value &each : out.items) {
        out.weight = saturating_sum(out.weight, each.weight());
        out.depth = std::max(out.depth, each.depth());
    }
    if (++out.depth > deepest_value) fail("lists nest more than " + std::to_string(deepest_value) + " deep");
    return std::make_shared<const Sequence>(std::move(out));
}

Value Run::dict(std::vector<Dict::Member> members) {
    Dict out{{}, 1, 0};
    for (Dict::Member &each : members) {
        spend(sizeof each + each.first.size() + out.members.size());
        const auto old = std::ranges::find(out.members, each.first, &Dict::Member::first);
        if (old != out.members.end())
            old->second = std::move(each.second);
        else
            out.members.push_back(std::move(each));
    }
    for (const auto &[key, value] : out.members) {
        out.weight = saturating_sum(out.weight, saturating_sum(key.size() + 1, value.weight()));
        out.depth = std::max(out.depth, value.depth());
    }
    if (++out.depth > deepest_value) fail("dicts nest more than " + std::to_string(deepest_value) + " deep");
    return std::make_shared<const Dict>(std::move(out));
}

Value Run::undefined(std::string why) {
    spend(why.size());
    return Undefined{std::make_shared<const std::string>(std::move(why))};
}

Value Run::value(const Expression &expression) {
    const Restored<size_t> place(place_, expression.place), depth(depth_, one_deeper());
    spend(steps_of_expression);
    return expression.evaluate(*this);
}

Flow Run::render(const Block &block) {
    const Restored<size_t> depth(depth_, one_deeper());
    for (const auto &statement : block) {
        const Restored<size_t> place(place_, statement->place);
        spend(steps_of_expression);
        if (const Flow flow = statement->render(*this); flow != Flow::on) return flow;
    }
    return Flow::on;
}

const Value *Run::find(std::string_view name) const {
    for (const Scope *scope = scope_; scope != nullptr; scope = scope->parent)
        if (const auto found = scope->variables.find(name); found != scope->variables.end()) return &found->second;
    return nullptr;
}

void Run::set(std::string_view name, Value value) { scope_->variables.insert_or_assign(name, std::move(value)); }

void Run::write(std::string_view text) {
    if (output_->size() + text.size() > longest_text)
        fail("the output is longer than " + std::to_string(longest_text) + " bytes");
    spend(text.size());
    *output_ += text;
}

} // namespace lamina::jinja
