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

Value method_copy(const Passed &passed) { return passed.value; }

const std::vector<Value> &items(const Passed &passed) { return passed.value.sequence()->items; }

Value method_index_of(const Passed &passed) {
    const auto found =
        std::ranges::find_if(items(passed), [&](const Value &each) { return are_equal(passed.run, each, passed[0]); });
    if (found == items(passed).end())
        passed.run.fail(passed[0].description() + " is not in " + passed.value.description());
    return static_cast<int64_t>(found - items(passed).begin());
}

Value method_count_of(const Passed &passed) {
    return static_cast<int64_t>(std::ranges::count_if(
        items(passed), [&](const Value &each) { return are_equal(passed.run, each, passed[0]); }));
}

} // namespace

Builtins collection_methods(const Value &value) {
    static constexpr Builtin of_dict[] = {
        {"copy", "", method_copy},
        {"get", "key default?", method_get},
        {"items", "", method_view<item_of_member>},
        {"keys", "", method_view<key_of_member>},
        {"values", "", method_view<value_of_member>},
    };
    static constexpr Builtin of_list[] = {{"count", "value", method_count_of}, {"index", "value", method_index_of}};
    if (value.dict() != nullptr) return of_dict;
    const Sequence *sequence = value.sequence();
    return sequence != nullptr && sequence->kind != Sequence::Kind::view ? Builtins(of_list) : Builtins();
}

} // namespace lamina::jinja
