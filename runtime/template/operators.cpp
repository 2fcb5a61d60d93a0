#include "template/operators.hpp"

#include "template/arithmetic.hpp"
#include "template/characters.hpp"
#include "template/run.hpp"

#include <algorithm>
#include <array>
#include <compare>

namespace lamina::jinja {
namespace {

std::vector<Value> characters_of(Run &run, std::string_view text) {
    std::vector<Value> out;
    for (size_t at = 0; at < text.size();) {
        const size_t length = character_at(text, at).length;
        out.push_back(run.text(std::string(text.substr(at, length))));
        at += length;
    }
    return out;
}

Value repeated(Run &run, const Value &value, int64_t count) {
    const size_t times = count < 0 ? 0 : static_cast<size_t>(count);
    const size_t size = value.text() != nullptr ? value.text()->size() : value.sequence()->items.size();
    if (times != 0 && size > (size_t{1} << 40) / times)
        run.fail("repeated too often: " + std::to_string(times) + " times");
    run.spend(size * times);
    if (value.text() != nullptr) {
        std::string out;
        for (size_t i = 0; size != 0 && i < times; ++i) out += *value.text();
        return run.text(std::move(out));
    }
    std::vector<Value> out;
    const std::vector<Value> &items = value.sequence()->items;
    for (size_t i = 0; size != 0 && i < times; ++i) out.insert(out.end(), items.begin(), items.end());
    return run.list(std::move(out), value.sequence()->kind);
}

bool is_list_or_tuple(const Value &value) {
    return value.sequence() != nullptr &&
           (value.sequence()->kind == Sequence::Kind::list || value.sequence()->kind == Sequence::Kind::tuple);
}

// Concatenates two strings, two lists or two tuples; none for other values.
std::optional<Value> joined(Run &run, const Value &left, const Value &right) {
    if (left.text() != nullptr && right.text() != nullptr) return run.text(*left.text() + *right.text());
    if (!is_list_or_tuple(left) || !is_list_or_tuple(right) || left.sequence()->kind != right.sequence()->kind)
        return std::nullopt;
    std::vector<Value> items = left.sequence()->items;
    items.insert(items.end(), right.sequence()->items.begin(), right.sequence()->items.end());
    return run.list(std::move(items), left.sequence()->kind);
}

std::strong_ordering order_of_numbers(const Value &a, const Value &b, bool &comparable) {
    if (a.integer() && b.integer()) return *a.integer() <=> *b.integer();
    // long double holds every 64-bit integer and every double, so mixed comparisons are exact.
    const auto wide = [](const Value &v) {
        return v.real() != nullptr ? static_cast<long double>(*v.real()) : static_cast<long double>(*v.integer());
    };
    const long double x = wide(a), y = wide(b);
    comparable = x == x && y == y; // NaN is not equal to anything, and neither less nor greater
    return x < y ? std::strong_ordering::less : x > y ? std::strong_ordering::greater : std::strong_ordering::equal;
}

bool are_dicts_equal(Run &run, const Dict &a, const Dict &b) {
    return a.members.size() == b.members.size() && std::ranges::all_of(a.members, [&](const Dict::Member &member) {
               run.spend(b.members.size());
               const Value *other = b.find(member.first);
               return other != nullptr && are_equal(run, member.second, *other);
           });
}

bool are_sequences_equal(Run &run, const Sequence &a, const Sequence &b) {
    return a.kind == b.kind && a.items.size() == b.items.size() &&
           std::ranges::equal(a.items, b.items, [&](const Value &x, const Value &y) { return are_equal(run, x, y); });
}

bool contains(Run &run, const Value &container, const Value &item) {
    run.spend(container.weight());
    if (const std::string *text = container.text()) {
        if (item.text() == nullptr) run.fail("'in' a string: expected a string, found " + item.description());
        return find_text(*text, *item.text()) != std::string_view::npos;
    }
    if (const Dict *dict = container.dict()) {
        const bool may_be_key = item.sequence() == nullptr || item.sequence()->kind == Sequence::Kind::tuple;
        if (!may_be_key || item.dict() != nullptr)
            run.fail("the keys of a dict must be strings, found " + item.description());
        return item.text() != nullptr && dict->find(*item.text()) != nullptr;
    }
    const Items items = items_of(run, container);
    return std::ranges::any_of(items, [&](const Value &each) { return are_equal(run, each, item); });
}

} // namespace

Value arithmetic(Run &run, std::string_view symbol, const Value &left, const Value &right) {
    if (left.is_number() && right.is_number()) return number_arithmetic(run, symbol, left, right);
    if (symbol == "+")
        if (auto sum = joined(run, left, right)) return *sum;
    if (symbol == "*") {
        const auto repeats = [](const Value &value) { return value.text() != nullptr || is_list_or_tuple(value); };
        if (repeats(left) && right.integer()) return repeated(run, left, *right.integer());
        if (repeats(right) && left.integer()) return repeated(run, right, *left.integer());
    }
    run.fail("cannot compute " + left.description() + " " + std::string(symbol) + " " + right.description());
}

Value signed_number(Run &run, std::string_view sign, const Value &value) {
    if (!value.is_number()) run.fail("expected a number after " + std::string(sign) + ", found " + value.description());
    if (const double *real = value.real()) return sign == "-" ? -*real : *real; // 0 - 0.0 is not -0.0
    return number_arithmetic(run, sign, Value(int64_t{0}), value);
}

bool are_equal(Run &run, const Value &a, const Value &b) {
    run.spend(1);
    bool comparable = true;
    if (a.is_number() && b.is_number()) return order_of_numbers(a, b, comparable) == 0 && comparable;
    if (a.text() != nullptr && b.text() != nullptr) {
        run.spend(std::min(a.text()->size(), b.text()->size()));
        return *a.text() == *b.text();
    }
    if (a.sequence() != nullptr && b.sequence() != nullptr)
        return are_sequences_equal(run, *a.sequence(), *b.sequence());
    if (a.dict() != nullptr && b.dict() != nullptr) return are_dicts_equal(run, *a.dict(), *b.dict());
    if (a.object() != nullptr) return a.object() == b.object();
    return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

bool is_less(Run &run, const Value &a, const Value &b) {
    bool comparable = true;
    if (a.is_number() && b.is_number()) return order_of_numbers(a, b, comparable) < 0 && comparable;
    if (a.text() != nullptr && b.text() != nullptr) {
        run.spend(std::min(a.text()->size(), b.text()->size()));
        return *a.text() < *b.text(); // UTF-8 sorts as its code points do
    }
    if (!is_list_or_tuple(a) || !is_list_or_tuple(b) || a.sequence()->kind != b.sequence()->kind)
        run.fail("cannot compare " + a.description() + " with " + b.description());
    const std::vector<Value> &x = a.sequence()->items, &y = b.sequence()->items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
        if (!are_equal(run, x[i], y[i])) return is_less(run, x[i], y[i]);
    return x.size() < y.size();
}

bool compare(Run &run, std::string_view symbol, const Value &a, const Value &b) {
    if (symbol == "==") return are_equal(run, a, b);
    if (symbol == "!=") return !are_equal(run, a, b);
    if (symbol == "in") return contains(run, b, a);
    if (symbol == "not in") return !contains(run, b, a);
    if (symbol == "<") return is_less(run, a, b);
    if (symbol == ">") return is_less(run, b, a);
    return is_less(run, symbol == "<=" ? a : b, symbol == "<=" ? b : a) || are_equal(run, a, b);
}

bool is_iterable(const Value &value) {
    return value.is_undefined() || value.text() != nullptr || value.sequence() != nullptr || value.dict() != nullptr ||
           dynamic_cast<Stream *>(value.object()) != nullptr;
}

Items items_of(Run &run, const Value &value) {
    if (auto sequence = value.shared_sequence()) return Items(std::move(sequence));
    if (auto *stream = dynamic_cast<Stream *>(value.object())) return stream->rest(run);
    std::vector<Value> items;
    if (value.text() != nullptr) {
        items = characters_of(run, *value.text());
    } else if (value.dict() != nullptr) {
        for (const auto &[key, member] : value.dict()->members) items.push_back(run.text(key));
    } else if (!value.is_undefined()) {
        run.fail("expected something with items, found " + value.description());
    }
    return Items(run.list(std::move(items)).shared_sequence());
}

std::optional<Value> Stream::take() { return taken_ < items_.size() ? std::optional(items_[taken_++]) : std::nullopt; }

Items Stream::rest(Run &run) {
    const auto begin = items_.begin() + static_cast<std::ptrdiff_t>(std::exchange(taken_, items_.size()));
    return Items(run.list({begin, items_.end()}).shared_sequence());
}

Value stream(Run &run, std::vector<Value> items) {
    return run.object<Stream>(Items(run.list(std::move(items)).shared_sequence()));
}

} // namespace lamina::jinja
