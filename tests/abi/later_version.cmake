# Makes an imaginary later minor version of plugin.h: every struct that may grow has one more field at its end, and
# there is one more dtype. Plugins and hosts built with it must still work with those of earlier versions.
#
#     cmake -DFROM=include/lamina/plugin.h -DTO=lamina/plugin.h -P later_version.cmake
file(READ ${FROM} header)
string(REGEX MATCH "LAMINA_ABI_MINOR ([0-9]+)u" minor "${header}")
math(EXPR later "${CMAKE_MATCH_1} + 1")
string(REPLACE "#define ${minor}" "#define LAMINA_LATER_DTYPE 0x40000000u\n#define LAMINA_ABI_MINOR ${later}u" header "${header}")
foreach(struct param port variant tolerance tensor matrix_shape device call dispatch host layer cpu_kernel executor)
  string(REPLACE "} lamina_${struct};" "    uint64_t later;\n} lamina_${struct};" grown "${header}")
  if(grown STREQUAL header)
    message(FATAL_ERROR "plugin.h has no struct lamina_${struct}")
  endif()
  set(header "${grown}")
endforeach()
file(WRITE ${TO} "${header}")
