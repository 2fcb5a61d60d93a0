#include "base/pipe_into.hpp"

#include <cstdio>

namespace lamina {
namespace {

// As programs take their command line apart: quotes around it, and a backslash before quotes and before the
// backslashes in front of them.
std::string quoted(const std::string &word) {
    std::string out = "\"";
    size_t backslashes = 0;
    for (const char c : word) {
        if (c == '"') out.append(backslashes + 1, '\\');
        backslashes = c == '\\' ? backslashes + 1 : 0;
        out += c;
    }
    return out.append(backslashes, '\\') + "\"";
}

} // namespace

int pipe_into(const std::string &program, const std::vector<std::string> &arguments, std::string_view input) {
    std::string command = quoted(program);
    for (const std::string &argument : arguments) command += " " + quoted(argument);
    std::FILE *pipe = _popen(("\"" + command + " 1>&2\"").c_str(), "wb");
    if (pipe == nullptr) return -1;
    (void)std::fwrite(input.data(), 1, input.size(), pipe);
    return _pclose(pipe);
}

} // namespace lamina
