#include "page_run.hpp"

#include "interrupt.hpp"
#include "vectors.hpp"

#include <filesystem>

namespace lamina::cli {
namespace fs = std::filesystem;
namespace {

using Gives = TextReading::Gives;

std::vector<Column> columns_of(Gives gives, bool several) {
    std::vector<Column> out;
    if (several || gives == Gives::classes) out.push_back(text_column("PAGE"));
    if (gives == Gives::classes) out.emplace_back("CLASSES");
    if (gives == Gives::answers) out.insert(out.end(), {text_column("QUESTION"), "ANSWER", {"SCORE", Align::right}});
    if (gives == Gives::token_classes) out.insert(out.end(), {text_column("WORD"), "BOX", "CLASS"});
    return out;
}

std::vector<PageWord> words_in(const std::string &file, const std::string &image) {
    std::error_code error;
    if (!fs::exists(file, error))
        throw Error(ErrorCode::input, file + ": no such file; expected the words of " + image + ", as 'tesseract " +
                                          image + " " + fs::path(file).replace_extension().string() +
                                          " tsv' writes them; --words names another file");
    return read_page_words(file);
}

} // namespace

std::string words_beside(const std::string &image) { return fs::path(image).replace_extension(".tsv").string(); }

Page page_of(const std::string &image, const std::string &words, const PageReading &model) {
    Page out{words_in(words, image)};
    if (out.words.empty()) throw Error(ErrorCode::input, words + ": the page has no words");
    if (model.sees) out.image = read_image(image);
    return out;
}

PageRun::PageRun(const Model &model, Session session, Output &output, PageOptions options)
    : reading_(*inspect(model).pages), session_(std::move(session)), output_(output), options_(std::move(options)) {
    options_.progress = [](size_t, size_t) { stop_if_interrupted(); };
}

void PageRun::files(const std::vector<std::string> &names, const std::vector<std::string> &words) {
    if (!words.empty() && words.size() != names.size())
        throw Error(ErrorCode::usage, "--words: expected one file for each page, of which there are " +
                                          std::to_string(names.size()) + ", found " + std::to_string(words.size()));
    several_ = names.size() > 1;
    for (size_t i = 0; i < names.size(); ++i) {
        output_.progress("pages", i, names.size());
        add(names[i], words.empty() ? words_beside(names[i]) : words[i]);
    }
    output_.clear_progress();
    print();
}

int PageRun::lines(LineReader lines) {
    several_ = true;
    for (auto name = lines.next(1); !name.empty(); name = lines.next(1)) try {
            add(name.front(), words_beside(name.front()));
        } catch (const Error &e) {
            if (e.code() != ErrorCode::input) throw; // no memory: that is not the file's fault
            lines.refuse(0, e.what());
            json_.push_back({{"page", name.front()}, {"error", e.what()}});
        }
    print();
    return lines.status(output_);
}

void PageRun::add(const std::string &name, const std::string &words) {
    const Page page = page_of(name, words, reading_);
    try {
        if (reading_.gives == Gives::answers) return add_answers(name, page);
        if (reading_.gives == Gives::token_classes) return add_words(name, page);
        const std::vector<LabelScore> labels = classify_pages(session_, {page}, options_).front();
        row(name, {labels_as_text(labels, shown_labels)});
        json_.push_back({{"page", name}, {"labels", labels_as_json(labels)}});
    } catch (const Error &e) {
        std::string why = e.what();
        if (constexpr std::string_view number = "page 1: "; why.starts_with(number)) why.erase(0, number.size());
        throw Error(e.code(), name + ": " + why);
    }
}

void PageRun::add_words(const std::string &name, const Page &page) {
    Json words = Json::array();
    const std::vector<WordLabels> found = label_words(session_, {page}, options_).front();
    for (const WordLabels &each : found) {
        const PageWord &word = page.words[each.word];
        std::string box;
        Json sides = Json::array();
        for (const int32_t side : word.box) {
            box += (box.empty() ? "" : " ") + std::to_string(side);
            sides.push_back(side);
        }
        row(name, {{word.text, Style::bold}, box, labels_as_text(each.labels, 1)});
        words.push_back({{"text", word.text}, {"box", std::move(sides)}, {"labels", labels_as_json(each.labels)}});
    }
    json_.push_back({{"page", name}, {"words", std::move(words)}});
}

void PageRun::add_answers(const std::string &name, const Page &page) {
    std::vector<PageQuestion> asked;
    for (const std::string &question : questions_) asked.push_back({0, question});
    const auto found = answer_pages(session_, {page}, asked, options_);
    for (size_t i = 0; i < asked.size(); ++i) {
        Json answers = Json::array();
        for (const PageAnswer &each : found[i]) {
            answers.push_back({{"text", each.text}, {"first", each.first}, {"last", each.last}, {"score", each.score}});
            row(name, {{asked[i].text, Style::bold}, each.text, fixed(each.score)});
        }
        json_.push_back({{"page", name}, {"question", asked[i].text}, {"answers", std::move(answers)}});
    }
}

void PageRun::row(const std::string &name, std::vector<Cell> cells) {
    if (!table_) table_.emplace(columns_of(reading_.gives, several_));
    if (several_ || reading_.gives == Gives::classes) cells.insert(cells.begin(), Cell{name, Style::bold});
    table_->row(std::move(cells));
}

void PageRun::print() {
    if (output_.json()) return output_.print_json(json_);
    if (table_) output_.print(table_->str(output_));
}

} // namespace lamina::cli
