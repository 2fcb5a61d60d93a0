// Files and folders that hold what is being written until it is renamed to its place. They are next to it, and their
// writer locks them. So the next writer of the same place can tell those in use from those that a killed process left,
// and removes the latter.
#pragma once

#include <filesystem>
#include <string>

namespace lamina {

// Creates a new file "TARGET.PID-N.tmp" and locks it until its descriptor, which is returned, is closed. Returns -1 and
// sets errno if that fails.
int create_temporary_file(const std::filesystem::path &target, std::string &name);
// The same for an empty folder, in a folder that exists.
int create_temporary_folder(const std::filesystem::path &target, std::string &name);

} // namespace lamina
