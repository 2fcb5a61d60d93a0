#include "base/local_time.hpp"

namespace lamina {

std::optional<std::tm> local_time(std::time_t time) {
    std::tm local{};
    return localtime_s(&local, &time) != 0 ? std::nullopt : std::optional(local);
}

} // namespace lamina
