#include "base/file_turn.hpp"

#include "platform/held_file.hpp"

#include <cerrno>
#include <chrono>
#include <thread>

namespace lamina {

FileTurn::FileTurn(const std::filesystem::path &file) : folder_(file) {
    folder_ += ".turn";
    constexpr std::chrono::milliseconds often{5};
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (true) {
        number_ = create_held_folder(folder_);
        if (number_ >= 0 || errno != EEXIST || std::chrono::steady_clock::now() > until) return;
        remove_unless_held(folder_); // of a process that was killed
        std::this_thread::sleep_for(often);
    }
}

FileTurn::~FileTurn() {
    try {
        if (number_ >= 0) discard_held(number_, folder_);
    } catch (...) { // there is no memory to remove it; the next one does
    }
}

} // namespace lamina
