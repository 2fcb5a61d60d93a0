// Python's operators. All fail, with the place, on values that they do not support.
#pragma once

#include "template/value.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace lamina::jinja {

[[nodiscard]] Value arithmetic(Run &run, std::string_view symbol, const Value &left, const Value &right);
[[nodiscard]] Value signed_number(Run &run, std::string_view sign, const Value &value);

[[nodiscard]] bool are_equal(Run &run, const Value &a, const Value &b);
[[nodiscard]] bool is_less(Run &run, const Value &a, const Value &b);
[[nodiscard]] bool compare(Run &run, std::string_view symbol, const Value &a, const Value &b); // also "in", "not in"

// The items that a loop iterates over. This consumes a stream.
[[nodiscard]] Items items_of(Run &run, const Value &value);
[[nodiscard]] bool is_iterable(const Value &value);

// The result of select, map and the like. As in Python, it is always true, has no length and can be iterated only once.
class Stream final : public Object {
  public:
    explicit Stream(Items items) : items_(std::move(items)) {}
    [[nodiscard]] const char *kind() const override { return "a stream of items (use | list)"; }
    [[nodiscard]] std::optional<Value> take();
    [[nodiscard]] Items rest(Run &run);

  private:
    Items items_;
    size_t taken_ = 0;
};
[[nodiscard]] Value stream(Run &run, std::vector<Value> items);

} // namespace lamina::jinja
