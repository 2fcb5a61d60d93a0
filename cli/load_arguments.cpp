#include "load_arguments.hpp"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

namespace lamina::cli {

void add_load_options(const Arguments &app, LoadArguments &given) {
    app.option(
           "--lora", given.lora, "ADAPTER[=SCALE]",
           "an adapter (LoRA) to merge into the model: a folder of PEFT, or a GGUF file for one of a GGUF file. SCALE "
           "is how strong it is (default: 1); may be repeated")
        .not_empty();
    add_mmproj_option(app, given.mmproj);
}

void add_mmproj_option(const Arguments &app, std::filesystem::path &given) {
    app.option(
           "--mmproj", given, "FILE",
           "the projector of a GGUF file, which reads images for it; default: *mmproj*.gguf beside it, if there is one "
           "that fits")
        .not_empty();
}

namespace {

std::optional<double> number_in(std::string_view text) {
    double out = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() ? std::optional(out) : std::nullopt;
}

bool exists(const std::string &text) {
    std::error_code error;
    return std::filesystem::exists(text, error);
}

Adapter adapter_of(const std::string &text) {
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || exists(text)) return {text};
    const std::optional<double> scale = number_in(std::string_view(text).substr(equals + 1));
    if (equals == 0 || !scale || !std::isfinite(*scale))
        throw Error(ErrorCode::usage, "--lora: expected ADAPTER or ADAPTER=SCALE with a number; found '" + text + "'");
    return {text.substr(0, equals), *scale};
}

} // namespace

LoadOptions load_options(const LoadArguments &given) {
    LoadOptions out{.adapters = {}, .mmproj = given.mmproj};
    for (const std::string &text : given.lora) out.adapters.push_back(adapter_of(text));
    return out;
}

ServedAdapters served_adapters(const LoadArguments &given) {
    ServedAdapters out{.merged = {.adapters = {}, .mmproj = given.mmproj}, .named = {}};
    for (const std::string &text : given.lora) {
        const size_t equals = text.find('=');
        const bool named = equals != std::string::npos && equals != 0 && !exists(text) &&
                           !number_in(std::string_view(text).substr(equals + 1));
        if (named)
            out.named.emplace_back(text.substr(0, equals), adapter_of(text.substr(equals + 1)));
        else
            out.merged.adapters.push_back(adapter_of(text));
    }
    return out;
}

} // namespace lamina::cli
