#include "base/model_path.hpp"

#include "base/file.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace lamina {
namespace {

namespace fs = std::filesystem;

fs::path hub_cache() {
    struct Place {
        const char *variable, *below;
    };
    constexpr std::array places{Place{"HF_HUB_CACHE", ""}, Place{"HF_HOME", "hub"},
                                Place{"XDG_CACHE_HOME", "huggingface/hub"}, Place{"HOME", ".cache/huggingface/hub"},
                                Place{"USERPROFILE", ".cache/huggingface/hub"}};
    for (const auto &[variable, below] : places)
        if (const char *value = std::getenv(variable); value != nullptr && *value != '\0')
            return *below == '\0' ? fs::path(value) : fs::path(value) / below;
    return {};
}

bool is_part_of_name(const std::string &part) {
    return !part.empty() && part.size() <= 96 && part.front() != '.' && part.front() != '-' &&
           part.find("..") == std::string::npos && std::ranges::all_of(part, [](unsigned char c) {
               return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
           });
}

bool is_there(const fs::path &path) {
    std::error_code error;
    return fs::exists(path, error);
}

// The folder of the newest version that was downloaded.
std::optional<fs::path> snapshot(const fs::path &cache, const std::string &repository) {
    const fs::path folder = cache / ("models--" + repository), main = folder / "refs" / "main";
    if (cache.empty() || !is_there(main)) return std::nullopt;
    const std::vector<std::byte> bytes = read_file(main, 4096, FileReader::Kind::ordinary);
    std::string commit(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    commit.erase(std::ranges::find_if(commit, [](unsigned char c) { return std::isspace(c) != 0; }), commit.end());
    if (!is_part_of_name(commit) || !is_there(folder / "snapshots" / commit)) return std::nullopt;
    return folder / "snapshots" / commit;
}

} // namespace

fs::path model_path(const fs::path &given) {
    if (given.empty()) throw Error(ErrorCode::input, "expected a file, a folder or a name, found an empty text");
    std::error_code why_not;
    if (fs::exists(given, why_not)) return given;
    const auto refuse = [&](const std::string &why) { throw Error(ErrorCode::input, given.string() + ": " + why); };
    if (why_not == std::errc::permission_denied) refuse(why_not.message());
    std::vector<std::string> parts;
    for (const fs::path &part : given) parts.push_back(part.string());
    const bool may_be_name = !parts.empty() && is_part_of_name(parts[0]);
    const fs::path cache = hub_cache();
    if (may_be_name && parts.size() == 1) // "gpt2"; those that have no owner are old
        if (const auto folder = snapshot(cache, parts[0])) return *folder;
    if (!may_be_name || parts.size() < 2 || !is_part_of_name(parts[1]))
        refuse("no such file or folder; models of Hugging Face are named ORG/NAME");

    fs::path file;
    for (size_t i = 2; i < parts.size(); ++i) file /= parts[i];
    const std::optional<fs::path> folder = snapshot(cache, parts[0] + "--" + parts[1]);
    if (folder && is_there(*folder / file)) return file.empty() ? *folder : *folder / file;
    if (is_there(parts[0])) refuse("no such file or folder"); // it was meant as a path
    const std::string download = "hf download " + parts[0] + "/" + parts[1] + (file.empty() ? "" : " " + file.string());
    refuse("no such file or folder, and not in Hugging Face's cache, " + cache.string() + "; '" + download +
           "' downloads it");
    return {};
}

fs::path last_name_of(const fs::path &path) {
    fs::path last = path.has_filename() ? path : path.parent_path();
    if (last.filename() == "." || last.filename() == "..")
        last = (fs::absolute(last) / "").lexically_normal().parent_path();
    const std::string repository = last.parent_path().parent_path().filename().string();
    if (last.parent_path().filename() != "snapshots" || !repository.starts_with("models--")) return last.filename();
    return repository.substr(repository.rfind("--") + 2);
}

} // namespace lamina
