#include "architectures/gguf_names.hpp"

#include "base/utf8.hpp"

#include <cctype>

namespace lamina::architectures {
namespace {

constexpr std::string_view block_number = "{i}"; // of a block, in TensorName

// The name in `to` form if it has the `from` form and a suffix after its last dot, such as ".weight"; otherwise "".
std::string translated(std::string_view name, std::string_view from, std::string_view to) {
    const size_t suffix = name.rfind('.'), at = from.find(block_number);
    if (suffix == std::string_view::npos) return "";
    const std::string_view module = name.substr(0, suffix);
    std::string index;
    if (at != std::string_view::npos) {
        if (!module.starts_with(from.substr(0, at))) return "";
        for (size_t i = at; i < module.size() && std::isdigit(static_cast<unsigned char>(module[i])) != 0; ++i)
            index += module[i];
        if (index.empty() || module.substr(at + index.size()) != from.substr(at + block_number.size())) return "";
    } else if (module != from) {
        return "";
    }
    std::string out(to);
    if (const size_t place = out.find(block_number); place != std::string::npos)
        out.replace(place, block_number.size(), index);
    return out + std::string(name.substr(suffix));
}

void replace_all(std::string &text, std::string_view what, std::string_view with) {
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
        text.replace(at, what.size(), with);
}

// `own`: those of the architecture, which come before the usual ones.
std::string translated(std::string_view name, std::span<const TensorName> own, std::string_view TensorName::*from,
                       std::string_view TensorName::*to) {
    for (const std::span<const TensorName> names : {own, std::span<const TensorName>(gguf_tensors)})
        for (const TensorName &known : names)
            if (std::string out = translated(name, known.*from, known.*to); !out.empty()) return out;
    return "";
}

// Tensors stand in quotes.
void rename_tensors(std::string &message, std::span<const TensorName> names) {
    for (size_t open = message.find('\''); open != std::string::npos;) {
        const size_t close = message.find('\'', open + 1);
        if (close == std::string::npos) return;
        const std::string quoted = message.substr(open + 1, close - open - 1);
        const std::string name = translated(quoted, names, &TensorName::hugging_face, &TensorName::gguf);
        if (!name.empty()) message.replace(open + 1, quoted.size(), name);
        // What was not a tensor may end where one begins.
        open = name.empty() ? close : message.find('\'', open + name.size() + 2);
    }
}

} // namespace

std::string hugging_face_name(const std::string &tensor, std::span<const TensorName> names) {
    const std::string name = translated(tensor, names, &TensorName::gguf, &TensorName::hugging_face);
    return name.empty() ? tensor : name;
}

std::string in_gguf_names(std::string message, const GgufKind &kind) {
    const std::string architecture(kind.architecture);
    const auto rename = [&](const std::string &path, std::string_view key) {
        const std::string ours = in_quotes(architecture + "." + std::string(key));
        replace_all(message, "metadata: /" + path + ":", "metadata " + ours + ":");
        replace_all(message, "metadata: " + path + ":", "metadata " + ours + ":");
    };
    for (const SettingName &setting : gguf_scaling)
        rename("rope_scaling/" + std::string(setting.hugging_face), setting.gguf);
    for (const std::span<const SettingName> settings : {kind.settings, std::span<const SettingName>(gguf_settings)})
        for (const SettingName &setting : settings) {
            rename(std::string(setting.hugging_face), setting.gguf);
            replace_all(message, in_quotes(std::string(setting.hugging_face)),
                        in_quotes(architecture + "." + std::string(setting.gguf)));
        }
    replace_all(message, "metadata: /model_type:", "metadata 'general.architecture':");
    rename_tensors(message, kind.tensors);
    replace_all(message, "according to config.json", "according to its metadata");
    return message;
}

} // namespace lamina::architectures
