#include "template/access.hpp"

#include "template/builtins.hpp"
#include "template/characters.hpp"
#include "template/run.hpp"

#include <algorithm>
#include <charconv>

namespace lamina::jinja {
namespace {

// A method that has not been called: text.strip
class BoundMethod final : public Object {
  public:
    BoundMethod(const Builtin &method, Value value) : method_(method), value_(std::move(value)) {}
    [[nodiscard]] const char *kind() const override { return "a method that is not called"; }
    [[nodiscard]] Value call(Run &run, const Arguments &arguments) override {
        return call_builtin(run, method_, value_, arguments);
    }

  private:
    const Builtin &method_;
    Value value_;
};

Value nothing_there(Run &run, const Value &value, const std::string &name) {
    return run.undefined(value.description() + " has no " + name);
}

std::optional<Value> method_of(Run &run, const Value &value, std::string_view name) {
    const Builtin *method = find_method(value, name);
    if (method == nullptr) return std::nullopt;
    return run.object<BoundMethod>(*method, value);
}

std::optional<Value> member_of(Run &run, const Value &value, std::string_view name) {
    if (value.dict() == nullptr) return std::nullopt;
    run.spend(value.dict()->members.size());
    const Value *member = value.dict()->find(name);
    return member != nullptr ? std::optional(*member) : std::nullopt;
}

void refuse_undefined(Run &run, const Value &value, const std::string &name) {
    if (value.is_undefined()) run.fail(value.description() + ", so it has no " + name);
}

// A negative index counts from the end. npos: out of range.
size_t position(int64_t index, size_t size) {
    const auto signed_size = static_cast<int64_t>(size);
    if (index < -signed_size || index >= signed_size) return std::string_view::npos;
    return static_cast<size_t>(index < 0 ? index + signed_size : index);
}

std::optional<Value> item_by_number(Run &run, const Value &value, int64_t index) {
    if (value.sequence() != nullptr && value.sequence()->kind != Sequence::Kind::view) {
        const size_t at = position(index, value.sequence()->items.size());
        if (at != std::string_view::npos) return value.sequence()->items[at];
    }
    if (value.text() != nullptr) {
        run.spend(value.text()->size());
        const size_t at = position(index, count_characters(*value.text()));
        if (at != std::string_view::npos) return characters_between(run, *value.text(), at, at + 1);
    }
    return std::nullopt;
}

// The positions that a slice selects.
struct Steps {
    int64_t begin = 0, count = 0, step = 1;
};

std::optional<int64_t> bound_of(Run &run, const Value &value) {
    if (value.is_none()) return std::nullopt;
    if (!value.integer()) run.fail("a slice: expected a whole number, found " + value.description());
    return value.integer();
}

Steps steps_of(Run &run, size_t items, const Value &begin, const Value &end, const Value &step) {
    const auto size = static_cast<int64_t>(items);
    Steps out;
    out.step = std::clamp<int64_t>(bound_of(run, step).value_or(1), -size - 1, size + 1);
    if (out.step == 0) run.fail("the step of a slice is 0");
    const bool forward = out.step > 0;
    const int64_t lowest = forward ? 0 : -1, highest = forward ? size : size - 1;
    const auto limited = [&](std::optional<int64_t> bound, int64_t otherwise) {
        if (!bound) return otherwise;
        return *bound < 0 ? std::max(*bound < -size ? lowest : *bound + size, lowest) : std::min(*bound, highest);
    };
    out.begin = limited(bound_of(run, begin), forward ? lowest : highest);
    const int64_t stop = limited(bound_of(run, end), forward ? highest : lowest);
    const int64_t distance = forward ? stop - out.begin : out.begin - stop;
    out.count = distance > 0 ? (distance - 1) / std::abs(out.step) + 1 : 0;
    return out;
}

Value sliced_text(Run &run, const std::string &text, const Value &begin, const Value &end, const Value &step) {
    run.spend(text.size());
    const Steps steps = steps_of(run, count_characters(text), begin, end, step);
    if (steps.step == 1)
        return characters_between(run, text, static_cast<size_t>(steps.begin),
                                  static_cast<size_t>(steps.begin + steps.count));
    std::vector<size_t> offsets; // of each character
    run.spend(text.size() * sizeof(size_t));
    for (size_t at = 0; at < text.size(); at += character_at(text, at).length) offsets.push_back(at);
    std::string out;
    for (int64_t i = 0; i < steps.count; ++i) {
        const size_t at = offsets[static_cast<size_t>(steps.begin + i * steps.step)];
        out.append(text, at, character_at(text, at).length);
    }
    return run.text(std::move(out));
}

} // namespace

Value characters_between(Run &run, std::string_view text, size_t begin, size_t end) {
    size_t at = 0;
    for (size_t i = 0; i < begin && at < text.size(); ++i) at += character_at(text, at).length;
    const size_t first = at;
    for (size_t i = begin; i < end && at < text.size(); ++i) at += character_at(text, at).length;
    return run.text(std::string(text.substr(first, at - first)));
}

Value attribute_of(Run &run, const Value &value, std::string_view name) {
    const std::string what = in_quotes(name);
    refuse_undefined(run, value, what);
    if (auto method = method_of(run, value, name)) return *method;
    if (auto member = member_of(run, value, name)) return *member;
    if (value.object() != nullptr)
        if (auto attribute = value.object()->attribute(run, name)) return *attribute;
    return nothing_there(run, value, what);
}

Value item_of(Run &run, const Value &value, const Value &index) {
    const std::string what = "[" + index.description() + "]";
    refuse_undefined(run, value, what);
    if (index.text() != nullptr) {
        const auto member = member_of(run, value, *index.text());
        return member ? *member : attribute_of(run, value, *index.text());
    }
    if (const auto number = index.integer())
        if (auto item = item_by_number(run, value, *number)) return *item;
    return nothing_there(run, value, what);
}

Value slice_of(Run &run, const Value &value, const Value &begin, const Value &end, const Value &step) {
    if (value.text() != nullptr) return sliced_text(run, *value.text(), begin, end, step);
    const Sequence *sequence = value.sequence();
    if (sequence == nullptr || sequence->kind == Sequence::Kind::view)
        run.fail("expected a list or a string to slice, found " + value.description());
    const Steps steps = steps_of(run, sequence->items.size(), begin, end, step);
    std::vector<Value> items;
    for (int64_t i = 0; i < steps.count; ++i)
        items.push_back(sequence->items[static_cast<size_t>(steps.begin + i * steps.step)]);
    return run.list(std::move(items), sequence->kind);
}

Value item_at_path(Run &run, Value value, const Value &path) {
    if (path.text() == nullptr) return item_of(run, value, path);
    const std::string dot = ".";
    for (const std::string_view part : split(*path.text(), &dot, -1)) {
        int64_t number = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
        const bool is_number = error == std::errc() && end == part.data() + part.size();
        value = item_of(run, value, is_number ? Value(number) : run.text(std::string(part)));
    }
    return value;
}

Value call_value(Run &run, const Value &callee, const Arguments &arguments) {
    if (callee.object() == nullptr) run.fail("expected something to call, found " + callee.description());
    return callee.object()->call(run, arguments);
}

} // namespace lamina::jinja
