#include "reading_run.hpp"

#include "interrupt.hpp"
#include "table.hpp"
#include "vectors.hpp"

namespace lamina::cli {
namespace {

// Two texts with a tab between them.
std::optional<TextPair> pair_of(const std::string &line) {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos || line.find('\t', tab + 1) != std::string::npos) return std::nullopt;
    return TextPair{line.substr(0, tab), line.substr(tab + 1)};
}

} // namespace

void ReadingRun::prepare() {
    if (!files_.empty() && reading_.gives != TextReading::Gives::embedding)
        throw Error(ErrorCode::usage,
                    "--output and --output-dir need a model that gives a vector for each text; --json prints all "
                    "that this one gives");
    options_.progress = [&](size_t done, size_t all) {
        stop_if_interrupted();
        output_.progress("texts", done, all);
    };
}

void ReadingRun::texts(const std::vector<std::string> &texts) {
    prepare();
    switch (reading_.gives) {
    case TextReading::Gives::embedding:
        return embeddings(texts);
    case TextReading::Gives::classes:
        return labels_.empty() ? classes(texts) : matches(texts);
    case TextReading::Gives::token_classes:
        return token_classes(texts);
    case TextReading::Gives::words:
        return words(texts);
    case TextReading::Gives::token_vectors:
        return token_vectors(texts);
    case TextReading::Gives::answers:
        throw Error(ErrorCode::usage,
                    "this model finds answers: expected --pairs, and two by two a question and a text "
                    "that answers it");
    }
}

void ReadingRun::pairs(const std::vector<TextPair> &pairs) {
    prepare();
    reading_.gives == TextReading::Gives::answers ? answers(pairs) : classes(pairs);
}

void ReadingRun::answers(const std::vector<TextPair> &pairs) {
    const auto found =
        answer(session_, pairs, {.best = answers_, .batch = options_.batch, .progress = options_.progress});
    Table table({text_column("QUESTION"), "ANSWER", {"SCORE", Align::right}});
    for (size_t i = 0; i < pairs.size(); ++i) {
        Json list = Json::array();
        for (const Answer &each : found[i]) {
            list.push_back({{"text", each.text},
                            {"begin", each.characters.begin},
                            {"end", each.characters.end},
                            {"score", each.score}});
            table.row({{pairs[i].first, Style::bold}, each.text, fixed(each.score)});
        }
        add(i, {{"text", pairs[i].first}, {"second", pairs[i].second}, {"answers", std::move(list)}});
    }
    output_.json() ? print_json() : output_.print(table.str(output_));
}

void ReadingRun::classes(const std::vector<TextPair> &pairs) {
    const auto found = classify_pairs(session_, pairs, options_);
    Table table({text_column("FIRST"), text_column("SECOND"), "CLASSES"});
    for (size_t i = 0; i < pairs.size(); ++i) {
        const auto &[first, second] = pairs[i];
        add(i, {{"text", first}, {"second", second}, {"labels", labels_as_json(found[i])}});
        table.row({{first, Style::bold}, {second, Style::bold}, labels_as_text(found[i], shown_labels)});
    }
    output_.json() ? print_json() : output_.print(table.str(output_));
}

std::optional<std::string> ReadingRun::why_not(const std::string &line, bool paired) const {
    const auto pair = paired ? pair_of(line) : std::nullopt;
    if (paired && !pair) return "expected two texts with one tab between them";
    if (reading_.gives == TextReading::Gives::words && line.find(reading_.mask) == std::string::npos)
        return "no word is missing; expected a text with '" + reading_.mask + "' in the place of one";
    if (options_.truncate || reading_.gives == TextReading::Gives::answers) return std::nullopt;
    for (const std::string &label : labels_) {
        std::string sentence = match_.sentence;
        if (const size_t at = sentence.find("{}"); at != std::string::npos) sentence.replace(at, 2, label);
        if (const auto refused = tokenize_pairs(model_, {{line, sentence}}).refused) return refused->why;
    }
    const auto refused = paired ? tokenize_pairs(model_, {*pair}).refused : tokenize(model_, {line}).refused;
    return refused ? std::optional(refused->why) : std::nullopt;
}

int ReadingRun::lines(LineReader lines, bool paired) {
    constexpr size_t many = 4096;
    std::vector<std::string> good;
    for (auto some = lines.next(many); !some.empty(); some = lines.next(many)) {
        for (size_t i = 0; i < some.size(); ++i) {
            const std::optional<std::string> why = why_not(some[i], paired);
            if (!why) {
                good.push_back(some[i]);
                continue;
            }
            lines.refuse(i, *why);
            refused_.push_back({good.size(), some[i], *why});
        }
    }
    if (paired) {
        std::vector<TextPair> both;
        for (const std::string &line : good) both.push_back(*pair_of(line));
        pairs(both);
    } else {
        texts(good);
    }
    return lines.status(output_);
}

void ReadingRun::add_refused(size_t before) {
    for (; !refused_.empty() && refused_.front().before <= before; refused_.pop_front())
        json_.push_back({{"text", refused_.front().text}, {"error", refused_.front().why}});
}

void ReadingRun::add(size_t i, Json answer) {
    add_refused(i);
    json_.push_back(std::move(answer));
}

void ReadingRun::print_json() {
    add_refused(SIZE_MAX);
    output_.print_json(json_);
}

void ReadingRun::embeddings(const std::vector<std::string> &texts) {
    const Tensor vectors = embed(session_, texts, options_);
    write(files_, {{reading_.output, vectors}}, output_);
    if (reading_.sparse) return sparse_embeddings(texts, vectors);
    if (!output_.json()) {
        output_.print(vectors_as_text("TEXT", texts, vectors, output_) +
                      likeness_as_text(vectors, likeness(false), output_));
        return;
    }
    for (size_t i = 0; i < texts.size(); ++i) {
        const auto row = row_of(vectors, i);
        add(i, {{"text", texts[i]}, {"embedding", std::vector<float>(row.begin(), row.end())}});
    }
    print_json();
}

void ReadingRun::token_vectors(const std::vector<std::string> &texts) {
    const std::vector<Tensor> found = embed_tokens(session_, texts, options_);
    Table table({text_column("TEXT"), {"VECTORS", Align::right}, {"VALUES", Align::right}});
    for (size_t i = 0; i < texts.size(); ++i) {
        const int64_t count = found[i].shape()[0], width = found[i].shape()[1];
        Json rows = Json::array();
        for (int64_t row = 0; row < count; ++row) {
            const auto values = row_of(found[i], static_cast<size_t>(row));
            rows.push_back(std::vector<float>(values.begin(), values.end()));
        }
        add(i, {{"text", texts[i]}, {"vectors", std::move(rows)}});
        table.row({{texts[i], Style::bold}, std::to_string(count), std::to_string(width)});
    }
    output_.json() ? print_json() : output_.print(table.str(output_));
}

void ReadingRun::sparse_embeddings(const std::vector<std::string> &texts, const Tensor &vectors) {
    const std::vector<TokenText> tokens = token_texts(model_);
    Table table({{"", Align::right}, text_column("TEXT"), "WORDS"});
    for (size_t i = 0; i < texts.size(); ++i) {
        const std::vector<WordScore> words = words_of(row_of(vectors, i), tokens);
        Json list = Json::array();
        for (const WordScore &each : words)
            list.push_back({{"word", each.word}, {"token", each.token}, {"weight", each.score}});
        add(i, {{"text", texts[i]}, {"words", std::move(list)}});
        table.row({std::to_string(i + 1), {texts[i], Style::bold}, words_as_text(words)});
    }
    if (output_.json()) return print_json();
    output_.print(table.str(output_) + likeness_as_text(vectors, likeness(true), output_));
}

void ReadingRun::classes(const std::vector<std::string> &texts) {
    const auto found = classify(session_, texts, options_);
    Table table({text_column("TEXT"), "CLASSES"});
    for (size_t i = 0; i < texts.size(); ++i) {
        add(i, {{"text", texts[i]}, {"labels", labels_as_json(found[i])}});
        table.row({{texts[i], Style::bold}, labels_as_text(found[i], shown_labels)});
    }
    output_.json() ? print_json() : output_.print(table.str(output_));
}

void ReadingRun::matches(const std::vector<std::string> &texts) {
    match_.truncate = options_.truncate, match_.progress = options_.progress;
    const auto found = match_texts(session_, texts, labels_, match_);
    Table table({text_column("TEXT"), "LABELS"});
    for (size_t i = 0; i < texts.size(); ++i) {
        add(i, {{"text", texts[i]}, {"labels", labels_as_json(found[i])}});
        table.row({{texts[i], Style::bold}, labels_as_text(found[i], shown_labels)});
    }
    output_.json() ? print_json() : output_.print(table.str(output_));
}

void ReadingRun::token_classes(const std::vector<std::string> &texts) {
    const auto found = label_tokens(session_, texts, options_);
    Table table({"TOKEN", "CHARACTERS", "CLASS"});
    for (size_t i = 0; i < texts.size(); ++i) {
        Json tokens = Json::array();
        for (const TokenLabels &each : found[i]) {
            tokens.push_back({{"token", each.token},
                              {"begin", each.characters.begin},
                              {"end", each.characters.end},
                              {"labels", labels_as_json(each.labels)}});
            table.row({{each.token, Style::bold},
                       std::to_string(each.characters.begin) + "-" + std::to_string(each.characters.end),
                       labels_as_text(each.labels, 1)});
        }
        add(i, {{"text", texts[i]}, {"tokens", tokens}});
    }
    output_.json() ? print_json() : output_.print(table.str(output_));
}

void ReadingRun::words(const std::vector<std::string> &texts) {
    const auto found =
        fill_masks(session_, texts, {.best = words_, .batch = options_.batch, .progress = options_.progress});
    Table table({text_column("TEXT"), "CHARACTERS", "WORDS"});
    for (size_t i = 0; i < texts.size(); ++i) {
        Json masks = Json::array();
        for (const MaskedWord &mask : found[i]) {
            Json list = Json::array();
            std::vector<LabelScore> shown;
            for (const WordScore &each : mask.words) {
                list.push_back({{"word", each.word}, {"token", each.token}, {"score", each.score}});
                shown.push_back(
                    {each.word.substr(std::min(each.word.find_first_not_of(' '), each.word.size())), each.score});
            }
            masks.push_back(
                {{"begin", mask.characters.begin}, {"end", mask.characters.end}, {"words", std::move(list)}});
            table.row({{texts[i], Style::bold},
                       std::to_string(mask.characters.begin) + "-" + std::to_string(mask.characters.end),
                       labels_as_text(shown, shown.size())});
        }
        add(i, {{"text", texts[i]}, {"masks", std::move(masks)}});
    }
    output_.json() ? print_json() : output_.print(table.str(output_));
}

} // namespace lamina::cli
