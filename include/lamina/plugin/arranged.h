/* The extension "lamina.arranged/1": weights in an order of a CPU kernel's own.
 *
 * A CPU kernel that reads weights as they are stored may read them faster in another order, for example with the values
 * of several rows side by side. In `run` it asks for memory that belongs to a weight, and writes the weight there in
 * its order. The memory stays with the session, which lets go of what the file has of the weight.
 *
 *     const lamina_arranged *arranged = host->extension(host, LAMINA_ARRANGED);   // NULL: read what is stored
 *
 * C++ authors use Call::arranged() of <lamina/plugin.hpp>.
 */
#ifndef LAMINA_PLUGIN_ARRANGED_H
#define LAMINA_PLUGIN_ARRANGED_H

#include <lamina/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LAMINA_ARRANGED "lamina.arranged/1"

typedef struct lamina_arranged {
    size_t struct_size;
    /* Memory of `bytes` bytes for the call's weight `index`, at a multiple of 64. Where it is new, `fill` is called
     * first, with `context`, to write all of it. All kernels of an executor share it, so they must have the same order
     * for weights of the same dtype and shape. NULL: there is not enough memory, or `fill` has returned another status
     * than LAMINA_OK; read what is stored. */
    const void *(*weight)(const lamina_host *, uint32_t index, uint64_t bytes,
                          lamina_status (*fill)(void *context, void *memory), void *context);
} lamina_arranged;

#ifdef __cplusplus
}
#endif

#endif
