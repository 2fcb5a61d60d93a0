#include "template/objects.hpp"

#include "base/utf8.hpp"
#include "template/operators.hpp"

#include <algorithm>

namespace lamina::jinja {
namespace {

// loop.cycle and loop.changed
class LoopMethod final : public Object {
  public:
    using Method = Value (*)(Run &run, LoopObject &loop, const Arguments &arguments);
    LoopMethod(LoopObject &loop, Method method) : loop_(loop), method_(method) {}
    [[nodiscard]] const char *kind() const override { return "a method that is not called"; }
    [[nodiscard]] Value call(Run &run, const Arguments &arguments) override { return method_(run, loop_, arguments); }

  private:
    LoopObject &loop_;
    Method method_;
};

} // namespace

std::optional<Value> Namespace::attribute(Run & /*run*/, std::string_view name) {
    const auto found = values_.find(name);
    return found != values_.end() ? std::optional(found->second) : std::nullopt;
}

void MacroObject::bind(Run &run, const Arguments &arguments) const {
    const auto &parameters = definition_.parameters;
    if (arguments.positional.size() > parameters.size())
        run.fail("the macro " + in_quotes(definition_.name) + " takes " + std::to_string(parameters.size()) +
                 " arguments, found " + std::to_string(arguments.positional.size()));
    for (const auto &[name, value] : arguments.named) {
        const auto found = std::ranges::find(parameters, name, &Parameter::name);
        if (found == parameters.end() && name != "caller")
            run.fail("the macro " + in_quotes(definition_.name) + " has no parameter " + in_quotes(name));
        if (found != parameters.end() && static_cast<size_t>(found - parameters.begin()) < arguments.positional.size())
            run.fail("the macro " + in_quotes(definition_.name) + " gets the argument " + in_quotes(name) + " twice");
    }
    for (size_t i = 0; i < parameters.size(); ++i) {
        const Parameter &parameter = parameters[i];
        const Value *named = arguments.find(parameter.name);
        run.set(parameter.name, i < arguments.positional.size() ? arguments.positional[i]
                                : named != nullptr              ? *named
                                : parameter.fallback != nullptr
                                    ? run.value(*parameter.fallback)
                                    : run.undefined("parameter " + in_quotes(parameter.name) + " was not provided"));
    }
    if (const Value *caller = arguments.find("caller")) run.set("caller", *caller);
}

Value MacroObject::call(Run &run, const Arguments &arguments) {
    return run.text(run.capture([&] {
        run.in_scope(scope_, [&] {
            bind(run, arguments);
            run.render(definition_.body);
        });
    }));
}

std::optional<Value> LoopObject::attribute(Run &run, std::string_view name) {
    const size_t size = items_.size();
    const auto number = [](size_t value) { return Value(static_cast<int64_t>(value)); };
    if (name == "index") return number(index_ + 1);
    if (name == "index0") return number(index_);
    if (name == "first") return index_ == 0;
    if (name == "last") return index_ + 1 == size;
    if (name == "length") return number(size);
    if (name == "revindex") return number(size - index_);
    if (name == "revindex0") return number(size - index_ - 1);
    if (name == "previtem") return index_ > 0 ? items_[index_ - 1] : run.undefined("there is no previous item");
    if (name == "nextitem") return index_ + 1 < size ? items_[index_ + 1] : run.undefined("there is no next item");
    if (name == "depth") return number(1);
    if (name == "depth0") return number(0);
    if (name == "cycle")
        return run.object<LoopMethod>(*this,
                                      [](Run &r, LoopObject &loop, const Arguments &a) { return loop.cycle(r, a); });
    if (name == "changed")
        return run.object<LoopMethod>(
            *this, [](Run &r, LoopObject &loop, const Arguments &a) { return Value(loop.changed(r, a)); });
    return std::nullopt;
}

Value LoopObject::call(Run &run, const Arguments & /*arguments*/) { run.fail("recursive loops are not supported"); }

Value LoopObject::cycle(Run &run, const Arguments &arguments) const {
    if (arguments.positional.empty()) run.fail("cycle() takes at least one argument");
    return arguments.positional[index_ % arguments.positional.size()];
}

bool LoopObject::changed(Run &run, const Arguments &arguments) {
    const std::vector<Value> &now = arguments.positional;
    const bool same = last_changed_ && std::ranges::equal(*last_changed_, now, [&](const Value &a, const Value &b) {
                          return are_equal(run, a, b);
                      });
    last_changed_ = now;
    return !same;
}

} // namespace lamina::jinja
