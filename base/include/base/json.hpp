// Builds and writes JSON. (json_reader.hpp reads it.)
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lamina {

// Written like the JSON that it becomes: Json{{"name", "g2p"}, {"shape", Json::array({2, 3})}, {"unit", nullptr}}.
// Members keep the order in which they were added.
class Json {
  public:
    struct Member;

    Json(std::nullptr_t = nullptr);
    template <std::integral Number> Json(Number value);
    template <std::floating_point Number> Json(Number value);
    Json(const char *text);
    Json(std::string text);
    Json(std::initializer_list<Member> members);
    template <class Item> Json(const std::vector<Item> &items);
    Json(const Json &other);
    Json(Json &&other) noexcept;
    Json &operator=(Json other);
    ~Json();

    [[nodiscard]] static Json array(std::initializer_list<Json> items = {});
    [[nodiscard]] static Json object();

    void push_back(Json item);              // to an array
    Json &operator[](std::string_view key); // of an object, or of null, which becomes one; a new member is null
    [[nodiscard]] bool empty() const;       // null, or without entries

    // ---- Contents ----
    [[nodiscard]] const std::string *text() const;            // none: no text
    [[nodiscard]] const std::vector<Json> *items() const;     // none: no array
    [[nodiscard]] const std::vector<Member> *members() const; // none: no object

    // On one line, or with every entry on its own line. Numbers read back as the same double; numbers that are not
    // finite become null. Text is copied; if it is not UTF-8, the result is not either.
    [[nodiscard]] std::string in_one_line() const;
    [[nodiscard]] std::string in_lines(size_t indent) const;

  private:
    std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, std::vector<Json>, std::vector<Member>>
        value_;

    void write(std::string &out, const size_t *indent, size_t depth) const;
};

struct Json::Member {
    std::string key;
    Json value;
};

// These destroy members, so they come after their type.
template <std::integral Number> Json::Json(Number value) {
    if constexpr (std::same_as<Number, bool>)
        value_ = value;
    else if constexpr (std::signed_integral<Number>)
        value_ = int64_t{value};
    else
        value_ = uint64_t{value};
}
template <std::floating_point Number> Json::Json(Number value) : value_(static_cast<double>(value)) {}
template <class Item> Json::Json(const std::vector<Item> &items) : Json(array()) {
    for (const auto &item : items) push_back(Json(item));
}

// The text between double quotes, with what JSON escapes escaped.
[[nodiscard]] std::string json_string(std::string_view text);

} // namespace lamina
