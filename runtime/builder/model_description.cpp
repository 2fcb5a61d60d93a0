// ModelDescription::save: a model folder, written so that it never holds half a model.
#include <lamina/model_description.hpp>

#include "base/file.hpp"
#include "model/safetensors.hpp"

#include <system_error>
#include <vector>

#include <unistd.h>

namespace lamina {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const fs::path &folder, const std::error_code &reason) {
    throw Error(ErrorCode::failure, folder.string() + ": cannot be written: " + reason.message());
}

// A folder beside the one that is to be, removed with what is left in it, and with the folders around it that were made
// for it and hold nothing.
class Workshop {
  public:
    explicit Workshop(const fs::path &folder) : path_(folder.string() + "." + std::to_string(::getpid()) + ".tmp") {
        std::error_code error;
        for (fs::path around = path_.parent_path(); !around.empty() && !fs::exists(around, error);
             around = around.parent_path())
            around_.push_back(around);
        fs::create_directories(path_, error);
        if (!error) return;
        clean();
        cannot_write(folder, error);
    }
    Workshop(const Workshop &) = delete;
    Workshop &operator=(const Workshop &) = delete;
    ~Workshop() { clean(); }
    [[nodiscard]] const fs::path &path() const { return path_; }

  private:
    fs::path path_;
    std::vector<fs::path> around_; // innermost first

    void clean() const {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
        for (const fs::path &folder : around_) fs::remove(folder, ignored); // those that are not empty stay
    }
};

// model.json goes first and comes last: without it the folder is no model.
void replace_files(const fs::path &from, const fs::path &folder) {
    std::error_code error;
    fs::remove(folder / "model.json", error);
    if (error) cannot_write(folder, error);
    const auto move = [&](const fs::path &name) {
        fs::rename(from / name, folder / name, error);
        if (error) cannot_write(folder / name, error);
    };
    for (const fs::directory_entry &file : fs::directory_iterator(from))
        if (file.path().filename() != "model.json") move(file.path().filename());
    move("model.json");
}

} // namespace

void ModelDescription::save(const fs::path &folder, bool replace,
                            const std::function<void(size_t done, size_t all)> &progress) const {
    std::error_code error;
    // "models/new/" is the folder "new" in "models".
    const fs::path target = folder.has_filename() ? folder : folder.parent_path();
    const fs::file_status status = fs::status(target, error);
    if (fs::exists(status) && !fs::is_directory(status))
        throw Error(ErrorCode::failure, target.string() + ": cannot be written: there is a file of that name");
    const bool filled = fs::is_directory(status) && !fs::is_empty(target, error);
    if (filled && !replace)
        throw Error(ErrorCode::usage,
                    target.string() + ": not empty; choose another folder, or have its model replaced");

    const Workshop workshop(target);
    model::Safetensors::write(workshop.path() / "model.safetensors", weights, {}, progress);
    for (const auto &[file, text] : vocabularies) {
        if (fs::path(file).filename() != file)
            throw Error(ErrorCode::usage, "vocabulary '" + file + "': expected the name of a file in the folder");
        write_file(workshop.path() / file, text);
    }
    write_file(workshop.path() / "model.json", json);
    if (filled) return replace_files(workshop.path(), target);
    fs::rename(workshop.path(), target, error); // over an empty folder, too
    if (error) cannot_write(target, error);
}

} // namespace lamina
