// Methods of dicts, lists and tuples, without those that modify them: values in templates are immutable.
#include "template/builtins.hpp"
#include "template/operators.hpp"
#include "template/run.hpp"

#include <algorithm>

namespace lamina::jinja {
namespace {

using Entry = Value (*)(Run &run, const Dict::Member &member);

Value key_of_member(Run &run, const Dict::Member &member) { return run.text(member.first); }
Value value_of_member(Run & /*run*/, const Dict::Member &member) { return member.second; }
Value item_of_member(Run &run, const Dict::Member &member) {
    return run.list({run.text(member.first), member.second}, Sequence::Kind::tuple);
}

template <Entry Of> Value method_view(const Passed &passed) {
    std::vector<Value> out;
    for (const Dict::Member &each : passed.value.dict()->members) out.push_back(Of(passed.run, each));
    return passed.run.list(std::move(out), Sequence::Kind::view);
}

Value method_get(const Passed &passed) {
    passed.run.spend(passed.value.dict()->members.size());
    const Value *member = passed[0].text() != nullptr ? passed.value.dict()->find(*passed[0].text()) : nullptr;
    return member != nullptr ? *member : passed.has(1) ? passed[1] : Value(nullptr);
}

} // namespace

Builtins collection_methods(const Value &value) {
    static constexpr Builtin of_dict[] = {
        {"get", "key default?", method_get},
        {"items", "", method_view<item_of_member>},
        {"keys", "", method_view<key_of_member>},
        {"values", "", method_view<value_of_member>},
    };
    return value.dict() != nullptr ? Builtins(of_dict) : Builtins();
}

} // namespace lamina::jinja
