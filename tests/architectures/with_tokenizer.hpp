// The tiny models of this folder, with a tokenizer.
#pragma once

#include "folders.hpp"

#include <lamina/lamina.hpp>

#include <filesystem>
#include <string>

inline constexpr int32_t words = 53; // of the models' vocabularies

// Words "w0" to "w52" between spaces; BERT puts a text between w1 and w2.
inline std::string tokenizer(bool framed) {
    nlohmann::json vocabulary;
    for (int32_t i = 0; i < words; ++i) vocabulary["w" + std::to_string(i)] = i;
    nlohmann::json out{{"version", "1.0"},
                       {"truncation", nullptr},
                       {"padding", nullptr},
                       {"added_tokens", nlohmann::json::array()},
                       {"normalizer", nullptr},
                       {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                       {"post_processor", nullptr},
                       {"decoder", nullptr},
                       {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w0"}}}};
    if (framed) out["post_processor"] = {{"type", "BertProcessing"}, {"sep", {"w2", 2}}, {"cls", {"w1", 1}}};
    return out.dump();
}

// One of models/ with a tokenizer, and with these changes to its config.json.
class WithTokenizer {
  public:
    explicit WithTokenizer(const std::string &name, const nlohmann::json &change = nlohmann::json::object()) {
        const std::filesystem::path from = test::architectures / "models" / name;
        std::filesystem::copy(from, folder_.path(), std::filesystem::copy_options::recursive);
        nlohmann::json config = test::json_of(from / "config.json");
        config.update(change);
        folder_.write("config.json", config.dump());
        folder_.write("tokenizer.json", tokenizer(config["model_type"] == "bert"));
    }
    [[nodiscard]] const std::filesystem::path &path() const { return folder_.path(); }
    void write(const std::string &name, const std::string &text) const { (void)folder_.write(name, text); }
    [[nodiscard]] lamina::Session session() const { return test::session_of(folder_.path()); }

  private:
    TemporaryFolder folder_;
};
