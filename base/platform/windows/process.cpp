#include "base/process.hpp"

#include "base/dynamic_library.hpp"
#include "platform/windows/error.hpp"

#include <lamina/error.hpp>

#include <chrono>
#include <cstdio>

namespace lamina {
namespace {

[[noreturn]] void fail(const char *what) {
    throw Error(ErrorCode::failure,
                std::string("no process for a part of the work: ") + what + ": " + words_of(GetLastError()));
}

class Handle {
  public:
    Handle() = default;
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle() { shut(); }
    void shut() {
        if (handle_ != nullptr) CloseHandle(handle_);
        handle_ = nullptr;
    }
    [[nodiscard]] HANDLE get() const { return handle_; }
    [[nodiscard]] HANDLE *place() { return &handle_; }

  private:
    HANDLE handle_ = nullptr;
};

// A pipe whose writing end the other process inherits.
struct Pipe {
    Handle read, write;
    Pipe() {
        SECURITY_ATTRIBUTES inherited{sizeof(SECURITY_ATTRIBUTES), nullptr, TRUE};
        if (CreatePipe(read.place(), write.place(), &inherited, 0) == 0) fail("CreatePipe");
        SetHandleInformation(read.get(), HANDLE_FLAG_INHERIT, 0);
    }
    // What has been written so far.
    void take(std::string &text) const {
        DWORD waiting = 0;
        while (PeekNamedPipe(read.get(), nullptr, 0, nullptr, &waiting, nullptr) != 0 && waiting != 0) {
            std::string part(waiting, '\0');
            DWORD got = 0;
            if (ReadFile(read.get(), part.data(), waiting, &got, nullptr) == 0) return;
            text.append(part, 0, got);
        }
    }
};

// An argument as programs of Windows split their command line.
std::wstring quoted(const std::string &argument) {
    std::wstring out = L"\"";
    size_t backslashes = 0;
    for (const wchar_t c : std::filesystem::path(argument).wstring()) {
        if (c == L'"') out.append(backslashes + 1, L'\\');
        backslashes = c == L'\\' ? backslashes + 1 : 0;
        out += c;
    }
    return out.append(backslashes, L'\\') + L'"';
}

} // namespace

Ended run_process(const std::vector<std::string> &arguments, int seconds, const std::function<void()> &working) {
    Pipe out, err;
    STARTUPINFOW start{};
    start.cb = sizeof(start);
    start.dwFlags = STARTF_USESTDHANDLES;
    start.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    start.hStdOutput = out.write.get();
    start.hStdError = err.write.get();
    const std::filesystem::path program = this_program().value_or("lamina.exe");
    std::wstring line = L"lamina";
    for (const std::string &argument : arguments) line += L" " + quoted(argument);
    PROCESS_INFORMATION made{};
    if (CreateProcessW(program.c_str(), line.data(), nullptr, nullptr, TRUE, 0, nullptr, nullptr, &start, &made) == 0)
        fail("CreateProcess");
    Handle process, thread;
    *process.place() = made.hProcess, *thread.place() = made.hThread;
    out.write.shut(), err.write.shut();

    Ended ended;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    try {
        while (WaitForSingleObject(process.get(), 50) == WAIT_TIMEOUT) {
            out.take(ended.out), err.take(ended.err); // a full pipe would stop the process
            working();
            if (ended.fault.empty() && std::chrono::steady_clock::now() > end) {
                ended.fault = "did not end within " + std::to_string(seconds) + " seconds";
                TerminateProcess(process.get(), 1);
            }
        }
    } catch (...) {
        TerminateProcess(process.get(), 1);
        throw;
    }
    out.take(ended.out), err.take(ended.err);
    DWORD status = 0;
    GetExitCodeProcess(process.get(), &status);
    if (status > 0xC0000000u && ended.fault.empty()) { // an exception that nobody handled
        char code[16];
        std::snprintf(code, sizeof(code), "0x%08lX", status);
        ended.fault = std::string("was ended by exception ") + code;
    }
    ended.status = static_cast<int>(status);
    return ended;
}

} // namespace lamina
