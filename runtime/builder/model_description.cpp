// ModelDescription::save: writes a model folder, which never holds an incomplete model.
#include <lamina/model_description.hpp>

#include "base/file.hpp"
#include "base/json_reader.hpp"
#include "base/temporary.hpp"
#include "model/safetensors.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

namespace lamina {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const fs::path &folder, const std::error_code &reason) {
    throw Error(ErrorCode::failure, folder.string() + ": cannot be written: " + reason.message());
}

// The canonical path of a folder, whether it exists or not: of ".", "models/new/" or a link.
fs::path folder_at(const fs::path &path) {
    std::error_code failed; // writing to the path gives a better error
    const fs::path whole = fs::absolute(path, failed), found = fs::weakly_canonical(whole, failed);
    const fs::path folder = (failed ? whole : found).lexically_normal();
    return folder.has_filename() ? folder : folder.parent_path();
}

// A temporary folder next to the target. Its destructor removes it with its contents, and also the parent folders that
// were created for it and are empty.
class Workshop {
  public:
    explicit Workshop(const fs::path &folder) {
        std::error_code error;
        for (fs::path around = folder.parent_path(); !around.empty() && !fs::exists(around, error);
             around = around.parent_path())
            around_.push_back(around);
        fs::create_directories(folder.parent_path(), error);
        try {
            if (!error) temporary_.emplace(folder, Temporary::Kind::folder);
        } catch (const std::system_error &e) {
            error = e.code();
        }
        if (!error) return;
        clean();
        cannot_write(folder, error);
    }
    Workshop(const Workshop &) = delete;
    Workshop &operator=(const Workshop &) = delete;
    ~Workshop() { clean(); }
    [[nodiscard]] const fs::path &path() const { return temporary_->path(); }
    void rename() { temporary_->rename(); }

  private:
    std::optional<Temporary> temporary_;
    std::vector<fs::path> around_; // innermost first

    void clean() {
        temporary_.reset();
        std::error_code ignored;
        for (const fs::path &folder : around_) fs::remove(folder, ignored); // keeps folders that are not empty
    }
};

// The files of the vocabularies that a folder's model.json names. None if it cannot be read.
std::set<std::string> vocabularies_of(const fs::path &folder) {
    constexpr uint64_t largest = 64u << 20;
    std::set<std::string> out;
    try {
        const std::vector<std::byte> bytes = read_file(folder / "model.json", largest);
        const JsonText document({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, "model.json");
        const JsonView generation = document.root().at("generation");
        for (const char *side : {"source", "target"}) {
            if (!generation.has(side)) continue;
            const JsonView codec = generation.at(side);
            const std::string file(codec.at(codec.has("tokenizer") ? "tokenizer" : "vocabulary").string());
            const bool inside = fs::path(file).filename() == file && file.find('\0') == std::string::npos;
            if (inside && file != "." && file != "..") out.insert(file);
        }
    } catch (const Error &) { // no model.json, or an invalid one
    }
    return out;
}

// model.json is removed first and written last, because without it the folder is not a model. The old model's
// vocabularies are removed, too; files that it does not name are not touched.
void replace_files(const fs::path &from, const std::set<std::string> &files, const fs::path &folder) {
    std::error_code error;
    const auto move = [&](const fs::path &name) {
        fs::rename(from / name, folder / name, error);
        if (error) cannot_write(folder / name, error);
    };
    std::set<std::string> stale = vocabularies_of(folder);
    fs::remove(folder / "model.json", error);
    if (error) cannot_write(folder, error);
    for (const std::string &file : files) {
        stale.erase(file);
        if (file != "model.json") move(file);
    }
    for (const std::string &file : stale) {
        if (fs::is_directory(fs::symlink_status(folder / file, error))) continue;
        fs::remove(folder / file, error);
        if (error) cannot_write(folder / file, error);
    }
    move("model.json");
}

} // namespace

void ModelDescription::save(const fs::path &folder, bool replace,
                            const std::function<void(size_t done, size_t all)> &progress) const {
    std::error_code error;
    const fs::path target = folder_at(folder);
    const fs::file_status status = fs::status(target, error);
    if (fs::exists(status) && !fs::is_directory(status))
        throw Error(ErrorCode::failure, target.string() + ": cannot be written: there is a file of that name");
    if (fs::is_directory(status) && !fs::is_empty(target, error) && !replace)
        throw Error(ErrorCode::usage,
                    target.string() +
                        ": not empty; choose another folder, empty this one, or have save() replace the model in it");

    Workshop workshop(target);
    model::write_safetensors(workshop.path() / "model.safetensors", weights, {}, progress);
    std::set<std::string> files{"model.safetensors"};
    for (const auto &[file, text] : vocabularies) {
        if (fs::path(file).filename() != file)
            throw Error(ErrorCode::usage, "vocabulary '" + file + "': expected the name of a file in the folder");
        write_file(workshop.path() / file, text);
        files.insert(file);
    }
    write_file(workshop.path() / "model.json", json);
    // An existing folder is kept, even if empty, because a shell may have it as its current folder.
    if (fs::is_directory(status)) return replace_files(workshop.path(), files, target);
    try {
        workshop.rename();
    } catch (const std::system_error &e) {
        cannot_write(target, e.code());
    }
}

} // namespace lamina
