// Answers to questions, compared with the pipeline of transformers. answers/make.py wrote the models.
#include "catch.hpp"
#include "folders.hpp"

#include <lamina/convert.hpp>
#include <lamina/texts.hpp>

using namespace lamina;
using matchers::contains;
using nlohmann::json;
using test::json_of;
using test::runtime;
using test::session_of;
namespace fs = std::filesystem;

namespace {

const fs::path answer_folders = test::architectures / "answers";

std::vector<TextPair> pairs_of(const json &list) {
    std::vector<TextPair> out;
    for (const json &pair : list) out.push_back({pair[0], pair[1]});
    return out;
}

AnswerOptions options_of(const json &setting) {
    return {.best = setting.value("top_k", size_t{1}),
            .longest = setting.value("max_answer_len", size_t{15}),
            .may_be_none = setting.value("handle_impossible_answer", false)};
}

// transformers also gives answers that are impossible, with a score of 0, where there are not enough others.
void check_answers(const std::vector<Answer> &found, const json &wanted) {
    size_t i = 0;
    for (const json &each : wanted) {
        if (each["score"] == 0) continue;
        REQUIRE(i < found.size());
        const Answer &answer = found[i++];
        CHECK(answer.text == each["answer"].get<std::string>());
        CHECK(answer.characters == TextRange{each["start"], each["end"]});
        CHECK_THAT(answer.score, matchers::within_abs(each["score"].get<double>(), 1e-5));
    }
    CHECK(found.size() == i);
}

} // namespace

TEST_CASE("answers: they are those of transformers, also in texts longer than the model takes, and after conversion") {
    const json all = json_of(answer_folders / "expected.json");
    const std::vector<TextPair> pairs = pairs_of(all["pairs"]);
    CHECK(all["answers"].size() == 3);
    for (const auto &[name, by_setting] : all["answers"].items()) {
        const TemporaryFolder folder;
        convert(runtime(), answer_folders / name, {}).model.save(folder.path() / "converted");
        for (const fs::path &path : {answer_folders / name, folder.path() / "converted"}) {
            Session session = session_of(path);
            for (size_t s = 0; s < by_setting.size(); ++s) {
                const auto found = answer(session, pairs, options_of(all["settings"][s]));
                REQUIRE(found.size() == pairs.size());
                for (size_t i = 0; i < pairs.size(); ++i) {
                    INFO(path << ", setting " << s << ", question " << i);
                    check_answers(found[i], by_setting[s][i]);
                }
            }
        }
    }
}

TEST_CASE("answers: questions without a text, or too long for one, are refused, as are texts alone") {
    Session session = session_of(answer_folders / "bert");
    const auto refusal = [&](const TextPair &pair) { return message_of([&] { (void)answer(session, {pair}); }); };
    CHECK_THAT(refusal({"who?", ""}), contains("question 1: expected a question and a text that are not empty"));
    CHECK_THAT(refusal({"", "the fox"}), contains("question 1: expected a question and a text that are not empty"));
    std::string question;
    for (int i = 0; i < 20; ++i) question += "the fox ";
    CHECK_THAT(refusal({question, question}),
               contains("which leaves no room for the text; the model takes 40 of both"));
    CHECK_THAT(message_of([&] { (void)classify(session, {"the fox"}); }), contains("does not give classes of texts"));
    CHECK_THAT(message_of([&] {
                   (void)answer(session, {{"who?", "the fox"}}, {.best = 0});
               }),
               contains("best: expected at least 1, found 0"));
}
