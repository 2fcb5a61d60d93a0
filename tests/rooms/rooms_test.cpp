// Each folder includes only what docs/design.md allows: its rooms, "a → b → c" in lines that begin with four spaces.
#include "catch.hpp"
#include "places.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path source = LAMINA_SOURCE_DIR;

std::string text_of(const fs::path &file) {
    std::ostringstream out;
    out << std::ifstream(file).rdbuf();
    return out.str();
}

std::vector<std::string> words_in(const std::string &text) {
    std::vector<std::string> out;
    const std::regex word("[a-z_]+");
    for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) out.push_back(it->str());
    return out;
}

// What each room may use: the rooms behind it in a line, and what those may use.
class Rooms {
  public:
    explicit Rooms(const std::string &page) {
        std::istringstream lines(page);
        const std::string arrow = "→";
        for (std::string line; std::getline(lines, line);) {
            if (!line.starts_with("    ") || line.find(arrow) == std::string::npos) continue;
            std::vector<std::string> before;
            for (size_t at = 0; at != std::string::npos;) {
                const size_t next = line.find(arrow, at);
                const std::vector<std::string> these = words_in(line.substr(at, next - at));
                for (const std::string &room : before) below_[room].insert(these.begin(), these.end());
                before = these;
                at = next == std::string::npos ? next : next + arrow.size();
            }
        }
    }

    [[nodiscard]] bool may_use(const std::string &room, const std::string &other) const {
        if (room == other) return true;
        const auto below = below_.find(room);
        return below != below_.end() &&
               std::ranges::any_of(below->second, [&](const std::string &next) { return may_use(next, other); });
    }
    [[nodiscard]] bool has(const std::string &room) const {
        return below_.contains(room) ||
               std::ranges::any_of(below_, [&](const auto &b) { return b.second.contains(room); });
    }

  private:
    std::map<std::string, std::set<std::string>> below_;
};

Rooms rooms() { return Rooms(text_of(source / "docs" / "design.md")); }

// "<lamina/npy.hpp>", "\"plan/program.hpp\""
std::vector<std::string> includes_in(const std::string &text) {
    std::vector<std::string> out;
    const std::regex include("#include ([<\"][^>\"]+[>\"])");
    for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it) out.push_back((*it)[1]);
    return out;
}

// Includes of a file in runtime/ROOM that its room may not use.
std::vector<std::string> faults_of_room(const Rooms &rooms, const std::string &room, const std::string &text) {
    std::vector<std::string> out;
    for (const std::string &include : includes_in(text)) {
        const size_t slash = include.find('/');
        const std::string of = slash == std::string::npos ? "" : include.substr(1, slash - 1);
        const bool vulkan = include.starts_with("<vulkan") || include.starts_with("<volk");
        if ((include.starts_with('"') && rooms.has(of) && !rooms.may_use(room, of)) || (vulkan && room != "vulkan"))
            out.push_back(include);
    }
    return out;
}

// Those of a plugin that are neither the plugin API nor of the plugin itself, nor of the standard library.
std::vector<std::string> faults_of_plugin(const std::string &text) {
    std::vector<std::string> out;
    for (const std::string &include : includes_in(text)) {
        const bool api = include == "<lamina/plugin.h>" || include == "<lamina/plugin.hpp>" ||
                         include.starts_with("<lamina/plugin/");
        if (include.starts_with("<lamina/") && !api) out.push_back(include);
    }
    return out;
}

// Headers of an operating system, which only base/platform may use.
std::vector<std::string> faults_of_portable(const std::string &text) {
    static const std::regex system("<(unistd|fcntl|dlfcn|pthread|poll|signal|windows|sys/.*|netinet/.*|arpa/.*)\\.h>");
    std::vector<std::string> out;
    for (const std::string &include : includes_in(text))
        if (std::regex_match(include, system)) out.push_back(include);
    return out;
}

std::vector<fs::path> files_under(const fs::path &folder) {
    std::vector<fs::path> out;
    for (const auto &entry : fs::recursive_directory_iterator(source / folder))
        if (entry.path().extension() == ".cpp" || entry.path().extension() == ".hpp") out.push_back(entry.path());
    return out;
}

using Faults = std::vector<std::string>;

} // namespace

TEST_CASE("rooms: each includes only itself and those below it, and Vulkan's headers are in one alone") {
    const Rooms known = rooms();
    size_t files = 0;
    for (const fs::path &file : files_under("runtime")) {
        const std::string room = fs::relative(file, source / "runtime").begin()->string();
        INFO(file.string());
        CHECK(known.has(room));
        CHECK(faults_of_room(known, room, text_of(file)) == Faults());
        ++files;
    }
    CHECK(files > 300);
}

TEST_CASE("rooms: plugins see the plugin API alone") {
    for (const fs::path &file : files_under("plugins")) {
        INFO(file.string());
        CHECK(faults_of_plugin(text_of(file)) == Faults());
    }
}

TEST_CASE("rooms: only base/platform uses headers of an operating system") {
    for (const char *folder : {"runtime", "base", "serve", "cli", "plugins"})
        for (const fs::path &file : files_under(folder)) {
            if (file.string().find("/base/platform/") != std::string::npos) continue;
            INFO(file.string());
            CHECK(faults_of_portable(text_of(file)) == Faults());
        }
}

TEST_CASE("rooms: the README names every layer that comes with Lamina") {
    const std::string page = text_of(source / "README.md");
    for (const auto &entry : fs::directory_iterator(source / "plugins")) {
        const std::string name = entry.path().filename().string();
        if (!entry.is_directory() || name == "cpu_fallback") continue; // which is no layer
        INFO(name);
        CHECK(page.find("`" + name + "`") != std::string::npos);
    }
}

TEST_CASE("rooms: what is not allowed is found") {
    const Rooms known = rooms();
    const std::string text = "#include \"session/state.hpp\"\n#include \"abi/call.hpp\"\n#include <volk.h>\n";
    CHECK(faults_of_room(known, "plan", text) == Faults{"\"session/state.hpp\"", "<volk.h>"});
    CHECK(faults_of_room(known, "generation", text) == Faults{"<volk.h>"});
    CHECK(faults_of_room(known, "vulkan", "#include <vulkan/vulkan.h>\n#include \"cpu/rows.hpp\"") ==
          Faults{"\"cpu/rows.hpp\""});
    CHECK(faults_of_plugin("#include <lamina/plugin.h>\n#include <lamina/npy.hpp>\n") == Faults{"<lamina/npy.hpp>"});
    CHECK(faults_of_portable("#include <sys/mman.h>\n#include <csignal>\n") == Faults{"<sys/mman.h>"});
    CHECK_FALSE(known.may_use("abi", "plan"));
}
