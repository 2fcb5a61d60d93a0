// Why a model of models/ is not read after a change of its config.json.
#pragma once

#include "catch.hpp"
#include "folders.hpp"

#include <lamina/inspect.hpp>
#include <lamina/lamina.hpp>

#include <filesystem>
#include <functional>
#include <string>

// The error of loading one of models/ after config.json was changed, or why it then sees no images; "" if all is read.
inline std::string refusal(const std::string &name, const std::function<void(nlohmann::json &)> &change) {
    const TemporaryFolder folder;
    std::filesystem::copy(test::architectures / "models" / name, folder.path(),
                          std::filesystem::copy_options::recursive);
    std::filesystem::remove(folder.path() / "golden.safetensors");
    nlohmann::json config = test::json_of(folder.path() / "config.json");
    change(config);
    folder.write("config.json", config.dump());
    lamina::RuntimeOptions options;
    options.plugin_folders = {LAMINA_PLUGIN_DIR};
    try {
        return lamina::inspect(lamina::Runtime(options).load(folder.path())).no_images;
    } catch (const lamina::Error &e) {
        CHECK(e.code() == lamina::ErrorCode::input);
        return e.what();
    }
}

inline std::string refusal(const std::string &name, const char *key, const nlohmann::json &value) {
    return refusal(name, [&](nlohmann::json &config) { config[key] = value; });
}
