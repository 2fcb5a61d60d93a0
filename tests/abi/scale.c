/* A layer in C11 against one version of plugin.h and nothing else of Lamina: y = x * factor + bias. Built against the
 * headers of 1.0 and 1.1 and against a later one, whose new fields it sets, reads where the host has them, and may not
 * do without when NEEDS_LATER is defined. */
#include <lamina/plugin.h>

#include "scale.spv.h"

#define LENGTH(list) (sizeof(list) / sizeof *(list))
#define UP_TO(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

static const lamina_param params[] = {
    {.name = "factor", .summary = "what x is multiplied by", .dflt = 2, .min = -8, .max = 8, .kind = LAMINA_REAL},
    {.name = "unused", .summary = "nothing", .dflt = 1, .min = 0, .max = 1, .kind = LAMINA_BOOL},
};
static const lamina_port inputs[] = {
    {.name = "x", .summary = "any tensor", .dims = "... C", .dtypes = LAMINA_F32},
    {.name = "mask", .summary = "unused", .dims = "C", .values = "0 2", .dtypes = LAMINA_I32, .flags = LAMINA_OPTIONAL},
};
#ifdef LAMINA_LATER_DTYPE
enum { BIAS_DTYPES = LAMINA_F32 | LAMINA_LATER_DTYPE };
#else
enum { BIAS_DTYPES = LAMINA_F32 };
#endif
static const lamina_port weights[] = {
    {.name = "bias", .summary = "what is added", .dims = "1", .dtypes = BIAS_DTYPES},
    {.name = "other", .summary = "unused", .dims = "C", .dtypes = LAMINA_F32, .flags = LAMINA_OPTIONAL},
};
static const lamina_port outputs[] = {{.name = "y", .summary = "the result", .dims = "... C", .dtypes = LAMINA_F32}};
static const lamina_kernel kernels[] = {{"scale", scale_spirv, LENGTH(scale_spirv)}};
static const lamina_variant variants[] = {
    {.name = "baseline", .summary = "one invocation an element", .arithmetic = LAMINA_F32},
    {.name = "again", .summary = "the same", .arithmetic = LAMINA_F32},
};
static const lamina_tolerance tolerances[] = {{.rtol = 1e-6, .arithmetic = LAMINA_F32},
                                              {.rtol = 1e-3, .arithmetic = LAMINA_F16}};
static const char *const cases[] = {"B=2 T=3 C=5", "C=70 factor=0.5"};

/* An array's element, however large the host has them. */
static const lamina_tensor *tensor(const lamina_call *call, const lamina_tensor *list, uint32_t i) {
    return (const lamina_tensor *)((const char *)list + (size_t)i * call->tensor_size);
}
static int64_t size_of(const lamina_tensor *t) {
    int64_t n = 1;
    for (uint32_t i = 0; i < t->rank; ++i) n *= t->dim[i];
    return n;
}

static lamina_status reference(const lamina_call *call, const lamina_host *host) {
    (void)host;
    const lamina_tensor *x = tensor(call, call->in, 0), *y = tensor(call, call->out, 0);
    const float bias = *(const float *)tensor(call, call->weight, 0)->data;
    for (int64_t i = 0; i < size_of(x); ++i)
        ((float *)y->data)[i] = (float)(((const float *)x->data)[i] * call->params[0] + bias);
    return LAMINA_OK;
}

static lamina_status plan(const lamina_call *call, uint32_t variant, const lamina_host *host) {
    (void)variant;
    const struct {
        uint32_t n;
        float factor;
    } push = {(uint32_t)size_of(tensor(call, call->in, 0)), (float)call->params[0]};
    const lamina_ref bind[] = {{0, 0, LAMINA_IN, 0}, {0, 0, LAMINA_WEIGHT, 0}, {0, 0, LAMINA_OUT, 0}};
    lamina_dispatch dispatch = {.struct_size = sizeof dispatch,
                                .bind = bind,
                                .n_bind = 3,
                                .push = &push,
                                .push_bytes = sizeof push,
                                .groups = {(push.n + 63) / 64, 1, 1}};
#ifdef LAMINA_LATER_DTYPE
    if (host->struct_size >= UP_TO(lamina_host, later)) dispatch.later = host->later;
#endif
    if (host->extension(host, "nobody.has.this/1") != NULL) return LAMINA_INTERNAL;
    return host->dispatch(host, &dispatch);
}

static const lamina_layer layer = {
    .prefix = {LAMINA_MAGIC, LAMINA_ABI_MAJOR, LAMINA_ABI_MINOR, LAMINA_LAYER, SANITIZER, sizeof(lamina_layer)},
    .id = ID,
    .version = "1.0.0",
    .summary = "x * factor + bias",
    .source = "",
    .params = params,
    .inputs = inputs,
    .weights = weights,
    .outputs = outputs,
    .kernels = kernels,
    .variants = variants,
    .tolerances = tolerances,
    .cases = cases,
    .n_params = LENGTH(params),
    .n_inputs = LENGTH(inputs),
    .n_weights = LENGTH(weights),
    .n_outputs = LENGTH(outputs),
    .n_kernels = LENGTH(kernels),
    .n_variants = LENGTH(variants),
    .n_tolerances = LENGTH(tolerances),
    .n_cases = LENGTH(cases),
    .param_size = sizeof *params,
    .port_size = sizeof *inputs,
    .variant_size = sizeof *variants,
    .tolerance_size = sizeof *tolerances,
    .reference = reference,
    .plan = plan,
#if LAMINA_ABI_MINOR >= 1
    .work = "1",
#endif
#ifdef LAMINA_LATER_DTYPE
    .later = 11,
#endif
};

__attribute__((visibility("default"))) const lamina_prefix *lamina_plugin_query(uint32_t major, uint32_t minor) {
#ifdef NEEDS_LATER
    if (minor < LAMINA_ABI_MINOR) return NULL;
#else
    (void)minor;
#endif
    return major == LAMINA_ABI_MAJOR ? &layer.prefix : NULL;
}
