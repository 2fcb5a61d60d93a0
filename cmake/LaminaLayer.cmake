# lamina_add_layer(NAME [PRODUCT] [AGAIN kernel:DEFINE...] [SOURCES file...] [SHADERS directory...] [LIBRARIES target...])
#
# Builds the plugin library of the layer NAME from NAME.cpp (or SOURCES) next to the caller's CMakeLists.txt and from
# every *.comp in SHADERS (default: the project's shaders/NAME, or ./shaders if that does not exist). Each
# NAME_OF_FILE.comp becomes one kernel; shaders may include each other and <shaders>/common. The kernels are compiled to
# SPIR-V for Vulkan 1.1 and embedded; the sources include them as "NAME.kernels.hpp":
#
#     namespace lamina_kernels {
#     enum : uint32_t { layer_norm, ... };   // the kernels, named after their files
#     inline constexpr std::array all{...};  // for the contract
#     }
#
# PRODUCT adds the kernels of <lamina/plugin/product.hpp>, and lamina_kernels::product, which refers to them; the layer
# then needs no kernels of its own. AGAIN softmax:SUBGROUP compiles softmax.comp a second time, with SUBGROUP defined,
# as the kernel softmax_subgroup.
#
# A kernel that requires GL_KHR_cooperative_matrix is left out if glslang does not support that extension: its entry
# then holds no SPIR-V, and variants that dispatch it do not run.
#
# Example, a whole out-of-tree project:
#
#     find_package(Lamina REQUIRED)
#     lamina_add_layer(rms_norm)
#
# Without CMAKE_BUILD_TYPE, plugins are optimized. They are placed in ${LAMINA_PLUGIN_OUTPUT_DIRECTORY} (default: the
# build folder's lib/lamina/plugins).
include_guard(DIRECTORY)

if(NOT DEFINED LAMINA_PLUGIN_OUTPUT_DIRECTORY)
  set(LAMINA_PLUGIN_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/lamina/plugins)
endif()

# Finds glslang, and finds out what it can compile. Only projects with kernels need it.
macro(lamina_find_glslang)
  find_program(LAMINA_GLSLANG NAMES glslangValidator glslang DOC "glslang's compiler (Debian: glslang-tools)")
  if(NOT LAMINA_GLSLANG)
    message(FATAL_ERROR "Kernels need glslang's compiler, which was not found. Debian and Ubuntu: apt install "
                        "glslang-tools. Elsewhere, set LAMINA_GLSLANG to its path.")
  endif()
  get_property(probed GLOBAL PROPERTY LAMINA_GLSLANG_PROBED)
  if(NOT probed) # once each time that CMake runs, because LAMINA_GLSLANG may have changed
    set_property(GLOBAL PROPERTY LAMINA_GLSLANG_PROBED ON)
    set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/cooperative_matrix.comp)
    file(WRITE ${probe} "#version 450\n#extension GL_KHR_cooperative_matrix : require\nvoid main() {}\n")
    execute_process(COMMAND ${LAMINA_GLSLANG} -V --target-env vulkan1.1 -o ${probe}.spv ${probe}
                    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(failed)
      message(STATUS "Kernels with cooperative matrices are left out: ${LAMINA_GLSLANG} does not support them")
      set(LAMINA_KNOWS_COOPERATIVE_MATRIX OFF CACHE INTERNAL "glslang compiles GL_KHR_cooperative_matrix")
    else()
      set(LAMINA_KNOWS_COOPERATIVE_MATRIX ON CACHE INTERNAL "glslang compiles GL_KHR_cooperative_matrix")
    endif()
  endif()
endmacro()

# Compiles every shader in the DIRECTORIES, some of them AGAIN, and writes <output>/NAME.kernels.hpp; sets OUT to the
# files that must be built first.
function(lamina_embed_shaders NAME DIRECTORIES OUTPUT OUT)
  cmake_parse_arguments(PARSE_ARGV 4 arg "PRODUCT" "" "AGAIN")
  lamina_find_glslang()
  list(TRANSFORM DIRECTORIES APPEND "/*.comp" OUTPUT_VARIABLE patterns)
  file(GLOB shaders CONFIGURE_DEPENDS ${patterns})
  if(NOT shaders)
    message(FATAL_ERROR "lamina_add_layer(${NAME}): no *.comp in ${DIRECTORIES}")
  endif()
  file(MAKE_DIRECTORY ${OUTPUT})
  list(TRANSFORM DIRECTORIES PREPEND "-I" OUTPUT_VARIABLE own_includes)
  set(made "")
  set(includes "")
  set(names "")
  set(entries "")
  set(products "")
  foreach(shader IN LISTS shaders)
    get_filename_component(file ${shader} NAME_WE)
    file(STRINGS ${shader} matrices REGEX "GL_KHR_cooperative_matrix")
    set(forms ${file} ${arg_AGAIN})
    list(FILTER forms INCLUDE REGEX "^${file}(:|$)")
    foreach(form IN LISTS forms)
      string(REPLACE ":" "_" kernel ${form})
      string(TOLOWER ${kernel} kernel)
      string(REPLACE ":" ";-D" defined ${form})
      list(REMOVE_AT defined 0)
      string(APPEND names "    ${kernel},\n")
      if(kernel MATCHES "^product_(.*)$")
        string(APPEND products "    .${CMAKE_MATCH_1} = ${kernel},\n")
      endif()
      if(matrices AND NOT LAMINA_KNOWS_COOPERATIVE_MATRIX)
        string(APPEND entries "    lamina_kernel{\"${kernel}\", nullptr, 0},\n")
        continue()
      endif()
      set(header ${OUTPUT}/${kernel}.spv.h)
      add_custom_command(
        OUTPUT ${header}
        COMMAND ${LAMINA_GLSLANG} -V --target-env vulkan1.1 ${defined} -I${LAMINA_SHADER_DIRECTORY} ${own_includes}
                -I${LAMINA_INCLUDE_DIRECTORY} --vn ${kernel}_spirv --depfile ${header}.d -o ${header} ${shader}
        DEPENDS ${shader}
        DEPFILE ${header}.d
        COMMENT "Compiling ${NAME}/${kernel}"
        VERBATIM)
      list(APPEND made ${header})
      string(APPEND includes "#include \"${kernel}.spv.h\"\n")
      string(APPEND entries "    lamina_kernel{\"${kernel}\", ${kernel}_spirv, std::size(${kernel}_spirv)},\n")
    endforeach()
  endforeach()
  if(arg_PRODUCT)
    string(PREPEND includes "#include <lamina/plugin/product.hpp>\n")
    set(products "inline constexpr lamina::plugin::ProductKernels product{\n${products}};\n")
  else()
    set(products "")
  endif()
  file(CONFIGURE OUTPUT ${OUTPUT}/${NAME}.kernels.hpp @ONLY CONTENT
"// Made by lamina_add_layer(${NAME}).
#pragma once
#include <lamina/plugin.h>

#include <array>
#include <iterator>
${includes}
namespace lamina_kernels {
enum : uint32_t {
${names}};
inline constexpr std::array all{
${entries}};
${products}} // namespace lamina_kernels
")
  set(${OUT} ${made} PARENT_SCOPE)
endfunction()

# Builds a plugin library called NAME from SOURCES: the part that layers and executors have in common.
function(lamina_add_plugin NAME)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  add_library(lamina_plugin_${NAME} MODULE ${arg_SOURCES})
  target_link_libraries(lamina_plugin_${NAME} PRIVATE Lamina::plugin ${arg_LIBRARIES})
  target_compile_features(lamina_plugin_${NAME} PRIVATE cxx_std_20)
  target_compile_options(lamina_plugin_${NAME} PRIVATE $<$<CONFIG:>:-O2>) # without a build type, too
  set_target_properties(lamina_plugin_${NAME} PROPERTIES
    OUTPUT_NAME ${NAME} PREFIX "lamina_" CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${LAMINA_PLUGIN_OUTPUT_DIRECTORY})
  if(COMMAND lamina_internal_target) # in Lamina's own source tree, with its warnings, targets and install rules
    lamina_internal_target(lamina_plugin_${NAME})
    if(LAMINA_INSTALL_PLUGINS) # empty for the tests' own plugins
      add_dependencies(plugins lamina_plugin_${NAME})
      install(TARGETS lamina_plugin_${NAME} LIBRARY DESTINATION ${LAMINA_INSTALL_PLUGINS} COMPONENT plugins)
    endif()
  endif()
endfunction()

function(lamina_add_layer NAME)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PRODUCT" "" "SOURCES;SHADERS;LIBRARIES;AGAIN")
  if(NOT arg_SOURCES)
    set(arg_SOURCES ${NAME}.cpp)
  endif()
  if(NOT arg_SHADERS)
    foreach(directory ${LAMINA_SHADER_DIRECTORY}/${NAME} ${CMAKE_CURRENT_SOURCE_DIR}/shaders)
      if(NOT arg_SHADERS AND EXISTS ${directory})
        set(arg_SHADERS ${directory})
      endif()
    endforeach()
  endif()
  set(product "")
  if(arg_PRODUCT)
    set(product PRODUCT)
    list(APPEND arg_SHADERS ${LAMINA_SHADER_DIRECTORY}/product)
    list(APPEND arg_AGAIN # as ProductKernels lists them
         product_few_rows:VEC4 product_few_rows:BLOCKS
         product_few_rows:SUBGROUP product_few_rows:SUBGROUP:VEC4 product_few_rows:SUBGROUP:BLOCKS
         product_matrix:VEC4 product_matrix:BLOCKS product_packed:BLOCKS
         product_registers:VEC4 product_registers:BLOCKS product_scales:BLOCKS
         product_tiled:VEC4 product_tiled:BLOCKS
         product_tiled:LARGE product_tiled:LARGE:VEC4 product_tiled:LARGE:BLOCKS)
  endif()
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${NAME}.kernels)
  lamina_embed_shaders(${NAME} "${arg_SHADERS}" ${generated} made ${product} AGAIN ${arg_AGAIN})
  lamina_add_plugin(${NAME} SOURCES ${arg_SOURCES} ${made} LIBRARIES ${arg_LIBRARIES})
  target_include_directories(lamina_plugin_${NAME} PRIVATE ${generated})
endfunction()
