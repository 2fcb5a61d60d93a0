#include "grammar/string_formats.hpp"

#include "grammar/languages.hpp"

#include <array>
#include <string>

namespace lamina::grammar {
namespace {

// Days up to the 28th are in every month of every year.
const std::string date = R"([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|[0-9]{4}-(0[13-9]|1[0-2])-(29|30)|)"
                         R"([0-9]{4}-(0[13578]|1[02])-31)";
const std::string time =
    R"(([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]))";
const std::string byte = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const std::string label = "[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?"; // of a host's name
const std::string group = "[0-9A-Fa-f]{1,4}";
const std::string days_and_hours = "([0-9]{1,4}D)?(T(([0-9]{1,4}H)([0-9]{1,4}M)?([0-9]{1,4}S)?|([0-9]{1,4}M)"
                                   "([0-9]{1,4}S)?|[0-9]{1,4}S))";

struct Format {
    const char *name;
    std::string pattern;
};

const std::array<Format, 10> formats{{
    {"date", date},
    {"time", time},
    {"date-time", "(" + date + ")T" + time},
    {"duration", "P([0-9]{1,4}W|([0-9]{1,4}Y)([0-9]{1,4}M([0-9]{1,4}D)?)?|[0-9]{1,4}M([0-9]{1,4}D)?|[0-9]{1,4}D|" +
                     days_and_hours + ")"},
    {"uuid", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"},
    {"ipv4", byte + R"((\.)" + byte + "){3}"},
    {"ipv6", "(" + group + ":){7}" + group + "|::(" + group + "(:" + group + "){0,5})?|" + group + "::(" + group +
                 "(:" + group + "){0,4})?"},
    {"email", R"([A-Za-z0-9_+-]{1,30}(\.[A-Za-z0-9_+-]{1,30}){0,3}@)" + label + R"((\.)" + label + "){1,4}"},
    {"hostname", label + R"((\.)" + label + "){0,5}"},
    {"uri", "[a-z][a-z0-9+.-]{0,15}://" + label + R"((\.)" + label + R"(){0,5}(:[0-9]{1,4})?(/[A-Za-z0-9._~-]*)*)"},
}};

} // namespace

std::optional<Expression> string_format(std::string_view name) {
    for (const Format &format : formats)
        if (name == format.name) return read_regex(format.pattern, "format", Match::whole);
    return std::nullopt;
}

} // namespace lamina::grammar
