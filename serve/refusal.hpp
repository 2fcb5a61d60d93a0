// Why a request gets no answer, and how the two protocols say it.
#pragma once

#include "http.hpp"

#include <lamina/error.hpp>

#include <exception>
#include <stdexcept>
#include <string>

namespace lamina::serve {

// A refusal that is not about what a request says, or about one field of it, or one that clients of OpenAI know by a
// code. All else is lamina::Error.
class Refusal : public std::runtime_error {
  public:
    Refusal(int status, const std::string &message, std::string field = "", std::string code = "")
        : std::runtime_error(message), status_(status), field_(std::move(field)), code_(std::move(code)) {}
    [[nodiscard]] int status() const noexcept { return status_; }
    [[nodiscard]] const std::string &field() const noexcept { return field_; }
    [[nodiscard]] const std::string &code() const noexcept { return code_; }

  private:
    int status_;
    std::string field_, code_;
};

// The status of an exception: 400 for what the client can mend, 503 where there is no memory, else 500.
[[nodiscard]] int status_of(const std::exception &why);

// Under /v2 {"error": "MESSAGE"}, under /v1/messages as Anthropic has it, elsewhere as OpenAI has it: {"error":
// {"message", "type", "param", "code"}}.
[[nodiscard]] Response refusal(const std::string &path, int status, const std::string &message,
                               const std::string &field = "", const std::string &code = "");
// `message`: what the client is told of `why`.
[[nodiscard]] Response refusal(const std::string &path, const std::exception &why, const std::string &message);
// `text` with `to` wherever it has `from`.
[[nodiscard]] std::string replaced(std::string text, const std::string &from, const std::string &to);
// `text` with `name` wherever it has `path`, or a file below it, and not merely a longer name with these letters.
[[nodiscard]] std::string with_name(std::string text, std::string path, const std::string &name);

// The JSON of the error alone, of OpenAI's API and of Anthropic's: {"type": "error", "error": {"type", "message"}}.
[[nodiscard]] std::string openai_error(int status, const std::string &message, const std::string &field,
                                       const std::string &code);
[[nodiscard]] std::string anthropic_error(int status, const std::string &message);

} // namespace lamina::serve
