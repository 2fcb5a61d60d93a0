# The files of skeleton/ as text inside the command: skeleton_files.hpp, which new_plugin.cpp writes layers from.
set(skeleton_files "")
foreach(file README.md skeleton.cpp shaders/skeleton.comp CMakeLists.txt test/skeleton_test.cpp)
  file(READ ${CMAKE_CURRENT_LIST_DIR}/skeleton/${file} text)
  string(APPEND skeleton_files "    SkeletonFile{\"${file}\", R\"skeleton(${text})skeleton\"},\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/skeleton/${file})
endforeach()
set(text
"// Made from cli/skeleton by embed_skeleton.cmake.
#pragma once

#include <array>
#include <string_view>

namespace lamina::cli {

struct SkeletonFile {
    std::string_view path, text;
};
inline constexpr std::array skeleton_files{
${skeleton_files}};

} // namespace lamina::cli
")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/skeleton_files.hpp CONTENT "@text@" @ONLY)
target_include_directories(lamina PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
