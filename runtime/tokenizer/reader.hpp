// Reads tokenizer.json. Each part of it is a component, whose "type" says which one.
#pragma once

#include "base/json_reader.hpp"
#include "tokenizer/parts.hpp"
#include "tokenizer/vocabulary.hpp"

#include <lamina/error.hpp>

#include <string>
#include <string_view>

namespace lamina::tokenizer {

// All throw Error(input), with the place, for anything they do not understand.
[[nodiscard]] Tokenizer::Parts read_tokenizer(const JsonView &file);

[[nodiscard]] Normalizer read_normalizer(const JsonView &view);
[[nodiscard]] PreTokenizer read_pre_tokenizer(const JsonView &view);
[[nodiscard]] std::unique_ptr<const Model> read_model(const JsonView &view);
[[nodiscard]] PostProcessor read_post_processor(const JsonView &view);
[[nodiscard]] Decoder read_decoder(const JsonView &view);

// ---- Shared by several components ----
[[nodiscard]] Pattern read_pattern(const JsonView &view);       // {"String": "x"} or {"Regex": "x+"}
[[nodiscard]] char32_t read_character(const JsonView &view);    // a string of one character
[[nodiscard]] Vocabulary read_vocabulary(const JsonView &view); // {"token": id, ...}
[[nodiscard]] ByteLevel read_byte_level(const JsonView &view);
[[nodiscard]] Metaspace read_metaspace(const JsonView &view);

// Returns make(), and adds the place to its errors.
template <class Make> auto at_place(const JsonView &view, const Make &make) {
    try {
        return make();
    } catch (const Error &error) {
        view.fail(error.what());
    }
}

// A kind of component: its "type", and how to read the rest.
template <class Made> struct Component {
    const char *type;
    Made (*read)(const JsonView &view);
};

template <class Made, size_t N>
Made read_component(const JsonView &view, const char *what, const Component<Made> (&known)[N]) {
    const JsonView type = view.at("type");
    std::string names;
    for (const Component<Made> &each : known) {
        if (type.string() == each.type) return each.read(view);
        names += (names.empty() ? "" : ", ") + std::string(each.type);
    }
    type.fail("the " + std::string(what) + " " + type.description() + " is not supported; supported: " + names);
}

// {"type": "Sequence", KEY: [...]}
template <class Made>
std::vector<Made> read_sequence(const JsonView &view, const char *key, Made (*read)(const JsonView &)) {
    view.allow_keys({"type", key});
    std::vector<Made> out;
    for (const JsonView each : view.at(key).items()) out.push_back(read(each));
    return out;
}

} // namespace lamina::tokenizer
