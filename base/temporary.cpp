#include "base/temporary.hpp"

#include "base/open_file.hpp"
#include "platform/held_file.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace lamina {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".tmp";

fs::path new_name(const fs::path &target) {
    static std::atomic<unsigned> count = 0;
    fs::path name = target;
    name += "." + std::to_string(process_number()) + "-" + std::to_string(++count) + std::string(ending);
    return name;
}

// Whether a name is one that new_name() gives for a target of this name.
bool is_temporary(std::string_view name, std::string_view target) {
    if (!name.starts_with(target) || !name.ends_with(ending)) return false;
    name.remove_prefix(target.size());
    name.remove_suffix(std::min(name.size(), ending.size()));
    const size_t dash = name.find('-');
    const auto digits = [](std::string_view text) {
        return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    };
    return name.starts_with(".") && dash != std::string_view::npos && digits(name.substr(1, dash - 1)) &&
           digits(name.substr(dash + 1));
}

void remove_abandoned(const fs::path &target) {
    std::error_code failed;
    const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
    for (auto entry = fs::directory_iterator(folder, failed); !failed && entry != fs::directory_iterator();
         entry.increment(failed))
        if (is_temporary(entry->path().filename().string(), target.filename().string()))
            remove_unless_held(entry->path());
}

} // namespace

Temporary::Temporary(fs::path target, Kind kind) : target_(std::move(target)) {
    remove_abandoned(target_);
    do {
        path_ = new_name(target_);
        number_ = kind == Kind::file ? create_held_file(path_) : create_held_folder(path_);
    } while (number_ < 0 && errno == EEXIST);
    if (number_ < 0) throw std::system_error(errno, std::generic_category());
}

Temporary::~Temporary() {
    if (in_place_)
        close_file(number_);
    else
        discard_held(number_, path_);
}

void Temporary::rename() {
    if (const int error = rename_held(number_, path_, target_); error != 0)
        throw std::system_error(error, std::generic_category());
    in_place_ = true;
}

} // namespace lamina
