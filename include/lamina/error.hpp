// The error type of the host API. The message says what is wrong, where, what was expected and found, and what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace lamina {

// The values are the exit codes of the `lamina` command.
enum class ErrorCode : int {
    failure = 1,     // anything else: a file that cannot be written, a defect
    usage = 2,       // the command line
    input = 3,       // a bad model, tensor or text
    no_device = 4,   // the device asked for is not there, or cannot run this
    memory = 5,      // host or device memory ran out
    device_lost = 6, // the device stopped answering
    tolerance = 7,   // a comparison found a difference beyond tolerance
    plugin = 8,      // a plugin is missing, broken or breaks its contract
    unproven = 9,    // no kernel of a layer has passed its proof on the device
};

class Error : public std::runtime_error {
  public:
    Error(ErrorCode code, const std::string &message) : std::runtime_error(message), code_(code) {}
    [[nodiscard]] ErrorCode code() const noexcept { return code_; }

  private:
    ErrorCode code_;
};

} // namespace lamina
