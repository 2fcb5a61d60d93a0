/* plugin.h in C11: a plugin written in C, and the layout as a C compiler sees it. */
#include <lamina/plugin.h>

static const lamina_executor nothing = {
    .prefix = {LAMINA_MAGIC, LAMINA_ABI_MAJOR, LAMINA_ABI_MINOR, LAMINA_EXECUTOR, LAMINA_SANITIZER_NONE,
               sizeof(lamina_executor)},
    .id = "nothing",
    .version = "1.0.0",
    .summary = "an executor without kernels",
};

const lamina_prefix *lamina_plugin_query(uint32_t host_abi_major, uint32_t host_abi_minor) {
    (void)host_abi_minor;
    return host_abi_major == LAMINA_ABI_MAJOR ? &nothing.prefix : NULL;
}

const size_t sizes_in_c[] = {
    sizeof(lamina_param),        sizeof(lamina_port),     sizeof(lamina_tolerance),
    sizeof(lamina_kernel),       sizeof(lamina_variant),  sizeof(lamina_tensor),
    sizeof(lamina_matrix_shape), sizeof(lamina_device),   sizeof(lamina_call),
    sizeof(lamina_ref),          sizeof(lamina_spec),     sizeof(lamina_dispatch),
    sizeof(lamina_host),         sizeof(lamina_prefix),   sizeof(lamina_layer),
    sizeof(lamina_cpu_kernel),   sizeof(lamina_executor), 0,
};
