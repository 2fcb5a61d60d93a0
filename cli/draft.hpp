// --draft: a smaller model that guesses what a text goes on with.
#pragma once

#include "arguments.hpp"

#include <lamina/lamina.hpp>

#include <filesystem>

namespace lamina::cli {

void add_draft_option(const Arguments &app, std::filesystem::path &draft);

// As Session::use_draft(); nothing if `draft` is empty. It runs on the same device as the session, or on the first of
// several, and is made like it.
void use_draft(Session &session, const std::filesystem::path &draft, const Runtime &runtime, const SessionOptions &how);

} // namespace lamina::cli
