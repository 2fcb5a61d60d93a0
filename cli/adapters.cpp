#include "adapters.hpp"

#include <charconv>
#include <cmath>
#include <filesystem>

namespace lamina::cli {

void add_lora_option(const Arguments &app, std::vector<std::string> &given) {
    app.option(
           "--lora", given, "ADAPTER[=SCALE]",
           "an adapter (LoRA) to merge into the model: a folder of PEFT, or a GGUF file for one of a GGUF file. SCALE "
           "is how strong it is (default: 1); may be repeated")
        .not_empty();
}

LoadOptions load_options(const std::vector<std::string> &given) {
    LoadOptions out;
    for (const std::string &text : given) {
        const size_t equals = text.rfind('=');
        std::error_code error;
        if (equals == std::string::npos || std::filesystem::exists(text, error)) {
            out.adapters.push_back({text});
            continue;
        }
        double scale = 0;
        const char *end = text.data() + text.size();
        const auto read = std::from_chars(text.data() + equals + 1, end, scale);
        if (equals == 0 || read.ec != std::errc() || read.ptr != end || !std::isfinite(scale))
            throw Error(ErrorCode::usage,
                        "--lora: expected ADAPTER or ADAPTER=SCALE with a number; found '" + text + "'");
        out.adapters.push_back({text.substr(0, equals), scale});
    }
    return out;
}

} // namespace lamina::cli
