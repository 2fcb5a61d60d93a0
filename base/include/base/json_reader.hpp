// Strict JSON, read fast: files of many megabytes, of which every value knows its place (a JSON pointer, RFC 6901).
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
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
        Iterator(const JsonText &text, uint32_t node) : text_(&text), node_(node) {}
        JsonView operator*() const { return {*text_, node_}; }
        Iterator &operator++();
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
    [[nodiscard]] Range items() const;          // of a list
    [[nodiscard]] Range members() const;        // of an object
    [[nodiscard]] std::string_view key() const; // of this member

    // Fails on a key that is not among them, with the nearest that is.
    void allow_keys(std::initializer_list<const char *> keys) const;
    [[nodiscard]] bool has(std::string_view key) const;    // and not null
    [[nodiscard]] JsonView at(std::string_view key) const; // fails when it is absent

    // ---- Scalars ----
    [[nodiscard]] bool is_null() const;
    [[nodiscard]] bool is_boolean() const;
    [[nodiscard]] bool is_integer() const; // a number without point and exponent
    [[nodiscard]] bool is_string() const;
    [[nodiscard]] bool is_list() const;
    [[nodiscard]] bool is_object() const;
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] double number() const;
    [[nodiscard]] int64_t integer(int64_t lowest, int64_t highest) const; // both inclusive; 1.0 is none
    [[nodiscard]] std::string_view string() const;

    [[nodiscard]] std::string description() const; // "a list with 3 entries"

  private:
    friend class JsonText;
    friend class JsonParser;
    JsonView(const JsonText &text, uint32_t node) : text_(&text), node_(node) {}
    [[nodiscard]] uint32_t find(std::string_view key) const;
    void expect(bool right, const char *what) const;

    const JsonText *text_;
    uint32_t node_;
};

class JsonText {
  public:
    // Refuses invalid UTF-8, a key that stands twice in one object, values nested more than 64 deep, numbers beyond
    // double, and anything behind the value. `file` begins every message.
    JsonText(std::string text, std::string file);
    JsonText(const JsonText &) = delete;
    JsonText &operator=(const JsonText &) = delete;

    [[nodiscard]] JsonView root() const { return {*this, 0}; }

  private:
    friend class JsonView;
    friend class JsonView::Iterator;
    friend class JsonParser;
    enum class Kind : uint8_t { null, boolean, number, string, list, object };
    static constexpr uint32_t no_node = UINT32_MAX;
    struct Node {
        std::string_view key, text; // text: of a string, unescaped; of a number or boolean, as it is written
        uint32_t parent = no_node, next = no_node, first = no_node, count = 0;
        Kind kind = Kind::null;
    };

    std::string text_, file_;
    std::deque<std::string> unescaped_; // strings that are not in the text as they are
    std::vector<Node> nodes_;
};

} // namespace lamina
