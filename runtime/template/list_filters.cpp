// Filters on values that have items: lists, dicts, strings and streams.
#include "template/access.hpp"
#include "template/builtins.hpp"
#include "template/characters.hpp"
#include "template/operators.hpp"
#include "template/printing.hpp"
#include "template/run.hpp"

#include <algorithm>
#include <cmath>

namespace lamina::jinja {
namespace {

// The value, or an attribute of it, by which items are compared. Strings are lowered unless case matters.
Value key_of(Run &run, const Value &value, const Value *attribute, bool case_sensitive) {
    const Value key = attribute != nullptr && !attribute->is_none() ? item_at_path(run, value, *attribute) : value;
    return case_sensitive || key.text() == nullptr ? key : run.text(lower_case(*key.text()));
}

// The attribute may be a list of several: "role,name".
Value sort_key_of(Run &run, const Value &value, const Value *attribute, bool case_sensitive) {
    if (attribute == nullptr || attribute->text() == nullptr) return key_of(run, value, attribute, case_sensitive);
    const std::string comma = ",";
    std::vector<Value> keys;
    for (const std::string_view each : split(*attribute->text(), &comma, -1)) {
        const Value name = run.text(std::string(each));
        keys.push_back(key_of(run, value, &name, case_sensitive));
    }
    return run.list(std::move(keys));
}

struct Keyed {
    Value key, value;
};

std::vector<Value> sorted(Run &run, std::vector<Keyed> entries, bool reversed) {
    std::ranges::stable_sort(entries, [&](const Keyed &a, const Keyed &b) {
        run.spend(1);
        return reversed ? is_less(run, b.key, a.key) : is_less(run, a.key, b.key);
    });
    std::vector<Value> out;
    for (Keyed &each : entries) out.push_back(std::move(each.value));
    return out;
}

Value filter_sort(const Passed &passed) {
    Run &run = passed.run;
    std::vector<Keyed> entries;
    for (const Value &each : items_of(run, passed.value))
        entries.push_back({sort_key_of(run, each, passed.has(2) ? &passed[2] : nullptr, passed.truth(1, false)), each});
    return run.list(sorted(run, std::move(entries), passed.truth(0, false)));
}

Value filter_dictsort(const Passed &passed) {
    Run &run = passed.run;
    const std::string by = passed.has(1) ? passed.text(1) : "key";
    if (passed.value.dict() == nullptr) run.fail("dictsort: expected a dict, found " + passed.value.description());
    if (by != "key" && by != "value")
        run.fail("dictsort: expected by='key' or by='value', found " + passed[1].description());
    std::vector<Keyed> entries;
    for (const auto &[name, value] : passed.value.dict()->members) {
        const Value key = run.text(name);
        entries.push_back({key_of(run, by == "key" ? key : value, nullptr, passed.truth(0, false)),
                           run.list({key, value}, Sequence::Kind::tuple)});
    }
    return run.list(sorted(run, std::move(entries), passed.truth(2, false)));
}

Value filter_unique(const Passed &passed) {
    Run &run = passed.run;
    std::vector<Value> keys, out;
    for (const Value &each : items_of(run, passed.value)) {
        Value key = key_of(run, each, passed.has(1) ? &passed[1] : nullptr, passed.truth(0, false));
        if (std::ranges::any_of(keys, [&](const Value &old) { return are_equal(run, old, key); })) continue;
        keys.push_back(std::move(key));
        out.push_back(each);
    }
    return stream(run, std::move(out));
}

// The minimum or the maximum; the first one if there are several.
template <bool Greatest> Value filter_extreme(const Passed &passed) {
    Run &run = passed.run;
    std::optional<Keyed> best;
    for (const Value &each : items_of(run, passed.value)) {
        Value key = key_of(run, each, passed.has(1) ? &passed[1] : nullptr, passed.truth(0, false));
        const bool is_better = !best || (Greatest ? is_less(run, best->key, key) : is_less(run, key, best->key));
        if (is_better) best = Keyed{std::move(key), each};
    }
    return best ? best->value : run.undefined("there is no item to choose");
}

Value filter_first(const Passed &passed) {
    Run &run = passed.run;
    const auto none = [&] { return run.undefined("there is no first item"); };
    if (auto *items = dynamic_cast<Stream *>(passed.value.object())) {
        const auto first = items->take();
        return first ? *first : none();
    }
    const Items items = items_of(run, passed.value);
    return items.size() == 0 ? none() : items[0];
}

Value filter_last(const Passed &passed) {
    const Items items = items_of(passed.run, passed.value);
    return items.size() == 0 ? passed.run.undefined("there is no last item") : items[items.size() - 1];
}

Value filter_list(const Passed &passed) { return passed.run.list(items_of(passed.run, passed.value).all()); }

Value filter_join(const Passed &passed) {
    Run &run = passed.run;
    const std::string separator = passed.has(0) ? text_of(run, passed[0]) : "";
    std::string out;
    bool is_first = true;
    for (const Value &each : items_of(run, passed.value)) {
        if (!std::exchange(is_first, false)) out += separator;
        run.spend(separator.size());
        out += text_of(run, passed.has(1) ? item_at_path(run, each, passed[1]) : each);
    }
    return run.text(std::move(out));
}

Value filter_length(const Passed &passed) {
    Run &run = passed.run;
    const Value &value = passed.value;
    run.spend(value.text() != nullptr ? value.text()->size() : 1);
    if (value.is_undefined()) return int64_t{0};
    if (value.text() != nullptr) return static_cast<int64_t>(count_characters(*value.text()));
    if (value.sequence() != nullptr) return static_cast<int64_t>(value.sequence()->items.size());
    if (value.dict() != nullptr) return static_cast<int64_t>(value.dict()->members.size());
    run.fail("length: expected something with items, found " + value.description());
}

Value filter_items(const Passed &passed) {
    Run &run = passed.run;
    std::vector<Value> out;
    if (passed.value.dict() == nullptr && !passed.value.is_undefined())
        run.fail("items: expected a dict, found " + passed.value.description());
    if (passed.value.dict() != nullptr)
        for (const auto &[key, value] : passed.value.dict()->members)
            out.push_back(run.list({run.text(key), value}, Sequence::Kind::tuple));
    return stream(run, std::move(out));
}

} // namespace

Builtins list_filters() {
    static constexpr Builtin table[] = {
        {"count", "", filter_length},
        {"dictsort", "case_sensitive? by? reverse?", filter_dictsort},
        {"first", "", filter_first},
        {"items", "", filter_items},
        {"join", "d? attribute?", filter_join},
        {"last", "", filter_last},
        {"length", "", filter_length},
        {"list", "", filter_list},
        {"max", "case_sensitive? attribute?", filter_extreme<true>},
        {"min", "case_sensitive? attribute?", filter_extreme<false>},
        {"sort", "reverse? case_sensitive? attribute?", filter_sort},
        {"unique", "case_sensitive? attribute?", filter_unique},
    };
    return table;
}

} // namespace lamina::jinja
