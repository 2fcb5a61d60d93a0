// Files and folders that are in use while they are open, in a way that other processes can tell.
#pragma once

#include <filesystem>

namespace lamina {

[[nodiscard]] int process_number(); // which no other process has at the same time

// Creates a new file to write, or a folder, and returns its number. Returns -1 and sets errno if that fails; EEXIST if
// the name is taken.
int create_held_file(const std::filesystem::path &path);
int create_held_folder(const std::filesystem::path &path);
// Gives it another name; a file of that name is replaced. Returns 0 or an errno.
int rename_held(int number, const std::filesystem::path &from, const std::filesystem::path &to);
// Removes it with its contents, and closes it.
void discard_held(int number, const std::filesystem::path &path);
// Removes a file, or a folder with its contents, that nobody holds.
void remove_unless_held(const std::filesystem::path &path);

} // namespace lamina
