# What `cmake --install` installs besides the command and the plugins: liblamina, the headers, the models, and what other
# projects find Lamina by: the CMake package, with the host API (Lamina::lamina) and what builds layers (Lamina::plugin,
# lamina_add_layer()), and lamina.pc, the host API for pkg-config.
include(CMakePackageConfigHelpers)

# The runtime as one shared library. It exports only the public API: see liblamina.map. All objects of the rooms that
# define a part of it are linked, whether the library needs them itself or not.
add_library(lamina_library SHARED $<TARGET_OBJECTS:lamina_api> $<TARGET_OBJECTS:lamina_builder>
            $<TARGET_OBJECTS:lamina_comparison> $<TARGET_OBJECTS:lamina_measure> $<TARGET_OBJECTS:lamina_conformance>
            $<TARGET_OBJECTS:lamina_model> $<TARGET_OBJECTS:lamina_tokenizer> $<TARGET_OBJECTS:lamina_template>
            $<TARGET_OBJECTS:lamina_audio> $<TARGET_OBJECTS:lamina_image> $<TARGET_OBJECTS:lamina_grammar>)
add_library(Lamina::lamina ALIAS lamina_library)
target_link_libraries(lamina_library PUBLIC lamina_plugin_headers PRIVATE lamina_api lamina_builder lamina_tokenizer
                      lamina_template lamina_audio lamina_image lamina_grammar)
target_link_options(lamina_library PRIVATE -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/liblamina.map)
set_target_properties(lamina_library PROPERTIES
  OUTPUT_NAME lamina EXPORT_NAME lamina VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} # before 1.0 a minor version may change the C++ API
  LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/liblamina.map)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Lamina)
set(LAMINA_INSTALL_SHADERS ${CMAKE_INSTALL_DATADIR}/lamina/shaders)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/LaminaConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/LaminaConfig.cmake
  INSTALL_DESTINATION ${package} PATH_VARS LAMINA_INSTALL_SHADERS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/LaminaConfigVersion.cmake COMPATIBILITY SameMinorVersion)

# The folders relative to the file, so that it is right wherever the prefix is moved to.
file(RELATIVE_PATH LAMINA_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" LAMINA_PREFIX ${LAMINA_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/lamina.pc.in ${CMAKE_CURRENT_BINARY_DIR}/lamina.pc @ONLY)

# As Debian has it: programs need only the library's own name, compilers the one without a version.
install(TARGETS lamina_library lamina_plugin_headers EXPORT LaminaTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library)
install(EXPORT LaminaTargets NAMESPACE Lamina:: DESTINATION ${package} COMPONENT development)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/LaminaConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/LaminaConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/LaminaLayer.cmake ${CMAKE_CURRENT_LIST_DIR}/LaminaTest.cmake
        DESTINATION ${package} COMPONENT development)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lamina.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(DIRECTORY include/lamina DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(DIRECTORY shaders/common shaders/product DESTINATION ${LAMINA_INSTALL_SHADERS} COMPONENT development)
install(DIRECTORY models DESTINATION ${CMAKE_INSTALL_DATADIR}/lamina COMPONENT models
        PATTERN "*.py" EXCLUDE PATTERN "evaluate" EXCLUDE)
