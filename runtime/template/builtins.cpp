#include "template/builtins.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"
#include "template/characters.hpp"
#include "template/run.hpp"

#include <algorithm>
#include <initializer_list>

namespace lamina::jinja {
namespace {

const Builtin *find_in(Builtins table, std::string_view name) {
    const auto found = std::ranges::find(table, name, &Builtin::name);
    return found != table.end() ? &*found : nullptr;
}

[[noreturn]] void refuse_name(Run &run, const char *what, std::string_view name,
                              std::initializer_list<Builtins> known) {
    std::vector<std::string> names;
    for (const Builtins table : known)
        for (const Builtin &each : table) names.emplace_back(each.name);
    std::ranges::sort(names);
    std::string list;
    for (const std::string &each : names) list += (list.empty() ? "" : ", ") + each;
    run.fail("the " + std::string(what) + " " + in_quotes(name) + " is not supported" + did_you_mean(name, names) +
             "; supported: " + list);
}

} // namespace

const std::string &Passed::text(size_t i) const {
    if (bound_[i]->text() == nullptr) run.fail("expected a string, found " + bound_[i]->description());
    return *bound_[i]->text();
}

int64_t Passed::integer(size_t i, int64_t otherwise) const {
    if (!has(i) || bound_[i]->is_none()) return otherwise;
    if (!bound_[i]->integer()) run.fail("expected a whole number, found " + bound_[i]->description());
    return *bound_[i]->integer();
}

bool Passed::truth(size_t i, bool otherwise) const { return has(i) ? bound_[i]->truth() : otherwise; }

Value call_builtin(Run &run, const Builtin &builtin, const Value &value, const Arguments &arguments) {
    Passed passed(run, value, arguments);
    const std::string usage = std::string(builtin.name) + "(" + builtin.parameters + ")";
    if (builtin.parameters == std::string_view("*")) return builtin.function(passed);
    size_t used = 0;
    for (std::string_view parameter : split(builtin.parameters, nullptr, -1)) {
        const bool is_optional = parameter.ends_with('?');
        if (is_optional) parameter.remove_suffix(1);
        const size_t i = passed.bound_.size();
        const Value *given = i < arguments.positional.size() ? &arguments.positional[i] : arguments.find(parameter);
        if (given == nullptr && !is_optional) run.fail(usage + " requires the argument " + in_quotes(parameter));
        used += given != nullptr ? 1 : 0;
        passed.bound_.push_back(given);
    }
    if (used != arguments.positional.size() + arguments.named.size()) run.fail(usage + " takes no other arguments");
    return builtin.function(passed);
}

Value apply_filter(Run &run, std::string_view name, const Value &value, const Arguments &arguments) {
    const std::initializer_list<Builtins> tables{text_filters(), list_filters(), choosing_filters(), number_filters()};
    for (const Builtins table : tables)
        if (const Builtin *found = find_in(table, name)) return call_builtin(run, *found, value, arguments);
    refuse_name(run, "filter", name, tables);
}

bool apply_test(Run &run, std::string_view name, const Value &value, const Arguments &arguments) {
    if (const Builtin *found = find_in(tests(), name)) return call_builtin(run, *found, value, arguments).truth();
    refuse_name(run, "test", name, {tests()});
}

const Builtin *find_method(const Value &value, std::string_view name) {
    return find_in(value.text() != nullptr ? text_methods() : collection_methods(value), name);
}

const Builtin *find_function(std::string_view name) { return find_in(functions(), name); }

} // namespace lamina::jinja
