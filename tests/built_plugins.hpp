// The plugins of the build.
#pragma once

#include "abi/library.hpp"
#include "places.hpp"

#include <memory>

namespace test {

inline std::shared_ptr<const lamina::abi::Registry> plugins() {
    static const auto registry = lamina::abi::Registry::discover({LAMINA_PLUGIN_DIR});
    return registry;
}

} // namespace test
