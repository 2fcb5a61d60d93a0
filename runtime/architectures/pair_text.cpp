#include "architectures/pair_text.hpp"

#include "architectures/config.hpp"
#include "base/utf8.hpp"

#include <lamina/chat_template.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;

struct Role {
    const char *role, *part; // of a message, and of "pair" in model.json
};
constexpr std::array<Role, 3> roles{{{"system", "prompt"}, {"query", "first"}, {"document", "second"}}};

using Texts = std::array<std::string, roles.size()>;

// A text of the template, or one of `roles`.
struct Part {
    std::string text;
    std::optional<size_t> role = {};
};

// The variables of the template that the folder gives: "chat_template" of its "processing_kwargs".
ChatOptions options_of(const model::Chat &chat, const fs::path &folder) {
    ChatOptions out;
    out.add_generation_prompt = false;
    out.bos_token = chat.bos, out.eos_token = chat.eos;
    const fs::path file = folder / "sentence_bert_config.json";
    const JsonText document(text_of(file), file.string());
    constexpr const char *processing = "processing_kwargs", *variables = "chat_template";
    const auto given = Config(document.root()).object(processing);
    const auto found = given ? given->object(variables) : std::nullopt;
    if (!found) return out;
    for (const JsonView each : found->view().members()) {
        if (each.key() == "restore_suffix") continue; // Lamina always does
        if (each.key() == variables || each.key() == "max_length" || each.key() == "truncation")
            each.fail("is not supported");
        out.variables.emplace(each.key(), each.written());
    }
    return out;
}

class PairWriter {
  public:
    PairWriter(const model::Chat &chat, const fs::path &folder)
        : folder_(folder), template_(ChatTemplate::parse(chat.text, folder.string() + ": its chat template")),
          options_(options_of(chat, folder)) {}

    // The text that the template makes of these; without a prompt where the model is asked without one.
    [[nodiscard]] std::string written(const Texts &texts, bool prompted) const {
        std::vector<ChatMessage> messages;
        for (size_t i = prompted ? 0 : 1; i < roles.size(); ++i) messages.push_back({roles[i].role, texts[i]});
        return template_.render(messages, options_);
    }

    [[nodiscard]] std::vector<Part> parts(bool prompted) const {
        const Texts marks{"Aq7promptZ", "Bq7queryZ", "Cq7documentZ"}; // that no template has
        const std::string text = written(marks, prompted);
        std::vector<Part> out;
        for (size_t i = prompted ? 0 : 1; i < marks.size(); ++i)
            if (text.find(marks[i]) == std::string::npos) refuse(std::string("leaves out the ") + roles[i].role);
        for (size_t at = 0; at < text.size();) {
            size_t next = text.size(), which = 0;
            for (size_t i = 0; i < marks.size(); ++i)
                if (const size_t found = text.find(marks[i], at); found < next) next = found, which = i;
            if (next > at) out.push_back({text.substr(at, next - at)});
            if (next == text.size()) break;
            out.push_back({"", which});
            at = next + marks[which].size();
        }
        expect_same(out, {" a\n\nb ", "<b> \"c\" & {{d}}\t", "\n# 1\\n"}, prompted);
        expect_same(out, {"1", "", ""}, prompted);
        return out;
    }

  private:
    const fs::path &folder_;
    ChatTemplate template_;
    ChatOptions options_;

    void expect_same(const std::vector<Part> &parts, const Texts &texts, bool prompted) const {
        std::string joined;
        for (const Part &part : parts) joined += part.role ? texts[*part.role] : part.text;
        if (joined != written(texts, prompted)) refuse("changes texts that it writes");
    }

    [[noreturn]] void refuse(const std::string &why) const {
        throw Error(ErrorCode::input, folder_.string() + ": its chat template " + why +
                                          ", which is not supported for a reranker: expected one that writes the "
                                          "messages of the roles query and document, and a system's if there is one");
    }
};

Json json_of(const std::vector<Part> &parts) {
    Json out = Json::array();
    for (const Part &part : parts)
        if (part.role)
            out.push_back({{"of", roles[*part.role].part}});
        else
            out.push_back(part.text);
    return out;
}

} // namespace

bool makes_conversations(const fs::path &folder) {
    const fs::path file = folder / "sentence_bert_config.json";
    if (!has_file(file)) return false;
    const JsonText document(text_of(file), file.string());
    const auto kinds = Config(document.root()).object("modality_config");
    return kinds && kinds->has("message");
}

Json pair_block(const model::Chat &chat, const fs::path &folder, bool needs_prompt) {
    const PairWriter writer(chat, folder);
    Json out{{"plain", json_of(writer.parts(false))}};
    try {
        out["prompted"] = json_of(writer.parts(true));
    } catch (const Error &) { // templates need not take the message of a system
        if (needs_prompt) throw;
    }
    return out;
}

Json pair_block(std::string_view text, const std::string &place) {
    constexpr std::array<std::pair<std::string_view, const char *>, 2> places{
        {{"{query}", "first"}, {"{document}", "second"}}};
    const auto parts = [&](std::string_view rest, Json out) {
        while (!rest.empty()) {
            size_t at = rest.size();
            const std::pair<std::string_view, const char *> *next = nullptr;
            for (const auto &each : places)
                if (const size_t found = rest.find(each.first); found < at) at = found, next = &each;
            if (at != 0) out.push_back(std::string(rest.substr(0, at)));
            if (next == nullptr) break;
            out.push_back({{"of", next->second}});
            rest.remove_prefix(at + next->first.size());
        }
        return out;
    };
    for (const auto &[name, part] : places)
        if (text.find(name) == std::string_view::npos)
            throw Error(ErrorCode::input, place + ": expected a place " + in_quotes(std::string(name)));
    constexpr std::string_view instruct = "<Instruct>: ";
    const size_t begin = text.find(instruct), end = text.find('\n', begin == std::string_view::npos ? 0 : begin);
    Json out{{"plain", parts(text, Json::array())}};
    if (begin == std::string_view::npos || end == std::string_view::npos) return out;
    const std::string_view left = text.substr(begin, end - begin);
    if (std::ranges::any_of(places, [&](const auto &each) { return left.find(each.first) != left.npos; })) return out;
    Json prompted = parts(text.substr(0, begin + instruct.size()), Json::array());
    prompted.push_back({{"of", "prompt"}});
    out["prompted"] = parts(text.substr(end), std::move(prompted));
    return out;
}

} // namespace lamina::architectures
