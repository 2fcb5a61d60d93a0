# Makes a later minor version of plugin.h that never was: every struct that may grow has a field more, behind those that
# it has. What is written against it must still work with 1.0, and the other way round.
#
#     cmake -DFROM=plugin_1_0.h -DTO=lamina/plugin.h -P later_version.cmake
file(READ ${FROM} header)
string(REPLACE "#define LAMINA_ABI_MINOR 0u" "#define LAMINA_ABI_MINOR 1u" header "${header}")
foreach(struct param port variant tolerance tensor matrix_shape device call dispatch host layer cpu_kernel executor)
  string(REPLACE "} lamina_${struct};" "    uint64_t later; /* 1.1 */\n} lamina_${struct};" grown "${header}")
  if(grown STREQUAL header)
    message(FATAL_ERROR "plugin.h has no struct lamina_${struct}")
  endif()
  set(header "${grown}")
endforeach()
file(WRITE ${TO} "${header}")
