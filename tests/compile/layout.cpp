// A plugin in C11 serves a host in C++20: both see the same structs.
#include "catch.hpp"

#include <lamina/plugin.h>

#include <vector>

extern "C" const size_t sizes_in_c[];

TEST_CASE("plugin.h: C and C++ agree on the size of every struct") {
    const std::vector<size_t> in_cpp{
        sizeof(lamina_param),    sizeof(lamina_port),   sizeof(lamina_tolerance),    sizeof(lamina_kernel),
        sizeof(lamina_variant),  sizeof(lamina_tensor), sizeof(lamina_matrix_shape), sizeof(lamina_device),
        sizeof(lamina_call),     sizeof(lamina_ref),    sizeof(lamina_spec),         sizeof(lamina_dispatch),
        sizeof(lamina_host),     sizeof(lamina_prefix), sizeof(lamina_layer),        sizeof(lamina_cpu_kernel),
        sizeof(lamina_executor),
    };
    std::vector<size_t> in_c;
    for (const size_t *size = sizes_in_c; *size != 0; ++size) in_c.push_back(*size);
    CHECK(in_c == in_cpp);
}

TEST_CASE("plugin.h: a plugin written in C is queried, and refuses a host of another ABI") {
    const lamina_prefix *prefix = lamina_plugin_query(LAMINA_ABI_MAJOR, LAMINA_ABI_MINOR);
    REQUIRE(prefix != nullptr);
    CHECK(prefix->magic == LAMINA_MAGIC);
    CHECK(prefix->kind == LAMINA_EXECUTOR);
    CHECK(prefix->struct_size == sizeof(lamina_executor));
    CHECK(lamina_plugin_query(LAMINA_ABI_MAJOR + 1, 0) == nullptr);
}
