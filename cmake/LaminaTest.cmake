# lamina_add_layer_test(NAME)
#
# Builds the Catch2 program NAME_test from test/NAME_test.cpp, and adds the CTest test NAME, which runs it with the
# plugins of this build in $LAMINA_PLUGIN_PATH. lamina/testing.hpp has the matchers. Without Catch2 (version 2 or 3),
# there is no such test, and a message says so:
#
#     enable_testing()
#     lamina_add_layer_test(rms_norm)
include_guard(DIRECTORY)

function(lamina_add_layer_test NAME)
  find_package(Catch2 QUIET)
  if(NOT Catch2_FOUND)
    message(STATUS "The test of ${NAME} is left out, because Catch2 was not found (Debian and Ubuntu: catch2)")
    return()
  endif()
  add_executable(${NAME}_test test/${NAME}_test.cpp)
  add_dependencies(${NAME}_test lamina_plugin_${NAME})
  target_compile_features(${NAME}_test PRIVATE cxx_std_20)
  target_link_libraries(${NAME}_test PRIVATE Lamina::lamina)
  if(TARGET Catch2::Catch2WithMain)
    target_link_libraries(${NAME}_test PRIVATE Catch2::Catch2WithMain)
  else() # version 2 defines main() only if a macro asks for it
    target_link_libraries(${NAME}_test PRIVATE Catch2::Catch2)
    target_compile_definitions(${NAME}_test PRIVATE CATCH_CONFIG_MAIN)
  endif()
  add_test(NAME ${NAME} COMMAND ${NAME}_test)
  set_tests_properties(${NAME} PROPERTIES ENVIRONMENT "LAMINA_PLUGIN_PATH=${LAMINA_PLUGIN_OUTPUT_DIRECTORY}")
endfunction()
