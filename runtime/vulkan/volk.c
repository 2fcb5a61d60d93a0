/* volk's function pointers, compiled here once: libvulkan is opened at run time and never linked. */
#define VK_NO_PROTOTYPES
#define VOLK_IMPLEMENTATION
#include <volk.h>
