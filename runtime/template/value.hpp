// The values of templates. They are immutable, so copies share their contents. Only namespaces, which are objects,
// change.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lamina::jinja {

class Run;
class Value;
struct Arguments;

// The value of an unknown name. It prints as nothing, is false and has no items. Most other uses are errors.
struct Undefined {
    std::shared_ptr<const std::string> why; // "'tools' is undefined"
};

struct Sequence;
struct Dict;

// A value with attributes, or one that can be called: namespaces, macros, `loop`. The run owns them.
class Object {
  public:
    Object() = default;
    Object(const Object &) = delete;
    Object &operator=(const Object &) = delete;
    virtual ~Object() = default;

    [[nodiscard]] virtual const char *kind() const = 0; // "a macro"
    [[nodiscard]] virtual std::optional<Value> attribute(Run &run, std::string_view name);
    // Throws if it cannot be called.
    [[nodiscard]] virtual Value call(Run &run, const Arguments &arguments);
};

class Value {
  public:
    Value() = default; // undefined
    Value(Undefined undefined) : content_(std::move(undefined)) {}
    Value(std::nullptr_t) : content_(nullptr) {}                              // none
    template <std::same_as<bool> Flag> Value(Flag value) : content_(value) {} // no pointers
    Value(int64_t value) : content_(value) {}
    Value(double value) : content_(value) {}
    Value(std::shared_ptr<const std::string> text) : content_(std::move(text)) {}
    Value(std::shared_ptr<const Sequence> sequence) : content_(std::move(sequence)) {}
    Value(std::shared_ptr<const Dict> dict) : content_(std::move(dict)) {}
    Value(Object *object) : content_(object) {}

    [[nodiscard]] bool is_undefined() const { return as<Undefined>() != nullptr; }
    [[nodiscard]] bool is_none() const { return as<std::nullptr_t>() != nullptr; }
    [[nodiscard]] bool is_number() const { return integer().has_value() || real() != nullptr; }

    // These return null if the value is of another type.
    [[nodiscard]] const Undefined *undefined() const { return as<Undefined>(); }
    [[nodiscard]] const bool *boolean() const { return as<bool>(); }
    [[nodiscard]] const double *real() const { return as<double>(); }
    [[nodiscard]] std::optional<int64_t> integer() const; // true is 1, as in Python
    [[nodiscard]] double number() const;                  // requires a number
    [[nodiscard]] const std::string *text() const { return pointed<std::string>(); }
    [[nodiscard]] const Sequence *sequence() const { return pointed<Sequence>(); }
    [[nodiscard]] const Dict *dict() const { return pointed<Dict>(); }
    [[nodiscard]] std::shared_ptr<const Sequence> shared_sequence() const;
    [[nodiscard]] Object *object() const { return as<Object *>() != nullptr ? *as<Object *>() : nullptr; }

    [[nodiscard]] bool truth() const;
    [[nodiscard]] std::string description() const; // for messages: "a list with 3 items"

    // Total size, including contents (shared ones count each time), and nesting depth of lists and dicts.
    [[nodiscard]] uint64_t weight() const;
    [[nodiscard]] size_t depth() const;

  private:
    template <class T> [[nodiscard]] const T *as() const { return std::get_if<T>(&content_); }
    template <class T> [[nodiscard]] const T *pointed() const {
        const auto *pointer = as<std::shared_ptr<const T>>();
        return pointer != nullptr ? pointer->get() : nullptr;
    }

    std::variant<Undefined, std::nullptr_t, bool, int64_t, double, std::shared_ptr<const std::string>,
                 std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>, Object *>
        content_;
};

// Lists, tuples, ranges, and the keys, values and items of a dict (`view`), which have a length but cannot be indexed.
struct Sequence {
    enum class Kind { list, tuple, range, view };
    Kind kind;
    std::vector<Value> items;
    uint64_t weight;
    size_t depth;
};

// Keeps the items alive, so that "for (const Value &each : items_of(...))" is safe.
class Items {
  public:
    explicit Items(std::shared_ptr<const Sequence> sequence) : sequence_(std::move(sequence)) {}
    [[nodiscard]] const std::vector<Value> &all() const { return sequence_->items; }
    [[nodiscard]] auto begin() const { return all().begin(); }
    [[nodiscard]] auto end() const { return all().end(); }
    [[nodiscard]] size_t size() const { return all().size(); }
    [[nodiscard]] const Value &operator[](size_t i) const { return all()[i]; }

  private:
    std::shared_ptr<const Sequence> sequence_;
};

struct Dict {
    using Member = std::pair<std::string, Value>;
    std::vector<Member> members; // in order of insertion
    uint64_t weight;
    size_t depth;

    [[nodiscard]] const Value *find(std::string_view key) const;
};

// The arguments of a call.
struct Arguments {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> named;

    [[nodiscard]] const Value *find(std::string_view name) const;
};

} // namespace lamina::jinja
