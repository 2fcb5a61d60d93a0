#include "parts.hpp"

#include "table.hpp"

#include "base/binary_size.hpp"

namespace lamina::cli {

std::string parts_as_text(const std::vector<Session::Part> &parts, const Output &output) {
    Table table({"DEVICE",
                 {"LAYERS", Align::right},
                 "FROM",
                 "TO",
                 {"WEIGHTS", Align::right},
                 {"CACHES", Align::right},
                 {"ROOM", Align::right}});
    for (const Session::Part &part : parts)
        table.row({{part.device.id, Style::bold},
                   std::to_string(part.layers),
                   part.first,
                   part.last,
                   binary_size(part.weights),
                   binary_size(part.caches),
                   part.room ? binary_size(*part.room) : ""});
    const std::string tokens = std::to_string(parts.front().tokens);
    return "\n" + output.styled("devices", Style::bold) +
           (parts.front().tokens == 0 ? "" : ", with caches for a text of " + tokens + " tokens") + "\n" +
           table.str(output, "  ");
}

Json parts_as_json(const std::vector<Session::Part> &parts) {
    Json out = Json::array();
    for (const Session::Part &part : parts)
        out.push_back({{"device", part.device.id},
                       {"layers", part.layers},
                       {"first", part.first},
                       {"last", part.last},
                       {"weight_bytes", part.weights},
                       {"cache_bytes", part.caches},
                       {"cache_tokens", part.tokens},
                       {"room_bytes", part.room ? Json(*part.room) : Json(nullptr)}});
    return out;
}

} // namespace lamina::cli
