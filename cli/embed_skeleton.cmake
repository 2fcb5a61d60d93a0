# The files of skeleton/ and app_skeleton/ as text inside the command: skeleton_files.hpp, which new_plugin.cpp and
# new_app.cpp write projects from.
function(lamina_embed VARIABLE FOLDER) # FILE...
  set(files "")
  foreach(file IN LISTS ARGN)
    file(READ ${CMAKE_CURRENT_LIST_DIR}/${FOLDER}/${file} text)
    string(APPEND files "    SkeletonFile{\"${file}\", R\"skeleton(${text})skeleton\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/${FOLDER}/${file})
  endforeach()
  set(${VARIABLE} "${files}" PARENT_SCOPE)
endfunction()
lamina_embed(skeleton_files skeleton README.md skeleton.cpp shaders/skeleton.comp CMakeLists.txt test/skeleton_test.cpp)
lamina_embed(app_skeleton_files app_skeleton main.c CMakeLists.txt)
set(text
"// Made from cli/skeleton and cli/app_skeleton by embed_skeleton.cmake.
#pragma once

#include <array>
#include <string_view>

namespace lamina::cli {

struct SkeletonFile {
    std::string_view path, text;
};
inline constexpr std::array skeleton_files{
${skeleton_files}};
inline constexpr std::array app_skeleton_files{
${app_skeleton_files}};

} // namespace lamina::cli
")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/skeleton_files.hpp CONTENT "@text@" @ONLY)
target_include_directories(lamina PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
