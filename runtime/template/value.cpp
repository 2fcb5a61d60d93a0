#include "template/value.hpp"

#include "base/utf8.hpp"
#include "template/run.hpp"

#include <algorithm>

namespace lamina::jinja {
namespace {

std::string counted(size_t count, const char *what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string description_of(const Sequence &sequence) {
    constexpr const char *names[] = {"a list with ", "a tuple with ", "a range of ", "a view of "};
    return names[static_cast<size_t>(sequence.kind)] + counted(sequence.items.size(), "item");
}

} // namespace

std::optional<Value> Object::attribute(Run & /*run*/, std::string_view /*name*/) { return std::nullopt; }

Value Object::call(Run &run, const Arguments & /*arguments*/) {
    run.fail(std::string("expected something to call, found ") + kind());
}

std::optional<int64_t> Value::integer() const {
    if (const auto *flag = as<bool>()) return *flag ? 1 : 0;
    const auto *whole = as<int64_t>();
    return whole != nullptr ? std::optional(*whole) : std::nullopt;
}

double Value::number() const { return real() != nullptr ? *real() : static_cast<double>(*integer()); }

std::shared_ptr<const Sequence> Value::shared_sequence() const {
    const auto *pointer = as<std::shared_ptr<const Sequence>>();
    return pointer != nullptr ? *pointer : nullptr;
}

bool Value::truth() const {
    if (is_undefined() || is_none()) return false;
    if (is_number()) return number() != 0;
    if (text() != nullptr) return !text()->empty();
    if (sequence() != nullptr) return !sequence()->items.empty();
    return dict() == nullptr || !dict()->members.empty();
}

std::string Value::description() const {
    if (const auto *none = undefined()) return none->why != nullptr ? *none->why : "something undefined";
    if (is_none()) return "none";
    if (boolean() != nullptr) return *boolean() ? "true" : "false";
    if (is_number()) return "the number " + (real() != nullptr ? std::to_string(*real()) : std::to_string(*integer()));
    if (text() != nullptr) return in_quotes(*text());
    if (sequence() != nullptr) return description_of(*sequence());
    return dict() != nullptr ? "a dict with " + counted(dict()->members.size(), "member") : object()->kind();
}

uint64_t Value::weight() const {
    if (text() != nullptr) return 1 + text()->size();
    if (sequence() != nullptr) return sequence()->weight;
    return dict() != nullptr ? dict()->weight : 1;
}

size_t Value::depth() const {
    if (sequence() != nullptr) return sequence()->depth;
    return dict() != nullptr ? dict()->depth : 0;
}

const Value *Dict::find(std::string_view key) const {
    const auto found = std::ranges::find(members, key, &Member::first);
    return found != members.end() ? &found->second : nullptr;
}

const Value *Arguments::find(std::string_view name) const {
    const auto found =
        std::ranges::find(named, name, [](const auto &each) -> const std::string & { return each.first; });
    return found != named.end() ? &found->second : nullptr;
}

} // namespace lamina::jinja
