// A library that replaces its own file while it is being loaded. Nothing else could time this exactly.
#include "../test_layer.hpp"

#include <dlfcn.h>

#include <cstdio>

namespace {

lamina_layer contract;

__attribute__((constructor)) void replace() {
    Dl_info self{};
    if (dladdr(&contract, &self) == 0 || std::remove(self.dli_fname) != 0) return;
    if (std::FILE *file = std::fopen(self.dli_fname, "w")) {
        std::fputs("the next build", file);
        std::fclose(file);
    }
}

} // namespace

extern "C" __attribute__((visibility("default"))) const lamina_prefix *lamina_plugin_query(uint32_t, uint32_t) {
    static test::TestLayer layer;
    contract = *layer.layer().contract;
    return &contract.prefix;
}
