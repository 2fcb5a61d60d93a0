// Evaluates expressions.
#include "template/access.hpp"
#include "template/builtins.hpp"
#include "template/operators.hpp"
#include "template/printing.hpp"
#include "template/run.hpp"
#include "template/syntax.hpp"

#include "base/utf8.hpp"

namespace lamina::jinja {
namespace {

// A built-in function as a value: range, namespace, ...
class Function final : public Object {
  public:
    explicit Function(const Builtin &builtin) : builtin_(builtin) {}
    [[nodiscard]] const char *kind() const override { return "a function"; }
    [[nodiscard]] Value call(Run &run, const Arguments &arguments) override {
        return call_builtin(run, builtin_, {}, arguments);
    }

  private:
    const Builtin &builtin_;
};

Value value_or_none(Run &run, const ExpressionPtr &expression) {
    return expression != nullptr ? run.value(*expression) : Value(nullptr);
}

[[noreturn]] void refuse_call(Run &run, const Value &object, const std::string &method) {
    Builtins known = object.text() != nullptr ? text_methods() : collection_methods(object);
    std::string names;
    for (const Builtin &each : known) names += (names.empty() ? "; supported: " : ", ") + std::string(each.name);
    run.fail(object.description() + " has no method " + in_quotes(method) + names);
}

} // namespace

Value Constant::evaluate(Run & /*run*/) const { return value; }

Value Name::evaluate(Run &run) const {
    if (const Value *variable = run.find(name)) return *variable;
    if (const Builtin *function = find_function(name)) return run.object<Function>(*function);
    return run.undefined(in_quotes(name) + " is undefined");
}

Value SequenceLiteral::evaluate(Run &run) const {
    std::vector<Value> values;
    for (const ExpressionPtr &each : items) values.push_back(run.value(*each));
    return run.list(std::move(values), kind);
}

Value DictLiteral::evaluate(Run &run) const {
    std::vector<Dict::Member> out;
    for (const auto &[key, member] : members) {
        const Value name = run.value(*key);
        if (name.text() == nullptr) run.fail("the keys of a dict must be strings, found " + name.description());
        out.emplace_back(*name.text(), run.value(*member));
    }
    return run.dict(std::move(out));
}

Value Arithmetic::evaluate(Run &run) const {
    if (left == nullptr) return signed_number(run, symbol, run.value(*right));
    const Value a = run.value(*left), b = run.value(*right);
    return arithmetic(run, symbol, a, b);
}

Value Concatenation::evaluate(Run &run) const {
    std::string out;
    for (const ExpressionPtr &each : parts) out += text_of(run, run.value(*each));
    return run.text(std::move(out));
}

Value Comparison::evaluate(Run &run) const {
    Value left = run.value(*first);
    for (const auto &[symbol, operand] : rest) {
        Value right = run.value(*operand);
        if (!compare(run, symbol, left, right)) return false;
        left = std::move(right);
    }
    return true;
}

Value Logic::evaluate(Run &run) const {
    Value first = run.value(*left);
    return first.truth() == is_and ? run.value(*right) : first;
}

Value Not::evaluate(Run &run) const { return !run.value(*operand).truth(); }

Value Conditional::evaluate(Run &run) const {
    if (run.value(*condition).truth()) return run.value(*yes);
    return no != nullptr ? run.value(*no) : run.undefined("the condition is false and there is no 'else'");
}

Value Attribute::evaluate(Run &run) const { return attribute_of(run, run.value(*object), name); }

Value Subscript::evaluate(Run &run) const {
    const Value value = run.value(*object), at = run.value(*index);
    return item_of(run, value, at);
}

Value Slice::evaluate(Run &run) const {
    const Value value = run.value(*object), first = value_or_none(run, begin), last = value_or_none(run, end);
    return slice_of(run, value, first, last, value_or_none(run, step));
}

Arguments CallArguments::evaluate(Run &run) const {
    Arguments out;
    for (const ExpressionPtr &each : positional) out.positional.push_back(run.value(*each));
    for (const auto &[name, value] : named) out.named.emplace_back(name, run.value(*value));
    if (more_positional != nullptr)
        for (const Value &each : items_of(run, run.value(*more_positional))) out.positional.push_back(each);
    if (more_named == nullptr) return out;
    const Value dict = run.value(*more_named);
    if (dict.dict() == nullptr) run.fail("**: expected a dict, found " + dict.description());
    for (const auto &[name, value] : dict.dict()->members) {
        if (out.find(name) != nullptr) run.fail("the argument " + in_quotes(name) + " is passed twice");
        out.named.emplace_back(name, value);
    }
    return out;
}

Value Call::evaluate(Run &run) const { return call(run, {}); }

Value Call::call(Run &run, const Arguments &more) const {
    const auto passed = [&] {
        Arguments out = arguments.evaluate(run);
        out.named.insert(out.named.end(), more.named.begin(), more.named.end());
        return out;
    };
    const auto *method = dynamic_cast<const Attribute *>(callee.get());
    if (method == nullptr) {
        const Value function = run.value(*callee);
        return call_value(run, function, passed());
    }
    const Value object = run.value(*method->object);
    if (const Builtin *builtin = find_method(object, method->name))
        return call_builtin(run, *builtin, object, passed());
    const Value function = attribute_of(run, object, method->name);
    if (function.is_undefined()) refuse_call(run, object, method->name);
    return call_value(run, function, passed());
}

Value FilterCall::evaluate(Run &run) const {
    const Value filtered = run.value(*value);
    return apply_filter(run, name, filtered, arguments.evaluate(run));
}

Value FilterCall::apply(Run &run, const Value &to) const {
    const auto *before = dynamic_cast<const FilterCall *>(value.get()); // the previous filter of the chain
    const Value filtered = before != nullptr ? before->apply(run, to) : to;
    return apply_filter(run, name, filtered, arguments.evaluate(run));
}

Value TestCall::evaluate(Run &run) const {
    const Value tested = run.value(*value);
    return apply_test(run, name, tested, arguments.evaluate(run));
}

} // namespace lamina::jinja
