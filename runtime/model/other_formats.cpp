#include "model/other_formats.hpp"

#include <array>
#include <set>
#include <string_view>

namespace lamina::model {
namespace {

namespace fs = std::filesystem;

struct OtherFormat {
    std::string_view ending; // of a name
    const char *what;
};

constexpr auto adapter =
    "part of an adapter (LoRA), which changes another model: give that model, and --lora with this "
    "folder";
constexpr auto onnx = "an ONNX model, which Lamina does not read: take the model's safetensors or GGUF files";
constexpr auto torch_weights =
    "weights of PyTorch, which Lamina reads as pytorch_model.bin in a folder with config.json: "
    "give that folder, or save the model with save_pretrained()";
constexpr auto other_library =
    "weights for TensorFlow or JAX: save the model again as safetensors, with save_pretrained()";

// In the order in which they say most about a folder.
constexpr std::array other_formats{
    OtherFormat{"adapter_config.json", adapter},
    OtherFormat{"adapter_model.safetensors", adapter},
    OtherFormat{".gguf", "a model by itself: give this file instead of the folder"},
    OtherFormat{"consolidated.safetensors", "weights under other names than those of transformers: take the files that "
                                            "config.json comes with"},
    OtherFormat{".safetensors", "weights, which need the config.json of their folder: give the folder"},
    OtherFormat{".onnx", onnx},
    OtherFormat{".bin", torch_weights},
    OtherFormat{".pt", torch_weights},
    OtherFormat{".pth", torch_weights},
    OtherFormat{".ckpt", torch_weights},
    OtherFormat{".h5", other_library},
    OtherFormat{".msgpack", other_library},
};

} // namespace

std::string what_it_is(const fs::path &file) {
    const std::string name = file.filename().string();
    for (const OtherFormat &format : other_formats)
        if (name.ends_with(format.ending)) return format.what;
    return "";
}

std::string found_instead(const fs::path &folder) {
    std::set<std::string> names;
    std::error_code error;
    for (fs::directory_iterator file(folder, error), end; !error && file != end; file.increment(error))
        names.insert(file->path().filename().string());
    for (fs::directory_iterator file(folder / "onnx", error), end; !error && file != end; file.increment(error))
        names.insert("onnx/" + file->path().filename().string());
    for (const OtherFormat &format : other_formats)
        for (const std::string &name : names)
            if (name.ends_with(format.ending)) return "; found " + name + ", " + format.what;
    return "";
}

} // namespace lamina::model
