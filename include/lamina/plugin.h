/* Lamina plugin ABI: the contract between a layer and the runtime, in C11.
 *
 * A plugin is a shared library that holds one layer: what it computes as data (the contract), a plain CPU reference,
 * and for every shape a plan, which is a list of GLSL compute dispatches, again as data. A plugin never touches Vulkan.
 *
 * Lifetimes and threads, all of them:
 *   - A plugin has no instances, no init and no mutable globals. Its functions are pure and re-entrant and may be
 *     called from any thread. What they are handed is valid during the call; what they hand over is copied before it
 *     returns.
 *   - The descriptor that lamina_plugin_query() returns lives as long as the library, which is never unloaded.
 *   - Nothing is allocated on one side and freed on the other. No exception crosses the boundary.
 *
 * What grows, and how:
 *   - Version 1.0 is kept. A later minor version appends fields to structs and dtypes to their set, and nothing else:
 * no field moves, changes its meaning or goes.
 *   - Whoever reads a struct reads no further than its writer's `struct_size`, or, of an array, the size that stands
 *     beside it. Fields beyond that count as zero, and zero means what 1.0 did. So plugins and hosts of different minor
 *     versions work together; the host takes every descriptor that holds what 1.0 did.
 *   - Of a port's dtypes the host takes those that it knows. A plugin meets no dtype that it did not name.
 *   - A plugin that cannot do without something newer looks at the host's minor version and returns NULL.
 *   - What a host may or may not offer is asked for by name: lamina_host.extension.
 *   - lamina_prefix, lamina_kernel, lamina_ref and lamina_spec never change.
 *
 * C++ authors include <lamina/plugin.hpp>, which wraps all of this. Strings are UTF-8 and end in NUL.
 */
#ifndef LAMINA_PLUGIN_H
#define LAMINA_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LAMINA_MAGIC 0x414E4D4Cu /* "LMNA" in memory */
#define LAMINA_ABI_MAJOR 1u      /* host and plugin differ: refused */
#define LAMINA_ABI_MINOR 1u      /* may differ: see above */
#define LAMINA_MAX_RANK 8
#define LAMINA_MAX_PUSH_BYTES 128 /* what every Vulkan device offers */

typedef int32_t lamina_status;
enum {
    LAMINA_OK = 0,
    LAMINA_INVALID = 1,     /* the caller's parameters, shapes or values are wrong */
    LAMINA_UNSUPPORTED = 2, /* right, but this variant or kernel does not do it: the host takes another one */
    LAMINA_INTERNAL = 3     /* a defect of the plugin */
};

/* No enum type stands in a struct: its size is the compiler's choice. */
enum { LAMINA_LAYER = 1, LAMINA_EXECUTOR = 2 };                   /* lamina_prefix.kind */
enum { LAMINA_SANITIZER_NONE = 0, LAMINA_SANITIZER_ADDRESS = 1 }; /* lamina_prefix.sanitizer */
/* dtypes, as bits of a set. Those from Q8_0 on are for weights alone: blocks of 32 values along a row, of the K formats
 * 256. <lamina/plugin/dtype.hpp> has the sizes of all and says what a block is. */
enum { LAMINA_F32 = 1, LAMINA_F16 = 2, LAMINA_BF16 = 4, LAMINA_I32 = 8, LAMINA_Q8_0 = 16 };
/* Since 1.1. */
enum {
    LAMINA_Q4_0 = 32,
    LAMINA_Q4_1 = 64,
    LAMINA_Q5_0 = 128,
    LAMINA_Q5_1 = 256,
    LAMINA_Q4_K = 512,
    LAMINA_Q5_K = 1024,
    LAMINA_Q6_K = 2048
};
enum { LAMINA_INT = 1, LAMINA_REAL = 2, LAMINA_BOOL = 3, LAMINA_CHOICE = 4 }; /* lamina_param.kind */
enum { LAMINA_REQUIRED = 1 };                                                 /* lamina_param.flags */
enum {
    LAMINA_OPTIONAL = 1,     /* lamina_port.flags: may be left out */
    LAMINA_SEQUENCE = 2,     /* lamina_port.flags: axes 0 and 1 change places when the parameter batch_first is 0 */
    LAMINA_PROBABILITIES = 4 /* lamina_port.flags, of outputs: every row is probabilities, which add up to 1 */
};
enum { LAMINA_STANDS_IN = 1 }; /* lamina_tensor.flags: left out in the model; the tensor of the port that it follows */
/* lamina_ref.role */
enum {
    LAMINA_IN = 0,
    LAMINA_WEIGHT = 1,
    LAMINA_OUT = 2,
    LAMINA_STATE = 3,
    LAMINA_SCRATCH = 4,
    LAMINA_CONSTANT = 5,
    LAMINA_PREPARED = 6 /* <lamina/plugin/prepare.h> */
};

/* Device features that a variant may need. The baseline needs none: plain 32-bit GLSL. */
#define LAMINA_FEATURE_FLOAT16 (1ull << 0)        /* shaderFloat16 */
#define LAMINA_FEATURE_STORAGE16 (1ull << 1)      /* storageBuffer16BitAccess */
#define LAMINA_FEATURE_SUBGROUP_BASIC (1ull << 2) /* in compute, as the next three */
#define LAMINA_FEATURE_SUBGROUP_ARITHMETIC (1ull << 3)
#define LAMINA_FEATURE_SUBGROUP_SHUFFLE (1ull << 4)
#define LAMINA_FEATURE_SUBGROUP_BALLOT (1ull << 5)
#define LAMINA_FEATURE_INT64 (1ull << 6)              /* shaderInt64 */
#define LAMINA_FEATURE_COOPERATIVE_MATRIX (1ull << 7) /* VK_KHR_cooperative_matrix, in compute; SPIR-V 1.6 */

/* ---- The contract ---- */

/* A parameter of a layer, as it stands in model.json. Values travel as double: INT is exact up to 2^53, BOOL is 0 or 1,
 * CHOICE is the index into `choices`. */
typedef struct lamina_param {
    const char *name;
    const char *summary;
    const char *choices; /* CHOICE: "relu|gelu|silu", else NULL */
    const char *follows; /* left out: the value of this earlier parameter, instead of `dflt`; or NULL */
    double dflt, min, max;
    uint32_t kind, flags;
} lamina_param;

/* A tensor that a layer takes or gives.
 *
 * `dims` names the axes, outermost first: "B T C". A name means one size wherever it stands in the contract. Beside
 * names there may be numbers, parameters ("heads"), and products, quotients, sums and differences of these without
 * blanks ("heads*D", "V/2", "Tk+1"); "..." may stand once, first, for any number of axes that are the same wherever
 * "..." stands. Every name must follow from the inputs, the weights and the parameters.
 *
 * `values`, for I32 inputs: "LO HI", two such expressions; LO <= value < HI. The host refuses other values before it
 * dispatches anything, so kernels may index with them. NULL: any value.
 *
 * `follows`: when this optional port is left out, the earlier port of the same list named here stands in for it (the
 * values of attention may be its keys). The plugin then sees that tensor. Of a state: the optional input that it goes
 * with. Where a model leaves that out, the host gives no such state: a layer that is not told where its rows stand has
 * no use for those of earlier steps.
 *
 * `capacity`, for states: the name in `dims` whose size follows from nothing else, since the host chooses it: how many
 * positions a cache has room for. NULL: the state's shape follows from the other ports. */
typedef struct lamina_port {
    const char *name;
    const char *summary;
    const char *dims;
    const char *values;
    const char *follows;
    const char *capacity;
    uint32_t dtypes, flags;
} lamina_port;

/* What a kernel's result may differ from the reference: in every row (the last axis) of every output,
 *     max|kernel - reference| <= rtol * max|reference| + atol,   with non-finite values in the same places.
 * One entry for each arithmetic that a variant uses; the host caps what may be declared. */
typedef struct lamina_tolerance {
    double rtol, atol;
    uint32_t arithmetic; /* LAMINA_F32, LAMINA_F16 or LAMINA_BF16 */
    uint32_t reserved;
} lamina_tolerance;

/* A compiled compute shader with the entry point "main". Bindings (all in set 0), their access (from readonly and
 * writeonly), push-constant size, workgroup size and specialization constants are read from the SPIR-V.
 *
 * `spirv` NULL and `words` 0: the tools that this plugin was built with could not compile the kernel. A variant whose
 * plan dispatches it does not run, and the host says why. */
typedef struct lamina_kernel {
    const char *name;
    const uint32_t *spirv;
    size_t words;
} lamina_kernel;

/* One way to compute the layer. Variant 0 is the baseline: it needs nothing and runs on any Vulkan 1.1 device (at most
 * 256 invocations a workgroup, any subgroup size, 16 KiB of shared memory, bindings of at most max_binding_bytes). */
typedef struct lamina_variant {
    const char *name;
    const char *summary;
    uint64_t needs;      /* LAMINA_FEATURE_ bits */
    uint32_t arithmetic; /* in which products are formed: picks the tolerance */
    uint32_t reserved;
} lamina_variant;

/* ---- What a call sees ---- */

/* Dense, row-major. `rank` 0: an optional port that was left out. `data` is NULL except in `reference` and in CPU
 * kernels. There inputs, outputs and weights are F32 or I32: the host widens what is stored otherwise, exactly. States
 * are what `dtype` says, and so are weights that a CPU kernel takes as they are stored. */
typedef struct lamina_tensor {
    void *data;
    int64_t dim[LAMINA_MAX_RANK];
    uint32_t dtype, rank;
    uint32_t flags, reserved;
} lamina_tensor;

typedef struct lamina_matrix_shape { /* a cooperative-matrix shape that the device offers, at subgroup scope */
    uint32_t m, n, k, in_dtype, acc_dtype;
} lamina_matrix_shape;

typedef struct lamina_device { /* capabilities; never a vendor */
    size_t struct_size;
    uint64_t features;          /* LAMINA_FEATURE_ bits */
    uint64_t max_binding_bytes; /* the most that one binding may span; at least 128 MiB */
    uint64_t binding_align;     /* offsets of lamina_ref are multiples of this; a power of two, at most 256 */
    const lamina_matrix_shape *matrices;
    uint32_t n_matrices, matrix_size; /* matrix_size: of one of them, in bytes */
    uint32_t subgroup;                /* invocations in a subgroup */
    uint32_t max_invocations, max_local[3], max_groups[3];
    uint32_t shared_bytes;
} lamina_device;

/* Arrays in the order of the contract's lists. Everything that the contract says has been checked. */
typedef struct lamina_call {
    size_t struct_size;
    const double *params;
    const lamina_tensor *in;
    const lamina_tensor *weight;
    const lamina_tensor *out;
    const lamina_tensor *state;
    const struct lamina_layer *layer; /* the contract that the arrays are in the order of */
    const lamina_device *device;      /* NULL except in `plan` */
    uint32_t tensor_size;             /* of one lamina_tensor, in bytes */
    uint32_t reserved;
} lamina_call;

/* ---- The plan ---- */

/* Memory that a kernel is bound to: `bytes` from `offset` of a port or of scratch; bytes 0 means to the end. An
 * optional port that was left out may be bound: the kernel finds 16 bytes of zeros, which it may only read.
 * Weights are padded with zeros to a multiple of 16 bytes. */
typedef struct lamina_ref {
    uint64_t offset, bytes;
    uint32_t role, index; /* LAMINA_SCRATCH and beyond: as the host handed it out */
} lamina_ref;

typedef struct lamina_spec { /* a specialization constant */
    uint32_t id, bits;
} lamina_spec;

typedef struct lamina_dispatch {
    size_t struct_size;
    const lamina_ref *bind; /* bind[i] is binding i of set 0 */
    const lamina_spec *spec;
    const void *push;
    uint32_t n_bind, n_spec, push_bytes;
    uint32_t kernel; /* index into lamina_layer.kernels */
    uint32_t groups[3];
    uint32_t reserved;
} lamina_dispatch;

/* What the host offers during a call. */
typedef struct lamina_host {
    size_t struct_size;
    void *context;
    /* Says why, before the call returns a status that is not LAMINA_OK. One sentence: what, expected, found. */
    void (*error)(const struct lamina_host *, const char *message);
    /* In `plan`: temporary memory. Its contents are undefined: debug runs fill it with NaN. */
    lamina_status (*scratch)(const struct lamina_host *, uint64_t bytes, lamina_ref *out);
    /* In `plan`: appends a dispatch. They run in this order; the host alone places barriers, from the access that
     * each kernel declares, so a dispatch sees all that earlier ones wrote. */
    lamina_status (*dispatch)(const struct lamina_host *, const lamina_dispatch *);
    /* In `plan`: a small table that the plugin has computed and kernels may only read. The bytes are copied before this
     * returns and uploaded once, when the plan is built. */
    lamina_status (*constant)(const struct lamina_host *, const void *data, uint64_t bytes, lamina_ref *out);
    /* What hosts may offer beyond this: a struct of the extension's own header, beginning with its struct_size, or NULL
     * where this host or this call has no such thing. An id ends in its revision ("lamina.prepare/1"): another revision
     * is another extension. */
    const void *(*extension)(const struct lamina_host *, const char *id);
} lamina_host;

/* ---- The descriptors ---- */

typedef struct lamina_prefix { /* first in every descriptor; it never moves and never changes */
    uint32_t magic, abi_major, abi_minor, kind, sanitizer, struct_size;
} lamina_prefix;

typedef struct lamina_layer {
    lamina_prefix prefix;
    const char *id;      /* as in model.json: lower_case */
    const char *version; /* the plugin's own, for people */
    const char *summary;
    const char *source; /* the paper or formula */
    const lamina_param *params;
    const lamina_port *inputs, *weights, *outputs;
    const lamina_port *states; /* read and written in place, kept from run to run (a KV cache); F32 */
    const lamina_kernel *kernels;
    const lamina_variant *variants;
    const lamina_tolerance *tolerances;
    /* Conformance cases beside those the host makes up: "B=2 T=37 C=113 eps=1e-5 +bias weights=f16 x=offset".
     * NAME=VALUE sets a dim, a parameter or, by a port's name, its class of values; +PORT gives an optional port. */
    const char *const *cases;
    uint32_t n_params, n_inputs, n_weights, n_outputs, n_states, n_kernels, n_variants, n_tolerances, n_cases;
    uint32_t param_size, port_size, variant_size, tolerance_size; /* of one element of each list, in bytes */
    uint32_t reserved;

    /* Checks what dims cannot say; NULL where there is nothing to check. Shapes only: data is NULL. */
    lamina_status (*check)(const lamina_call *, const lamina_host *);
    /* Computes the outputs (and states) plainly, accumulating in double: the truth that kernels are held to. */
    lamina_status (*reference)(const lamina_call *, const lamina_host *);
    /* Emits the dispatches of one variant through the host. LAMINA_UNSUPPORTED: not for these shapes. */
    lamina_status (*plan)(const lamina_call *, uint32_t variant, const lamina_host *);
} lamina_layer;

/* A fast way to run one layer on the CPU. Like a variant on a GPU, it runs once it has passed the layer's cases.
 *
 * `signature` is that of the contract which the kernel was written for: parameters and ports with their dims, as
 * `lamina plugins LAYER` prints them. A layer of the same id with another signature is not run by this kernel. */
typedef struct lamina_cpu_kernel {
    const char *layer;
    const char *signature;
    lamina_status (*run)(const lamina_call *, const lamina_host *); /* LAMINA_UNSUPPORTED: the reference runs instead */
    /* Since 1.1: weights of these dtypes come as they are stored, at any address; 0: all are widened. */
    uint32_t stored_dtypes;
    uint32_t reserved;
} lamina_cpu_kernel;

/* The plugin that makes the device `cpu`: every layer runs by its reference, or faster where there is a kernel here. */
typedef struct lamina_executor {
    lamina_prefix prefix;
    const char *id, *version, *summary;
    const lamina_cpu_kernel *kernels;
    uint32_t n_kernels, kernel_size; /* kernel_size: of one of them, in bytes */
} lamina_executor;

/* The sole symbol that a plugin exports. NULL: this plugin cannot serve a host of that ABI. */
const lamina_prefix *lamina_plugin_query(uint32_t host_abi_major, uint32_t host_abi_minor);

#ifdef __cplusplus
}
#endif

#endif
