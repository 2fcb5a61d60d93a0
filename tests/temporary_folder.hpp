// An empty folder for one test, removed with its contents at the end.
#pragma once

#include <lamina/error.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::random_device random;
        do path_ = std::filesystem::temp_directory_path() / ("lamina-test-" + std::to_string(random()));
        while (!std::filesystem::create_directory(path_)); // taken
    }
    TemporaryFolder(const TemporaryFolder &) = delete;
    TemporaryFolder &operator=(const TemporaryFolder &) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::filesystem::path &path() const { return path_; }
    [[nodiscard]] size_t entries() const {
        return static_cast<size_t>(
            std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
    }

    // Writes a file with these bytes and returns its path.
    std::filesystem::path write(const std::string &name, std::string_view bytes) const {
        std::ofstream out(path_ / name, std::ios::binary | std::ios::trunc);
        out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        if (!out.flush()) throw std::runtime_error("cannot write " + name);
        return path_ / name;
    }
    [[nodiscard]] std::string read(const std::string &name) const {
        std::ifstream in(path_ / name, std::ios::binary);
        if (!in) throw std::runtime_error("cannot read " + name);
        return {std::istreambuf_iterator<char>(in), {}};
    }

  private:
    std::filesystem::path path_;
};
