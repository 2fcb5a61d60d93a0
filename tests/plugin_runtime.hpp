// The runtime of tests that use the public API, with this build's plugins.
#pragma once

#include <lamina/lamina.hpp>

namespace test {

inline const lamina::Runtime &runtime() {
    static const lamina::Runtime instance([] {
        lamina::RuntimeOptions options;
        options.plugin_folders = {LAMINA_PLUGIN_DIR};
        return options;
    }());
    return instance;
}

} // namespace test
