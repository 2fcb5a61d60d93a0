// Other commands in processes of their own: what a driver does there, even a crash, does not end this one.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lamina {

struct Ended {
    int status = 0;       // if it ended by itself
    std::string fault;    // how else it ended: "was ended by signal 11"; empty: by itself
    std::string out, err; // what it wrote
};

// Runs this program with other arguments, and ends it after so many seconds. `working` is called several times a
// second; if it throws, the process ends, too. Throws Error(failure) if no process can be started.
[[nodiscard]] Ended run_process(const std::vector<std::string> &arguments, int seconds,
                                const std::function<void()> &working);

} // namespace lamina
