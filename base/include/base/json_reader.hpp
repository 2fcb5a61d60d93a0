// Reads strict JSON, also files of many megabytes. Every value knows its file and its place (a JSON pointer, RFC 6901),
// so that every error can name them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace lamina {

class JsonText;

// A view of one value; its JsonText must outlive it. All functions throw Error(input): "FILE: PLACE: MESSAGE".
class JsonView {
  public:
    [[nodiscard]] std::string place() const; // "/model/merges/17"; empty: the whole file
    [[noreturn]] void fail(const std::string &message) const;

    // ---- Lists and objects: what they hold, in the order of the file ----
    class Iterator {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = JsonView;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = JsonView;
        Iterator(const JsonText &text, uint32_t node) : text_(&text), node_(node) {}
        JsonView operator*() const { return {*text_, node_}; }
        Iterator &operator++();
        Iterator operator++(int) {
            Iterator before = *this;
            ++*this;
            return before;
        }
        bool operator==(const Iterator &) const = default;

      private:
        const JsonText *text_;
        uint32_t node_;
    };
    struct Range {
        Iterator first, last;
        size_t count;
        [[nodiscard]] Iterator begin() const { return first; }
        [[nodiscard]] Iterator end() const { return last; }
        [[nodiscard]] size_t size() const { return count; }
    };
    [[nodiscard]] Range items() const;             // of a list
    [[nodiscard]] JsonView at(size_t index) const; // of a list; fails if it is shorter
    [[nodiscard]] Range members() const;           // of an object
    [[nodiscard]] std::string_view key() const;    // of this member

    // Fails on a key that is not in the list, and suggests the nearest.
    void allow_keys(std::initializer_list<const char *> keys) const;
    void allow_keys(const std::vector<std::string> &known) const;
    [[nodiscard]] bool has(std::string_view key) const;    // and not null
    [[nodiscard]] JsonView at(std::string_view key) const; // fails if it is absent

    // ---- Scalars ----
    [[nodiscard]] bool is_null() const;
    [[nodiscard]] bool is_boolean() const;
    [[nodiscard]] bool is_number() const;
    [[nodiscard]] bool is_integer() const; // a number without point and exponent
    [[nodiscard]] bool is_string() const;
    [[nodiscard]] bool is_list() const;
    [[nodiscard]] bool is_object() const;
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] double number() const;
    [[nodiscard]] int64_t integer(int64_t lowest, int64_t highest) const; // both inclusive; 1.0 is not an integer
    [[nodiscard]] std::string_view string() const;

    [[nodiscard]] std::string description() const; // "a list with 3 entries"
    [[nodiscard]] std::string written() const;     // the value as JSON in one line

  private:
    friend class JsonText;
    JsonView(const JsonText &text, uint32_t node) : text_(&text), node_(node) {}
    [[nodiscard]] uint32_t find(std::string_view key) const;
    void expect(bool right, const char *what) const;

    const JsonText *text_;
    uint32_t node_;
};

class JsonText {
  public:
    // Refuses invalid UTF-8, a duplicate key in an object, values nested more than 64 deep, numbers beyond double, and
    // anything after the value. Every message begins with `file`. The text is not needed afterwards.
    JsonText(std::string_view text, std::string file);
    // How many values a text has at most, and the bytes of memory that it takes to be read.
    [[nodiscard]] static size_t most_values(std::string_view text);
    [[nodiscard]] static size_t memory_for(std::string_view text);
    JsonText(const JsonText &) = delete;
    JsonText &operator=(const JsonText &) = delete;

    [[nodiscard]] JsonView root() const { return {*this, 0}; }

  private:
    friend class JsonView;
    class Builder;
    enum class Kind : uint8_t { null, boolean, number, string, list, object };
    static constexpr uint32_t no_node = UINT32_MAX;
    struct Node {
        std::string_view key, text; // text: of a string, without escapes; of a number, in decimal notation
        uint32_t parent = no_node, next = no_node, first = no_node, count = 0;
        Kind kind = Kind::null;
    };

    std::string file_, strings_;
    std::vector<Node> nodes_; // those of a list or object are linked by `first` and `next`
};

} // namespace lamina
