// Reads what Python's pickle wrote, without running any code: an interpreter of the opcodes that torch.save() writes
// (protocol 2; cpython, Lib/pickletools.py). Calls are noted down, and only those that the reader allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lamina::model {

class Pickle {
  public:
    // A value, by its number. Values refer to each other so, because a file can make circles of them.
    using Ref = uint32_t;

    struct None {};
    struct LargeInteger { // of more than 64 bits
        std::string_view little_endian;
    };
    struct Global { // a class or a function: "torch.FloatStorage"
        std::string name;
    };
    struct Sequence { // a list or a tuple
        std::vector<Ref> items;
    };
    struct Dict { // also an OrderedDict
        std::vector<std::pair<Ref, Ref>> items;
    };
    struct Call {
        std::string function;
        std::vector<Ref> arguments;
    };
    struct Persistent { // what the file calls by a name of its own
        Ref id;
    };
    // A text may hold any bytes. Texts are parts of the file.
    using Value = std::variant<None, bool, int64_t, double, std::string_view, LargeInteger, Global, Sequence, Dict,
                               Call, Persistent>;

    // Who may be referred to, other than collections.OrderedDict.
    using Allows = std::function<bool(std::string_view global)>;

    // Reads one value that begins at `at`, which then is where the next one would. `where`: the file and the part of
    // it, for messages. Throws Error(input) for damaged data, and for globals that are not allowed.
    Pickle(std::span<const std::byte> bytes, uint64_t &at, std::string where, const Allows &allows);

    [[nodiscard]] Ref top() const { return top_; }
    [[nodiscard]] const Value &at(Ref ref) const { return values_[ref]; }
    [[nodiscard]] Ref size() const { return static_cast<Ref>(values_.size()); } // of all values
    // The value as T. Throws Error(input) with `what` it should be: "the shape of 'wte.weight'".
    template <class T> [[nodiscard]] const T &as(Ref ref, const std::string &what) const {
        const T *found = std::get_if<T>(&values_[ref]);
        if (found == nullptr) expected(what, ref);
        return *found;
    }
    [[nodiscard]] std::vector<int64_t> integers(Ref sequence, const std::string &what) const;
    // "FILE: expected WHAT, found a list"
    [[noreturn]] void expected(const std::string &what, Ref found) const;
    // "FILE: MESSAGE"
    [[noreturn]] void fail(const std::string &message) const;

  private:
    class Interpreter;

    std::deque<Value> values_;
    Ref top_ = 0;
    std::string where_;
};

} // namespace lamina::model
