/* The extension "lamina.prepare/1": memory that is filled once.
 *
 * A variant may need a weight in another order or dtype than it is stored in, for example rearranged for its loads. In
 * `plan` it requests memory, and dispatches that fill it. The host runs these before the first run. Plans in the
 * session that request the same dispatches over the same weights share the memory, for example those for prompts of
 * different lengths. It stays on the device as long as a program with such a plan exists. A weight that only these
 * dispatches read does not stay on the device.
 *
 *     const lamina_prepare *prepare = host->extension(host, LAMINA_PREPARE);   // NULL: use another variant
 *
 * C++ authors use Plan::prepared() and Plan::prepare() of <lamina/plugin.hpp>.
 */
#ifndef LAMINA_PLUGIN_PREPARE_H
#define LAMINA_PLUGIN_PREPARE_H

#include <lamina/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LAMINA_PREPARE "lamina.prepare/1"

typedef struct lamina_prepare {
    size_t struct_size;
    /* Memory with the role LAMINA_PREPARED. The plan's own dispatches may only read it. */
    lamina_status (*memory)(const lamina_host *, uint64_t bytes, lamina_ref *out);
    /* Appends a dispatch that fills such memory. It may read weights, constants and prepared memory, and write prepared
     * memory; these dispatches run once, in this order, with barriers where they are needed. */
    lamina_status (*dispatch)(const lamina_host *, const lamina_dispatch *);
} lamina_prepare;

#ifdef __cplusplus
}
#endif

#endif
