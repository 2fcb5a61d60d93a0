// The tests of "value is NAME".
#include "template/builtins.hpp"
#include "template/characters.hpp"
#include "template/objects.hpp"
#include "template/operators.hpp"
#include "template/printing.hpp"
#include "template/run.hpp"

#include <algorithm>

namespace lamina::jinja {
namespace {

template <bool (Value::*Is)() const> Value test_kind(const Passed &passed) { return (passed.value.*Is)(); }

Value test_defined(const Passed &passed) { return !passed.value.is_undefined(); }
Value test_boolean(const Passed &passed) { return passed.value.boolean() != nullptr; }
Value test_true(const Passed &passed) { return passed.value.boolean() != nullptr && *passed.value.boolean(); }
Value test_false(const Passed &passed) { return passed.value.boolean() != nullptr && !*passed.value.boolean(); }
Value test_string(const Passed &passed) { return passed.value.text() != nullptr; }
Value test_mapping(const Passed &passed) { return passed.value.dict() != nullptr; }
Value test_iterable(const Passed &passed) { return is_iterable(passed.value); }
Value test_sequence(const Passed &passed) {
    const Value &value = passed.value;
    const bool is_view = value.sequence() != nullptr && value.sequence()->kind == Sequence::Kind::view;
    return is_iterable(value) && !is_view && value.object() == nullptr;
}

// The symbols of comparisons, as template arguments.
constexpr char symbol_eq[] = "==", symbol_ne[] = "!=", symbol_lt[] = "<", symbol_le[] = "<=", symbol_gt[] = ">",
               symbol_ge[] = ">=", symbol_in[] = "in";
template <const char *Symbol> Value test_compare(const Passed &passed) {
    return compare(passed.run, Symbol, passed.value, passed[0]);
}

} // namespace

Builtins tests() {
    static constexpr Builtin table[] = {
        {"boolean", "", test_boolean},
        {"defined", "", test_defined},
        {"eq", "other", test_compare<symbol_eq>},
        {"equalto", "other", test_compare<symbol_eq>},
        {"false", "", test_false},
        {"in", "seq", test_compare<symbol_in>},
        {"iterable", "", test_iterable},
        {"mapping", "", test_mapping},
        {"ne", "other", test_compare<symbol_ne>},
        {"none", "", test_kind<&Value::is_none>},
        {"number", "", test_kind<&Value::is_number>},
        {"sequence", "", test_sequence},
        {"string", "", test_string},
        {"true", "", test_true},
        {"undefined", "", test_kind<&Value::is_undefined>},
    };
    return table;
}

} // namespace lamina::jinja
