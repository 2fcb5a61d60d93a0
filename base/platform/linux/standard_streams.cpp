#include "base/standard_streams.hpp"

#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace lamina {

void prepare_streams() {
    for (const int stream : {standard_input, standard_output, standard_error}) // open() takes the lowest free number
        if (::fcntl(stream, F_GETFD) < 0) (void)::open("/dev/null", stream == standard_input ? O_WRONLY : O_RDONLY);
}

bool is_terminal(int stream) { return ::isatty(stream) != 0; }

bool knows_escapes(int stream) {
    const char *term = std::getenv("TERM");
    return is_terminal(stream) && term != nullptr && std::string_view(term) != "dumb";
}

size_t columns_of(int stream) {
    winsize size{};
    return ::ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool has_input(int stream) {
    pollfd events{stream, POLLIN, 0};
    return ::poll(&events, 1, 0) > 0;
}

const char *end_of_input_keys() { return "Ctrl-D"; }

} // namespace lamina
