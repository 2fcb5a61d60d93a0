// Filters that apply other filters or tests to each item: map, select, reject, selectattr, rejectattr.
#include "template/access.hpp"
#include "template/builtins.hpp"
#include "template/operators.hpp"
#include "template/run.hpp"

#include <algorithm>

namespace lamina::jinja {
namespace {

// The filter or test to apply, and its arguments.
struct Inner {
    std::string name;
    Arguments arguments;
};

// These filters treat any false value, even none, as an empty list.
Items items_to_choose(const Passed &passed) {
    return items_of(passed.run, passed.value.truth() ? passed.value : Value());
}

Inner inner_of(const Passed &passed, size_t at) {
    const std::vector<Value> &all = passed.arguments.positional;
    if (all[at].text() == nullptr) passed.run.fail("expected a name, found " + all[at].description());
    Inner out{*all[at].text(), {{}, passed.arguments.named}};
    out.arguments.positional.assign(all.begin() + static_cast<std::ptrdiff_t>(at) + 1, all.end());
    return out;
}

// map('upper'), or map(attribute='role', default='user')
Value filter_map(const Passed &passed) {
    Run &run = passed.run;
    const Value *attribute = passed.arguments.find("attribute"), *otherwise = passed.arguments.find("default");
    const bool applies_filter = !passed.arguments.positional.empty();
    if (!applies_filter && attribute == nullptr) run.fail("map: expected the name of a filter, or attribute=NAME");
    std::vector<Value> out;
    for (const Value &each : items_to_choose(passed)) {
        if (applies_filter) {
            const Inner filter = inner_of(passed, 0);
            out.push_back(apply_filter(run, filter.name, each, filter.arguments));
            continue;
        }
        const Value part = item_at_path(run, each, *attribute);
        out.push_back(part.is_undefined() && otherwise != nullptr ? *otherwise : part);
    }
    return stream(run, std::move(out));
}

// The items that pass a test, or those that fail it. The default test is truth.
template <bool Passing, bool OfAttribute> Value filter_choose(const Passed &passed) {
    Run &run = passed.run;
    const std::vector<Value> &all = passed.arguments.positional;
    const size_t at = OfAttribute ? 1 : 0;
    if (all.size() < at) run.fail("expected the name of an attribute");
    std::vector<Value> out;
    for (const Value &each : items_to_choose(passed)) {
        const Value tested = OfAttribute ? item_at_path(run, each, all[0]) : each;
        bool passes = tested.truth();
        if (all.size() > at) {
            const Inner test = inner_of(passed, at);
            passes = apply_test(run, test.name, tested, test.arguments);
        }
        if (passes == Passing) out.push_back(each);
    }
    return stream(run, std::move(out));
}

} // namespace

Builtins choosing_filters() {
    static constexpr Builtin table[] = {
        {"map", "*", filter_map},
        {"reject", "*", filter_choose<false, false>},
        {"rejectattr", "*", filter_choose<false, true>},
        {"select", "*", filter_choose<true, false>},
        {"selectattr", "*", filter_choose<true, true>},
    };
    return table;
}

} // namespace lamina::jinja
