#include "base/standard_streams.hpp"

#include <initializer_list>

#include <fcntl.h>
#include <io.h>
#include <windows.h>

namespace lamina {
namespace {

HANDLE handle_of(int stream) { return reinterpret_cast<HANDLE>(_get_osfhandle(stream)); }

} // namespace

void prepare_streams() {
    for (const int stream : {standard_input, standard_output, standard_error}) {
        if (_get_osfhandle(stream) == -1) (void)_open("NUL", stream == standard_input ? _O_WRONLY : _O_RDONLY);
        _setmode(stream, _O_BINARY);
    }
    SetConsoleCP(CP_UTF8);
    SetConsoleOutputCP(CP_UTF8);
}

bool is_terminal(int stream) {
    DWORD mode = 0;
    return GetConsoleMode(handle_of(stream), &mode) != 0;
}

bool knows_escapes(int stream) {
    DWORD mode = 0;
    return GetConsoleMode(handle_of(stream), &mode) != 0 &&
           SetConsoleMode(handle_of(stream), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}

size_t columns_of(int stream) {
    CONSOLE_SCREEN_BUFFER_INFO info{};
    if (GetConsoleScreenBufferInfo(handle_of(stream), &info) == 0) return 80;
    return static_cast<size_t>(info.srWindow.Right - info.srWindow.Left + 1);
}

// A console has no input before a line is complete, and does not say when it is.
bool has_input(int stream) {
    const DWORD type = GetFileType(handle_of(stream));
    DWORD bytes = 0;
    if (type == FILE_TYPE_PIPE)
        return PeekNamedPipe(handle_of(stream), nullptr, 0, nullptr, &bytes, nullptr) == 0 || bytes != 0;
    return type == FILE_TYPE_DISK;
}

const char *end_of_input_keys() { return "Ctrl-Z and Enter"; }

} // namespace lamina
