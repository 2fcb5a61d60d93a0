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

// The names between backticks below a heading: of its first paragraph, or else in the first column of its tables.
std::set<std::string> named(const std::string &heading, bool in_table) {
    std::ifstream page(std::filesystem::path(LAMINA_SOURCE_DIR) / "docs" / "models.md");
    std::set<std::string> out;
    std::string line;
    while (std::getline(page, line) && line != heading) {
    }
    while (std::getline(page, line) && !line.starts_with('#')) {
        const bool is_row = line.starts_with("| `");
        if (line.empty() && !in_table) break;
        if (is_row != in_table || line.starts_with("| `model_type`")) continue;
        const std::string part = is_row ? line.substr(0, line.find(" | ")) : line;
        for (size_t open = part.find('`'); open != std::string::npos;) {
            const size_t close = part.find('`', open + 1);
            out.insert(part.substr(open + 1, close - open - 1));
            open = part.find('`', close + 1);
        }
    }
    return out;
}

std::set<std::string> read_types() {
    std::set<std::string> out;
    for (const architectures::Architecture &a : architectures::all()) out.emplace(a.model_type);
    return out;
}

} // namespace

TEST_CASE("architectures: of what is used most, the page says rightly what is read and what is not") {
    const std::set<std::string> read = read_types(), most = named("### Used most", false),
                                missing = named("### Used most", true);
    CHECK(most.size() == 64);
    for (const std::string &type : most) CHECK(read.contains(type));
    CHECK(missing.size() > 10);
    for (const std::string &type : missing) CHECK_FALSE(read.contains(type));
}

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
