// docs/models.md lists the types of models that are read, and no others.
#include "catch.hpp"
#include "places.hpp"

#include "architectures/architecture.hpp"

#include <fstream>
#include <set>
#include <string>

using namespace lamina;

namespace {

// "| `gemma3_text` | Gemma 3 | `gemma3` |" -> "gemma3_text gemma3"; "" for other lines.
std::string type_in(const std::string &line) {
    constexpr std::string_view start = "| `";
    if (!line.starts_with(start)) return "";
    const size_t end = line.find("` | ", start.size());
    const size_t last = line.rfind(" | ");
    if (end == std::string::npos || last <= end) return "";
    std::string gguf = line.substr(last + 3);
    gguf = gguf.starts_with('`') ? " " + gguf.substr(1, gguf.find('`', 1) - 1) : "";
    return line.substr(start.size(), end - start.size()) + gguf;
}

} // namespace

TEST_CASE("architectures: the page about models lists exactly those that are read") {
    std::set<std::string> listed, read;
    std::ifstream page(std::filesystem::path(LAMINA_SOURCE_DIR) / "docs" / "models.md");
    bool within = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("| `model_type` | models")) within = true;
        if (line.empty()) within = false;
        if (const std::string type = within ? type_in(line) : ""; !type.empty() && !type.starts_with("model_type"))
            listed.insert(type);
    }
    for (const architectures::Architecture &a : architectures::all())
        read.insert(std::string(a.model_type) +
                    (a.gguf.architecture.empty() ? "" : " " + std::string(a.gguf.architecture)));
    CHECK(listed == read);
    CHECK(read.size() > 40);
}
