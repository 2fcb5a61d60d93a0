// How --help looks, and the environment twins of options that it shows.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <string>

namespace lamina::cli {

// Description, usage, arguments, options, and for a command the global options, too.
class HelpFormatter : public CLI::Formatter {
  public:
    std::string make_help(const CLI::App *app, std::string name, CLI::AppFormatMode mode) const override;
};

// Lets every option be set by the environment: --device by LAMINA_DEVICE, --graph of `lamina run` by LAMINA_RUN_GRAPH.
void add_environment_twins(CLI::App &app, const std::string &prefix = "LAMINA_");

} // namespace lamina::cli
