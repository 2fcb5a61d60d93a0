/* Lamina plugin ABI: the contract between a layer and the runtime, in C11.
 *
 * A plugin is a shared library that holds one layer: what it computes as data (the contract), a plain CPU reference,
 * and for every shape a plan, which is a list of GLSL compute dispatches, again as data. A plugin never touches Vulkan.
 *
 * Lifetimes and threads:
 *   - A plugin has no instances, no initialization and no mutable globals. Its functions are pure and re-entrant and
 *     may be called from any thread. Their arguments are valid during the call. Data that they pass to the host is
 *     copied before the host's function returns.
 *   - The descriptor that lamina_plugin_query() returns lives as long as the library, which is never unloaded.
 *   - Nothing is allocated on one side and freed on the other. No exception crosses the boundary.
 *
 * Versions:
 *   - Version 1.0 stays supported. A later minor version only appends fields to structs, and dtypes to their set: no
 *     field moves, changes its meaning or disappears.
 *   - The reader of a struct reads at most the writer's `struct_size`, or, in an array, the element size given next to
 *     it. Fields beyond that count as zero, and zero means the behaviour of 1.0. So plugins and hosts of different
 *     minor versions work together. The host accepts every descriptor that has at least the fields of 1.0.
 *   - The host ignores dtypes of a port that it does not know. A plugin never gets a dtype that it did not list.
 *   - A plugin that requires a newer host checks the host's minor version and returns NULL if it is too old.
 *   - Features that hosts may or may not offer are requested by name: lamina_host.extension.
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
#define LAMINA_ABI_MAJOR 1u      /* a plugin with another one is refused */
#define LAMINA_ABI_MINOR 2u      /* may differ: see above */
#define LAMINA_MAX_RANK 8
#define LAMINA_MAX_PUSH_BYTES 128 /* guaranteed by every Vulkan device */

typedef int32_t lamina_status;
enum {
    LAMINA_OK = 0,
    LAMINA_INVALID = 1,     /* the caller's parameters, shapes or values are wrong */
    LAMINA_UNSUPPORTED = 2, /* valid, but this variant or kernel does not handle it: the host uses another one */
    LAMINA_INTERNAL = 3,    /* a defect of the plugin */
    LAMINA_NO_MEMORY = 4    /* memory ran out, which says nothing about the plugin; since 1.1 */
};

/* Structs contain no enum types, because their size depends on the compiler. */
enum { LAMINA_LAYER = 1, LAMINA_EXECUTOR = 2 };                   /* lamina_prefix.kind */
enum { LAMINA_SANITIZER_NONE = 0, LAMINA_SANITIZER_ADDRESS = 1 }; /* lamina_prefix.sanitizer */
/* dtypes, as bits of a set. Those from Q8_0 on are only for weights, Q8_0 since 1.2 also for states: blocks of 32
 * values along a row, or of 256 in the K formats. <lamina/plugin/dtype.hpp> has the size of each and defines the
 * blocks. */
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
/* Since 1.2. */
enum {
    LAMINA_Q2_K = 4096,
    LAMINA_Q3_K = 8192,
    LAMINA_IQ4_NL = 16384,
    LAMINA_IQ4_XS = 32768,
    LAMINA_I8_K = 65536,
    LAMINA_I4_K = 131072
};
enum { LAMINA_INT = 1, LAMINA_REAL = 2, LAMINA_BOOL = 3, LAMINA_CHOICE = 4 }; /* lamina_param.kind */
enum { LAMINA_REQUIRED = 1 };                                                 /* lamina_param.flags */
enum {
    LAMINA_OPTIONAL = 1,      /* lamina_port.flags: may be left out */
    LAMINA_SEQUENCE = 2,      /* lamina_port.flags: axes 0 and 1 are swapped if the parameter batch_first is 0 */
    LAMINA_PROBABILITIES = 4, /* lamina_port.flags, of outputs: every row holds probabilities that add up to 1 */
    LAMINA_BY_ROWS = 8, /* since 1.1; lamina_port.flags, of outputs: the reference computes only lamina_call.rows */
    LAMINA_MARGIN = 16  /* since 1.2; lamina_port.flags, of outputs: see lamina_port.follows */
};
enum { LAMINA_STANDS_IN = 1 }; /* lamina_tensor.flags: left out; the tensor is that of the port it follows */
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

/* A parameter of a layer, as in model.json. Values are passed as double: INT is exact up to 2^53, BOOL is 0 or 1,
 * CHOICE is the index into `choices`. */
typedef struct lamina_param {
    const char *name;
    const char *summary;
    const char *choices; /* CHOICE: "relu|gelu|silu", else NULL */
    const char *follows; /* the earlier parameter whose value is the default, instead of `dflt`; or NULL */
    double dflt, min, max;
    uint32_t kind, flags;
} lamina_param;

/* An input, weight, output or state of a layer.
 *
 * `dims` names the axes, outermost first: "B T C". A name has the same size everywhere in the contract. Besides names
 * there may be numbers, parameters ("heads"), and products, quotients, sums and differences of these without spaces
 * ("heads*D", "V/2", "Tk+1"). "..." may appear once, first, for any number of axes, which are the same everywhere in
 * the contract. Every name must be determined by the inputs, the weights and the parameters.
 *
 * `values`, for I32 inputs: "LO HI", two such expressions; LO <= value < HI. The host refuses other values before it
 * dispatches anything, so kernels may use them as indices. NULL: any value. For I32 outputs, since 1.2: the values that
 * the layer computes, whatever its inputs; conformance holds every variant to them. A layer may then take the output as
 * an input with these values.
 *
 * `follows`: if this optional port is left out, the earlier port of the same list named here stands in for it (the
 * values of attention may be its keys), and the plugin sees that tensor. For a state: the optional input that it
 * belongs to, or several ("position v", since 1.2). If a model leaves one of them out, the host does not provide the
 * state: without the position of its rows, a layer has no use for those of earlier steps.
 *
 * For an I32 output, since 1.2: what each row holds is a choice of distinct indices, the best by some score, and
 * `follows` names an optional input like it. If a model or the host gives that input, it is the choice, and the layer
 * computes everything for it. Where scores are nearly equal, rounding decides, and devices may rightly choose
 * otherwise. The layer says how clear a choice is in the F32 output with LAMINA_MARGIN, one value per row: the least
 * score of what is chosen, minus the greatest of what is not, divided by the greater magnitude of both; 2 if all is
 * chosen, negative if something better is not. The host compares kernels with what the reference computes for the
 * kernel's own choice, if that is as good as the reference's within the tolerance.
 *
 * `capacity`, for states: the name in `dims` whose size the host chooses, such as the number of positions that a cache
 * has room for. No other port may determine it. NULL: the other ports determine the state's shape. */
typedef struct lamina_port {
    const char *name;
    const char *summary;
    const char *dims;
    const char *values;
    const char *follows;
    const char *capacity;
    uint32_t dtypes, flags;
} lamina_port;

/* How much a kernel's result may differ from the reference: in every row (the last axis) of every output,
 *     max|kernel - reference| <= rtol * max|reference| + atol,   with non-finite values in the same places.
 * One entry for each arithmetic that a variant uses. The host limits what may be declared. */
typedef struct lamina_tolerance {
    double rtol, atol;
    uint32_t arithmetic; /* as in lamina_variant */
    uint32_t reserved;
} lamina_tolerance;

/* A compiled compute shader with the entry point "main". Bindings (all in set 0), their access (from readonly and
 * writeonly), push-constant size, workgroup size and specialization constants are read from the SPIR-V.
 *
 * `spirv` NULL and `words` 0: the shader compiler of the plugin's build could not compile the kernel. A variant whose
 * plan dispatches it does not run, and the host says why. */
typedef struct lamina_kernel {
    const char *name;
    const uint32_t *spirv;
    size_t words;
} lamina_kernel;

/* One way to compute the layer. Variant 0 is the baseline: it needs no features and runs on any Vulkan 1.1 device (at
 * most 256 invocations per workgroup, any subgroup size, 16 KiB of shared memory, bindings of at most
 * max_binding_bytes).
 *
 * `arithmetic`: how exact the factors of its products are, which selects the tolerance. LAMINA_F32: as exact as floats.
 * LAMINA_F16 or LAMINA_BF16: at least as these. LAMINA_Q8_0, since 1.2: at least as integers of 8 bits, of which up to
 * 32 share a factor. Sums are always as exact as in F32. Unless it is the baseline, a variant that is less exact than
 * F32 runs only where the host's user has allowed it. */
typedef struct lamina_variant {
    const char *name;
    const char *summary;
    uint64_t needs;      /* LAMINA_FEATURE_ bits */
    uint32_t arithmetic; /* LAMINA_F32, LAMINA_F16, LAMINA_BF16 or LAMINA_Q8_0 */
    uint32_t reserved;
} lamina_variant;

/* ---- The arguments of a call ---- */

/* Dense, row-major. `rank` 0: an optional port that was left out. `data` is NULL except in `reference` and in CPU
 * kernels. There, inputs, outputs and weights are F32 or I32: the host widens other dtypes, exactly. States have the
 * dtype in `dtype`, and so do weights that a CPU kernel reads as they are stored. */
typedef struct lamina_tensor {
    void *data;
    int64_t dim[LAMINA_MAX_RANK];
    uint32_t dtype, rank;
    uint32_t flags, reserved;
} lamina_tensor;

typedef struct lamina_matrix_shape { /* a cooperative-matrix shape that the device supports, at subgroup scope */
    uint32_t m, n, k, in_dtype, acc_dtype;
} lamina_matrix_shape;

typedef struct lamina_device { /* capabilities; never a vendor */
    size_t struct_size;
    uint64_t features;          /* LAMINA_FEATURE_ bits */
    uint64_t max_binding_bytes; /* maximum size of one binding; at least 128 MiB */
    uint64_t binding_align;     /* offsets of lamina_ref are multiples of this; a power of two, at most 256 */
    const lamina_matrix_shape *matrices;
    uint32_t n_matrices, matrix_size; /* matrix_size: of one of them, in bytes */
    uint32_t subgroup;                /* invocations in a subgroup */
    uint32_t max_invocations, max_local[3], max_groups[3];
    uint32_t shared_bytes;
} lamina_device;

/* Arrays in the order of the contract's lists. They have been checked against the contract. */
typedef struct lamina_call {
    size_t struct_size;
    const double *params;
    const lamina_tensor *in;
    const lamina_tensor *weight;
    const lamina_tensor *out;
    const lamina_tensor *state;
    const struct lamina_layer *layer; /* the contract, whose order the arrays have */
    const lamina_device *device;      /* NULL except in `plan` */
    uint32_t tensor_size;             /* of one lamina_tensor, in bytes */
    uint32_t reserved;
    /* Since 1.1, in `reference`: the rows that the host needs of every output with LAMINA_BY_ROWS, ascending; those
     * beyond an output's end do not count. A row is what the last axis holds; rows are numbered over all other axes.
     * The reference gives these rows the same bits as if it computed all, and need not write others. States and other
     * outputs are always computed whole. NULL: all rows. */
    const int64_t *rows;
    uint64_t n_rows;
} lamina_call;

/* ---- The plan ---- */

/* Memory that is bound to a kernel: `bytes` from `offset` of a port or of scratch; bytes 0 means to the end. An
 * optional port that was left out may be bound: the kernel gets 16 bytes of zeros, which it may only read. Weights are
 * padded with zeros to a multiple of 16 bytes. */
typedef struct lamina_ref {
    uint64_t offset, bytes;
    uint32_t role, index; /* LAMINA_SCRATCH and later roles: as returned by the host */
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

/* The host's functions during a call. */
typedef struct lamina_host {
    size_t struct_size;
    void *context;
    /* Sets the reason before the call returns a status other than LAMINA_OK. One sentence: what, expected, found. */
    void (*error)(const struct lamina_host *, const char *message);
    /* In `plan`: temporary memory with undefined contents. Checks fill it with NaN. A plan has at most 65536
     * dispatches, and as many blocks of memory, each of at most 2^40 bytes. */
    lamina_status (*scratch)(const struct lamina_host *, uint64_t bytes, lamina_ref *out);
    /* In `plan`: appends a dispatch. Dispatches run in this order. The host places barriers according to the accesses
     * that each kernel declares, so a dispatch sees everything that earlier ones wrote. */
    lamina_status (*dispatch)(const struct lamina_host *, const lamina_dispatch *);
    /* In `plan`: a small table, computed by the plugin, that kernels may only read. The bytes are copied before this
     * returns and uploaded once, when the program is built. */
    lamina_status (*constant)(const struct lamina_host *, const void *data, uint64_t bytes, lamina_ref *out);
    /* Optional features of hosts: a struct from the extension's own header, beginning with its struct_size, or NULL if
     * the host does not offer it for this call. An id ends in its revision ("lamina.prepare/1"): another revision is a
     * different extension. */
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
    /* Conformance cases, in addition to those that the host generates: "B=2 T=37 C=113 eps=1e-5 +bias weights=f16
     * x=offset". NAME=VALUE sets a dim, a parameter or a port's class of values; +PORT adds an optional port. */
    const char *const *cases;
    uint32_t n_params, n_inputs, n_weights, n_outputs, n_states, n_kernels, n_variants, n_tolerances, n_cases;
    uint32_t param_size, port_size, variant_size, tolerance_size; /* of one element of each list, in bytes */
    uint32_t reserved;

    /* Checks what dims cannot express; NULL if there is nothing to check. Shapes only: data is NULL. */
    lamina_status (*check)(const lamina_call *, const lamina_host *);
    /* Computes the outputs (and states) in a simple way, accumulating in double. Kernels are compared with it. */
    lamina_status (*reference)(const lamina_call *, const lamina_host *);
    /* Emits the dispatches of one variant through the host. LAMINA_UNSUPPORTED: not for these shapes. */
    lamina_status (*plan)(const lamina_call *, uint32_t variant, const lamina_host *);

    /* Since 1.1: the multiplications and additions for each value of the first output, so that speed can be measured in
     * operations a second. It is a sum of terms separated by spaces: an expression as in dims ("2*K"), or
     * PORT:EXPRESSION, which counts if that optional port is given ("gate_weight:2*H"). Work that is small beside the
     * products does not count, and neither does skipping what a mask hides. NULL: not declared. */
    const char *work;

    /* Since 1.2, for a fusion: a layer that replaces others where they stand together. NULL: the layer is none. A
     * fusion has no reference (it is NULL). The references of the layers that it fuses, one after the other, are its
     * own, and each case holds it to them. Its variants may refuse any shapes, the first one, too: then, and where it
     * is not faster, the other layers run. Models do not name fusions.
     *
     * The text is JSON, with layers as in model.json:
     *
     *     {"layers": [{"name": "norm", "type": "rms_norm", "inputs": {"x": "x"}, "params": {"eps": "eps"},
     *                  "weights": {"weight": "norm_weight"}},
     *                 {"name": "product", "type": "linear", "inputs": {"x": "norm"}, "weights": {"weight": "weight"}}],
     *      "outputs": {"y": "product"}}
     *
     * Inputs are those of the fusion or layers before; weights, and states ("states": {"key_cache": "key_cache"}), are
     * those of the fusion. A port that is not listed must be left out in a model, as must one whose optional port of
     * the fusion is. A parameter has the value that is given here, or that of the fusion's parameter which is named
     * here, or if it is not listed, its default. Tensors that are not outputs are only for the layers listed here. */
    const char *fuses;
} lamina_layer;

/* A fast way to run one layer on the CPU. Like a variant on a GPU, it is used only after it has passed the layer's
 * cases.
 *
 * `signature` is that of the contract that the kernel was written for: parameters and ports with their dims, as
 * `lamina plugins LAYER` prints them. The kernel does not run for a layer with the same id but another signature. */
typedef struct lamina_cpu_kernel {
    const char *layer;
    const char *signature;
    lamina_status (*run)(const lamina_call *, const lamina_host *); /* LAMINA_UNSUPPORTED: the reference runs instead */
    /* Since 1.1: weights of these dtypes are passed as they are stored, without alignment; 0: all are widened. */
    uint32_t stored_dtypes;
    /* Since 1.2, as in lamina_variant; 0 is LAMINA_F32. A layer may have a kernel for each, the first of which should
     * be F32. One that is less exact runs only if a weight has one of stored_dtypes and the contract has a tolerance
     * for it. */
    uint32_t arithmetic;
} lamina_cpu_kernel;

/* The plugin that provides the device `cpu`. Layers without a kernel here run as their references. */
typedef struct lamina_executor {
    lamina_prefix prefix;
    const char *id, *version, *summary;
    const lamina_cpu_kernel *kernels;
    uint32_t n_kernels, kernel_size; /* kernel_size: of one of them, in bytes */
} lamina_executor;

/* The only symbol that a plugin exports. NULL: this plugin does not support a host with that ABI. */
const lamina_prefix *lamina_plugin_query(uint32_t host_abi_major, uint32_t host_abi_minor);

#ifdef __cplusplus
}
#endif

#endif
