// What operators do, as in Python. All fail at the run's place on values that they do not take.
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

// What a loop over it goes through. A stream is used up by it.
[[nodiscard]] Items items_of(Run &run, const Value &value);
[[nodiscard]] bool is_iterable(const Value &value);

// What select, map and the like give, as in Python: it is always true, has no length, and can be gone through once.
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
