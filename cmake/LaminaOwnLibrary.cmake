# lamina_add_own_library(NAME SOURCES file... LIBRARIES target... COMPONENT component)
#
# Builds a library that own_function() opens (base/own_files.hpp). Its file name has the version, because liblamina of
# another version may be beside this one, and fits no other.
function(lamina_add_own_library NAME)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "COMPONENT" "SOURCES;LIBRARIES")
  add_library(lamina_${NAME} MODULE ${arg_SOURCES})
  target_link_libraries(lamina_${NAME} PRIVATE ${arg_LIBRARIES})
  set_target_properties(lamina_${NAME} PROPERTIES
    PREFIX lib OUTPUT_NAME lamina_${NAME}-${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} NO_SONAME ON
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/lamina)
  lamina_internal_target(lamina_${NAME})
  install(TARGETS lamina_${NAME} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lamina COMPONENT ${arg_COMPONENT})
endfunction()
