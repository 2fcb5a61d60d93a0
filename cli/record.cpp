#include "record.hpp"

#include "record_script.hpp" // python/lamina/_record.py

#include "base/pipe_into.hpp"
#include "output.hpp"

#include <lamina/error.hpp>

#include <cstdlib>

namespace lamina::cli {

void record_with_transformers(const std::filesystem::path &model, const std::vector<std::string> &texts,
                              const std::filesystem::path &record) {
    const char *const named = std::getenv("LAMINA_PYTHON");
    const std::string python = named == nullptr || *named == '\0' ? "python3" : named;
    std::vector<std::string> arguments{"-", model.string(), ordinary_file(record, "--record").string()};
    arguments.insert(arguments.end(), texts.begin(), texts.end());
    constexpr int package_missing = 3;
    const int status = pipe_into(python, arguments, record_script);
    if (status == 0) return;
    const std::string advice = "expected a Python with the packages torch and transformers: name one in LAMINA_PYTHON, "
                               "or make one (python3 -m venv venv && venv/bin/pip install torch transformers)";
    if (status == -1 || status == 127) throw Error(ErrorCode::failure, "'" + python + "' cannot be run; " + advice);
    if (status == package_missing) throw Error(ErrorCode::failure, "'" + python + "' lacks a package; " + advice);
    throw Error(ErrorCode::failure, "transformers could not run " + model.string() +
                                        ": its message is above. 'lamina inspect' shows what Lamina reads");
}

} // namespace lamina::cli
