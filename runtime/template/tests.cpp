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
Value test_integer(const Passed &passed) { return passed.value.integer() && passed.value.boolean() == nullptr; }
Value test_float(const Passed &passed) { return passed.value.real() != nullptr; }
Value test_string(const Passed &passed) { return passed.value.text() != nullptr; }
Value test_mapping(const Passed &passed) { return passed.value.dict() != nullptr; }
Value test_iterable(const Passed &passed) { return is_iterable(passed.value); }
Value test_sequence(const Passed &passed) {
    const Value &value = passed.value;
    const bool is_view = value.sequence() != nullptr && value.sequence()->kind == Sequence::Kind::view;
    return is_iterable(value) && !is_view && value.object() == nullptr;
}
Value test_callable(const Passed &passed) {
    return passed.value.object() != nullptr && dynamic_cast<Stream *>(passed.value.object()) == nullptr &&
           dynamic_cast<Namespace *>(passed.value.object()) == nullptr;
}

// Python's isupper() and islower(): at least one cased letter, and all cased letters have this case.
template <bool Upper> Value test_case(const Passed &passed) {
    const std::string text = text_of(passed.run, passed.value);
    return text == (Upper ? upper_case(text) : lower_case(text)) && upper_case(text) != lower_case(text);
}

Value remainder_of(const Passed &passed, const Value &divisor) {
    return arithmetic(passed.run, "%", passed.value, divisor);
}
template <int64_t Remainder> Value test_parity(const Passed &passed) {
    return are_equal(passed.run, remainder_of(passed, Value(int64_t{2})), Value(Remainder));
}
Value test_divisibleby(const Passed &passed) {
    return are_equal(passed.run, remainder_of(passed, passed[0]), Value(int64_t{0}));
}

Value test_sameas(const Passed &passed) {
    const Value &a = passed.value, &b = passed[0];
    const bool same_kind =
        (a.boolean() != nullptr) == (b.boolean() != nullptr) && (a.real() != nullptr) == (b.real() != nullptr);
    return same_kind && are_equal(passed.run, a, b);
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
        {"callable", "", test_callable},
        {"defined", "", test_defined},
        {"divisibleby", "num", test_divisibleby},
        {"eq", "other", test_compare<symbol_eq>},
        {"equalto", "other", test_compare<symbol_eq>},
        {"even", "", test_parity<0>},
        {"false", "", test_false},
        {"float", "", test_float},
        {"ge", "other", test_compare<symbol_ge>},
        {"greaterthan", "other", test_compare<symbol_gt>},
        {"gt", "other", test_compare<symbol_gt>},
        {"in", "seq", test_compare<symbol_in>},
        {"integer", "", test_integer},
        {"iterable", "", test_iterable},
        {"le", "other", test_compare<symbol_le>},
        {"lessthan", "other", test_compare<symbol_lt>},
        {"lower", "", test_case<false>},
        {"lt", "other", test_compare<symbol_lt>},
        {"mapping", "", test_mapping},
        {"ne", "other", test_compare<symbol_ne>},
        {"none", "", test_kind<&Value::is_none>},
        {"number", "", test_kind<&Value::is_number>},
        {"odd", "", test_parity<1>},
        {"sameas", "other", test_sameas},
        {"sequence", "", test_sequence},
        {"string", "", test_string},
        {"true", "", test_true},
        {"undefined", "", test_kind<&Value::is_undefined>},
        {"upper", "", test_case<true>},
        // For select('==', ...) and the like.
        {"==", "other", test_compare<symbol_eq>},
        {"!=", "other", test_compare<symbol_ne>},
        {"<", "other", test_compare<symbol_lt>},
        {"<=", "other", test_compare<symbol_le>},
        {">", "other", test_compare<symbol_gt>},
        {">=", "other", test_compare<symbol_ge>},
    };
    return table;
}

} // namespace lamina::jinja
