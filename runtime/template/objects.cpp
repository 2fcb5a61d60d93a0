#include "template/objects.hpp"

#include "base/utf8.hpp"
#include "template/operators.hpp"

#include <algorithm>

namespace lamina::jinja {
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
        if (found == parameters.end())
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
}

Value MacroObject::call(Run &run, const Arguments &arguments) {
    return run.text(run.capture([&] {
        run.in_scope(scope_, [&] {
            bind(run, arguments);
            run.render(definition_.body);
        });
    }));
}

bool LoopObject::has(size_t index) {
    if (!chosen_) return index < all_.size();
    for (; found_.size() <= index && asked_ < all_.size(); ++asked_)
        if (chosen_(all_[asked_])) found_.push_back(all_[asked_]);
    return index < found_.size();
}

bool LoopObject::go_to(size_t index) {
    if (!has(index)) return false;
    index_ = index;
    return true;
}

std::optional<Value> LoopObject::attribute(Run &run, std::string_view name) {
    const auto number = [](size_t value) { return Value(static_cast<int64_t>(value)); };
    if (name == "index") return number(index_ + 1);
    if (name == "index0") return number(index_);
    if (name == "first") return index_ == 0;
    if (name == "last") return !has(index_ + 1);
    if (name == "length") return (void)has(SIZE_MAX), number(chosen_ ? found_.size() : all_.size());
    if (name == "previtem") return index_ > 0 ? at(index_ - 1) : run.undefined("there is no previous item");
    if (name == "nextitem") return has(index_ + 1) ? at(index_ + 1) : run.undefined("there is no next item");
    return std::nullopt;
}

} // namespace lamina::jinja
