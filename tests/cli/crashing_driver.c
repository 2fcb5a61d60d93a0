/* A Vulkan driver that crashes when it is opened. */
#include <stdlib.h>

__attribute__((constructor)) static void crash(void) { abort(); }
