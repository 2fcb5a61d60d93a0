// The calendar and the clock of the time zone that the process is in.
#pragma once

#include <ctime>
#include <optional>

namespace lamina {

[[nodiscard]] std::optional<std::tm> local_time(std::time_t time);

} // namespace lamina
