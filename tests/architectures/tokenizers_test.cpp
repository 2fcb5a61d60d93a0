// Tokenizers of folders that lack a tokenizer.json, or list tokens beside it, compared with transformers.
// tokenizers/make.py wrote them.
#include "catch.hpp"
#include "with_tokenizer.hpp"

#include "architectures/listed_tokens.hpp"
#include "architectures/made_tokenizer.hpp"

#include <lamina/convert.hpp>
#include <lamina/inspect.hpp>
#include <lamina/texts.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>

using namespace lamina;
using matchers::contains;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path folders = test::architectures / "tokenizers";
using Ids = std::vector<int32_t>;

Tokenizer made(const fs::path &folder) {
    if (fs::exists(folder / "tokenizer.json"))
        return architectures::with_listed_tokens(Tokenizer::load(folder), folder, INT32_MAX);
    const fs::path config = folder / "config.json";
    const std::string type = fs::exists(config) ? test::json_of(config)["model_type"] : "bert";
    return Tokenizer::parse(architectures::made_tokenizer(folder, type).value(), folder.string());
}

} // namespace

TEST_CASE("tokenizers: files beside or without a tokenizer.json give the ids that transformers gives") {
    const json expected = test::json_of(folders / "expected.json");
    const auto texts = expected["texts"].get<std::vector<std::string>>();
    const auto pairs = expected["text_pairs"].get<std::vector<std::pair<std::string, std::string>>>();
    CHECK(expected["folders"].size() > 8);
    for (const auto &[name, results] : expected["folders"].items()) {
        const Tokenizer tokenizer = made(folders / name);
        for (size_t i = 0; i < texts.size(); ++i) {
            INFO(name << ": " << texts[i]);
            const Encoding found = tokenizer.encode(texts[i]);
            CHECK(found.ids == results["ids"][i].get<Ids>());
            CHECK(tokenizer.decode(found.ids) == results["decoded"][i].get<std::string>());
        }
        for (size_t i = 0; i < pairs.size(); ++i) {
            INFO(name << ": pair " << i);
            const Encoding found = tokenizer.encode(pairs[i].first, pairs[i].second);
            CHECK(found.ids == results["pairs"][i][0].get<Ids>());
            CHECK(found.types == results["pairs"][i][1].get<Ids>());
        }
    }
}

TEST_CASE("tokenizers: of RWKV's list, tokens that files name keep their ids, and token 0 is what a file calls it") {
    const TemporaryFolder folder;
    fs::copy(folders / "rwkv", folder.path(), fs::copy_options::recursive);
    const fs::path list = folder.path() / "rwkv_vocab_v20230424.txt";
    std::ifstream lines(list);
    const auto count = static_cast<int32_t>(std::count(std::istreambuf_iterator<char>(lines), {}, '\n'));
    std::ofstream(list, std::ios::app) << count + 1 << " b'\\xe2\\x83' 2\n"; // part of a character
    (void)folder.write("tokenizer_config.json", R"({"tokenizer_class": "RwkvTokenizer", "eos_token": "\n\n",
        "bos_token": "<s>", "added_tokens_decoder": {"0": {"content": "<s>", "special": true}}})");
    const Tokenizer tokenizer = made(folder.path());
    CHECK(tokenizer.encode("\n\n").ids == Ids{259});
    CHECK(tokenizer.encode("<s>").ids == Ids{0});
    CHECK(tokenizer.encode("\xE2\x83\xBF").ids == Ids{count + 1, 0xBF + 1});
    CHECK(tokenizer.decode(Ids{259, 11}) == "\n\n\n"); // it is no special token
    (void)folder.write("tokenizer_config.json", R"({"add_bos_token": true})");
    CHECK(made(folder.path()).encode("\n").ids == Ids{0, 11});
    fs::rename(list, folder.path() / "rwkv_vocab_v20250609.txt"); // a later list
    CHECK(made(folder.path()).encode("\n").ids == Ids{0, 11});
    for (const char *line :
         {"7 'ab'", "x 'ab' 2", "7 'ab' 3", "7 ab 2", "7 'a\\q' 2", "7 '' 0", "-7 'ab' 2", "1 'ab' 2"}) {
        (void)folder.write("rwkv_vocab_v20250609.txt", "1 '\\x00' 1\n" + std::string(line) + "\n");
        CHECK_THROWS_WITH(made(folder.path()), contains("rwkv_vocab_v20250609.txt, line 2: "));
    }
}

TEST_CASE("tokenizers: a model with a vocab.txt takes texts, and after conversion, too") {
    const WithTokenizer model("sentences");
    fs::remove(model.path() / "tokenizer.json");
    std::string words_of_it;
    for (int32_t i = 0; i < words; ++i)
        words_of_it += (i == 0 ? "[UNK]" : i == 1 ? "[CLS]" : i == 2 ? "[SEP]" : "w" + std::to_string(i)) + "\n";
    model.write("vocab.txt", words_of_it);
    CHECK(tokenize(test::runtime().load(model.path()), {"w7 W9"}).ids == std::vector<Ids>{{1, 7, 9, 2}});
    const Model loaded = test::runtime().load(model.path());
    CHECK(token_ids(loaded, "w7 W9") == Ids{1, 7, 9, 2});
    CHECK(token_ids(loaded, "w7 W9", false) == Ids{7, 9});
    CHECK(detokenize(loaded, Ids{1, 7, 9, 2}) == "w7 w9");
    CHECK(detokenize(loaded, Ids{1, 7, 9, 2}, false) == "[CLS] w7 w9 [SEP]");
    const TemporaryFolder folder;
    convert(test::runtime(), model.path(), {}).model.save(folder.path() / "converted");
    CHECK(tokenize(test::runtime().load(folder.path() / "converted"), {"w7 W9"}).ids == std::vector<Ids>{{1, 7, 9, 2}});
    model.write("vocab.txt", "a\nb\n");
    CHECK_THAT(message_of([&] { (void)test::runtime().load(model.path()); }),
               contains("the tokenizer has no unk_token: expected '[UNK]' in its vocabulary"));
}

TEST_CASE("tokenizers: a model with a tokenizer.model takes texts, and after conversion, too; bad ones are refused") {
    const WithTokenizer model("llama_texts");
    const fs::path tokenizer = model.path() / "tokenizer.model";
    fs::remove(model.path() / "tokenizer.json");
    const auto refusal = [&] { return message_of([&] { (void)test::runtime().load(model.path()); }); };
    fs::copy(folders / "spm_llama" / "tokenizer.model", tokenizer);
    model.write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer", "add_bos_token": true})");
    const Ids ids = made(folders / "spm_llama").encode("the fox").ids;
    const Model loaded = test::runtime().load(model.path());
    CHECK(token_ids(loaded, "the fox") == ids);
    CHECK(token_ids(loaded, "the fox", false) == Ids(ids.begin() + 1, ids.end()));
    CHECK(detokenize(loaded, ids) == "the fox");
    CHECK(detokenize(loaded, ids, false).starts_with("<s>"));
    const std::vector<TokenText> texts = token_texts(loaded);
    std::string bytes;
    for (const int32_t id : ids) bytes += texts.at(static_cast<size_t>(id)).bytes;
    CHECK(bytes == "<s> the fox");
    CHECK(texts.at(static_cast<size_t>(ids.at(1))).entry.starts_with("▁"));
    CHECK(tokenize(test::runtime().load(model.path()), {"the fox"}).ids == std::vector<Ids>{ids});
    const TemporaryFolder folder;
    convert(test::runtime(), model.path(), {}).model.save(folder.path() / "converted");
    CHECK(tokenize(test::runtime().load(folder.path() / "converted"), {"the fox"}).ids == std::vector<Ids>{ids});
    model.write("tokenizer_config.json", R"({"tokenizer_class": "CamembertTokenizer"})");
    const auto without = inspect(test::runtime().load(model.path()));
    CHECK_FALSE(without.generation);
    REQUIRE(without.notes.size() == 1);
    CHECK_THAT(without.notes.front(), contains("without texts: 'CamembertTokenizer' is not supported for a Sentence"));
    model.write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer"})");
    fs::resize_file(tokenizer, 1000);
    CHECK_THAT(refusal(), contains("tokenizer.model: not a SentencePiece model, or cut short"));
    fs::copy(folders / "spm_t5" / "spiece.model", tokenizer, fs::copy_options::overwrite_existing);
    fs::remove(model.path() / "tokenizer_config.json");
    CHECK_THAT(refusal(),
               contains("tokenizer.model: a Unigram model is not supported for a tokenizer without a class"));
}

TEST_CASE("tokenizers: of models of some types, the class that their files name does not count") {
    const TemporaryFolder folder;
    fs::copy(folders / "spm_ernie" / "tokenizer.model", folder.path() / "tokenizer.model");
    const auto plain = architectures::made_tokenizer(folder.path(), "mistral");
    REQUIRE(plain);
    for (const char *name : {"LlamaTokenizer", "Ernie4_5_Tokenizer"}) {
        folder.write("tokenizer_config.json", json{{"tokenizer_class", name}}.dump());
        for (const char *type : {"ernie4_5", "ernie4_5_moe", "glm4", "granite", "ministral3", "mistral", "mixtral",
                                 "modernbert", "olmo2", "phi3", "stablelm"}) {
            INFO(name << " of " << type);
            CHECK(architectures::made_tokenizer(folder.path(), type) == plain);
        }
        CHECK_FALSE(architectures::made_tokenizer(folder.path(), "llama") == plain);
    }
}

TEST_CASE("tokenizers: models whose files name no class have that of their type") {
    for (const auto &[name, file, types] :
         std::initializer_list<std::tuple<const char *, const char *, std::vector<const char *>>>{
             {"spm_t5", "spiece.model", {"t5", "mt5"}},
             {"spm_gemma", "tokenizer.model", {"gemma2", "gemma", "gemma3", "gemma3_text"}},
             {"spm_pegasus", "spiece.model", {"pegasus"}},
             {"spm_xlm_roberta", "sentencepiece.bpe.model", {"xlm-roberta", "gte"}}}) {
        const TemporaryFolder folder;
        fs::copy(folders / name / file, folder.path() / file);
        const auto first = architectures::made_tokenizer(folder.path(), types.front());
        REQUIRE(first);
        for (const char *type : types) {
            INFO(type);
            CHECK(architectures::made_tokenizer(folder.path(), type) == first);
        }
    }
    const TemporaryFolder folder;
    fs::copy(folders / "spm_t5" / "spiece.model", folder.path() / "spiece.model");
    CHECK_FALSE(architectures::made_tokenizer(folder.path(), "bigbird_pegasus"));
    (void)folder.write("tokenizer_config.json", R"({"tokenizer_class": "ReformerTokenizer"})");
    CHECK_FALSE(architectures::made_tokenizer(folder.path(), "t5"));
}

TEST_CASE("tokenizers: config.json names a class and special_tokens_map.json a token where no other file does") {
    const TemporaryFolder folder;
    fs::copy(folders / "spm_mbart_50" / "sentencepiece.bpe.model", folder.path() / "sentencepiece.bpe.model");
    (void)folder.write("config.json", R"({"model_type": "mbart", "tokenizer_class": "MBart50Tokenizer"})");
    (void)folder.write("tokenizer_config.json", R"({"src_lang": "de_DE", "mask_token": "<mask>"})");
    CHECK(architectures::made_tokenizer(folder.path(), "mbart") ==
          architectures::made_tokenizer(folders / "spm_mbart_50", "mbart"));
    (void)folder.write("tokenizer_config.json", R"({"tokenizer_class": "T5Tokenizer"})");
    CHECK_FALSE(architectures::made_tokenizer(folder.path(), "mbart"));

    const TemporaryFolder pegasus;
    fs::copy(folders / "spm_pegasus" / "spiece.model", pegasus.path() / "spiece.model");
    (void)pegasus.write("config.json", R"({"model_type": "pegasus"})");
    (void)pegasus.write("special_tokens_map.json", R"({"mask_token": "<mask_2>"})");
    CHECK(made(pegasus.path()).encode("the fox").ids == made(folders / "spm_pegasus").encode("the fox").ids);
}

TEST_CASE(
    "tokenizers: a language that mBART-50 does not have, or a bad number of Pegasus' tokens, is refused by name") {
    const TemporaryFolder folder;
    const auto refusal = [&](const char *name, const char *file, const char *settings) {
        fs::copy(folders / name / file, folder.path() / file, fs::copy_options::overwrite_existing);
        (void)folder.write("tokenizer_config.json", settings);
        return message_of([&] { (void)architectures::made_tokenizer(folder.path(), ""); });
    };
    CHECK_THAT(refusal("spm_mbart_50", "sentencepiece.bpe.model",
                       R"({"tokenizer_class": "MBart50Tokenizer", "src_lang": "de"})"),
               contains("tokenizer_config.json: /src_lang: expected a language of mBART-50, such as \"en_XX\""));
    CHECK_THAT(refusal("spm_pegasus", "spiece.model", R"({"tokenizer_class": "PegasusTokenizer", "offset": 10001})"),
               contains("/offset: expected at most 10000"));
    CHECK_THAT(
        refusal("spm_pegasus", "spiece.model", R"({"tokenizer_class": "PegasusTokenizer", "unk_token": "<none>"})"),
        contains("spiece.model: expected the piece '<none>'"));
}

TEST_CASE("tokenizers: the classes of translators put a language and an end around texts, as transformers does") {
    const TemporaryFolder folder;
    json file = json::parse(tokenizer(false));
    const std::vector<std::string> names{"</s>", "eng_Latn", "deu_Latn", "en_XX", "de_DE", "<e>"};
    for (size_t i = 0; i < names.size(); ++i)
        file["added_tokens"].push_back({{"id", words + i},
                                        {"content", names[i]},
                                        {"single_word", false},
                                        {"lstrip", false},
                                        {"rstrip", false},
                                        {"normalized", false},
                                        {"special", true}});
    file["post_processor"] = {{"type", "BertProcessing"}, {"sep", {"w2", 2}}, {"cls", {"w1", 1}}};
    (void)folder.write("tokenizer.json", file.dump() + std::string(17 << 20, ' ')); // as large as NLLB's
    const auto made_text = [&](const json &settings, const std::string &type, const json &config) {
        (void)folder.write("tokenizer_config.json", settings.dump());
        (void)folder.write("config.json", config.dump());
        return architectures::made_tokenizer(folder.path(), type);
    };
    const auto found = [&](const json &settings, const std::string &type = "m2m_100",
                           const json &config = json::object()) {
        return Tokenizer::parse(made_text(settings, type, config).value(), "made").encode("w7", "w8").tokens;
    };
    using Tokens = std::vector<std::string>;
    const json nllb{{"tokenizer_class", "NllbTokenizer"}};
    json german = nllb;
    german["src_lang"] = "deu_Latn";
    CHECK(found(nllb) == Tokens{"eng_Latn", "w7", "w8", "</s>"});
    CHECK(found(german) == Tokens{"deu_Latn", "w7", "w8", "</s>"});
    german["legacy_behaviour"] = true;
    CHECK(found(german) == Tokens{"w7", "w8", "</s>", "deu_Latn"});
    CHECK(found(json::object(), "m2m_100", nllb) == Tokens{"eng_Latn", "w7", "w8", "</s>"});
    const json language{{"src_lang", "de_DE"}};
    CHECK(found(language, "mbart") == Tokens{"w7", "w8", "</s>", "de_DE"});
    CHECK(found({{"tokenizer_class", "MBartTokenizerFast"}}, "mbart") == Tokens{"w7", "w8", "</s>", "en_XX"});
    CHECK(found(language, "mbart", {{"tokenizer_class", "MBart50Tokenizer"}}) == Tokens{"de_DE", "w7", "w8", "</s>"});
    (void)folder.write("special_tokens_map.json", R"({"eos_token": {"content": "<e>"}})");
    CHECK(found(nllb) == Tokens{"eng_Latn", "w7", "w8", "<e>"});

    CHECK_FALSE(made_text({{"tokenizer_class", "PreTrainedTokenizerFast"}}, "mbart", json::object()));
    CHECK_FALSE(made_text(json::object(), "m2m_100", json::object()));
    german["src_lang"] = "w7";
    CHECK_THAT(message_of([&] { (void)found(german); }),
               contains("tokenizer_config.json: /src_lang: expected a language"));
    file["added_tokens"].erase(1);
    (void)folder.write("tokenizer.json", file.dump());
    CHECK_FALSE(made_text(nllb, "m2m_100", json::object())); // transformers would take the unknown token
}

TEST_CASE("tokenizers: a converted translator keeps the language of its source") {
    const WithTokenizer model("m2m_100");
    json file = json::parse(tokenizer(false));
    for (const int32_t i : {0, 1})
        file["added_tokens"].push_back({{"id", words - 2 + i},
                                        {"content", "w" + std::to_string(words - 2 + i)},
                                        {"single_word", false},
                                        {"lstrip", false},
                                        {"rstrip", false},
                                        {"normalized", false},
                                        {"special", true}});
    model.write("tokenizer.json", file.dump());
    model.write("tokenizer_config.json",
                R"({"tokenizer_class": "NllbTokenizer", "src_lang": "w51", "eos_token": "w52"})");
    const Ids expected{51, 7, 52};
    CHECK(token_ids(test::runtime().load(model.path()), "w7") == expected);
    const TemporaryFolder folder;
    convert(test::runtime(), model.path(), {}).model.save(folder.path() / "converted");
    CHECK(token_ids(test::runtime().load(folder.path() / "converted"), "w7") == expected);
}

TEST_CASE(
    "tokenizers: tokens listed beside a tokenizer.json count, also after conversion, as far as the model has them") {
    const WithTokenizer model("llama");
    json config = R"({"added_tokens_decoder": {"53": {"content": "<none>", "special": true}}})"_json;
    model.write("tokenizer_config.json", config.dump());
    CHECK(token_ids(test::runtime().load(model.path()), "w7 <none>") == Ids{7, 0}); // the model has 53
    json whole = json::parse(tokenizer(false));
    whole["model"]["vocab"].erase("w52");
    model.write("tokenizer.json", whole.dump());
    config["added_tokens_decoder"] = {{"52", {{"content", "<turn>"}, {"special", true}}},
                                      {"60", {{"content", "<far>"}}}};
    model.write("tokenizer_config.json", config.dump());
    CHECK(token_ids(test::runtime().load(model.path()), "w7<turn>w9 <far>") == Ids{7, 52, 9, 0});
    const TemporaryFolder folder;
    convert(test::runtime(), model.path(), {}).model.save(folder.path() / "converted");
    CHECK(token_ids(test::runtime().load(folder.path() / "converted"), "w7<turn>w9 <far>") == Ids{7, 52, 9, 0});
    whole["added_tokens"] = {{{"id", 52},
                              {"content", "<a>"},
                              {"single_word", false},
                              {"lstrip", false},
                              {"rstrip", false},
                              {"normalized", false},
                              {"special", true}},
                             {{"id", 53},
                              {"content", "<b>"},
                              {"single_word", false},
                              {"lstrip", false},
                              {"rstrip", false},
                              {"normalized", false},
                              {"special", true}}};
    model.write("tokenizer.json", whole.dump());
    CHECK(token_ids(test::runtime().load(model.path()), "w7<a> <b>") == Ids{7, 52, 0}); // a folder that was refused
}
