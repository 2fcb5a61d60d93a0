// Commands as CLI11 has them: their description as data, and the format of --help.
#pragma once

#include "description.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <string>

namespace lamina::cli {

// Of a command and those below it.
[[nodiscard]] CommandDescription describe(const CLI::App &command);

// Description, usage, arguments, options, and for a command the global options, too.
class HelpFormatter : public CLI::Formatter {
  public:
    std::string make_help(const CLI::App *app, std::string name, CLI::AppFormatMode mode) const override;
};

} // namespace lamina::cli
