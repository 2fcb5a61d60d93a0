// Runs a model that reads pages on images of them, and on files with their words.
#pragma once

#include "lines.hpp"
#include "output.hpp"
#include "table.hpp"

#include <lamina/inspect.hpp>
#include <lamina/page.hpp>

#include <optional>
#include <string>
#include <vector>

namespace lamina::cli {

// Where the words of a page are, if nobody says: "page.tsv" for "page.png".
[[nodiscard]] std::string words_beside(const std::string &image);
// The page of an image, which is read if the model sees it, and of a file with its words. Throws Error(input).
[[nodiscard]] Page page_of(const std::string &image, const std::string &words, const PageReading &model);

// Prints the likeliest classes of each page or of its words, or answers to questions. As JSON, prints everything.
class PageRun {
  public:
    PageRun(const Model &model, Session session, Output &output, PageOptions options);

    // Of a model that answers questions: of each page, these.
    void ask(std::vector<std::string> questions) { questions_ = std::move(questions); }

    // Names of images, and of the files with their words; without these, each is beside its image.
    void files(const std::vector<std::string> &names, const std::vector<std::string> &words);
    [[nodiscard]] int lines(LineReader lines); // names of images on stdin; returns the exit status

  private:
    void add(const std::string &name, const std::string &words); // the answer for a page
    void add_words(const std::string &name, const Page &page);
    void add_answers(const std::string &name, const Page &page);
    void row(const std::string &name, std::vector<Cell> cells); // of a table where pages are told apart by name
    void print();

    PageReading reading_;
    Session session_;
    Output &output_;
    PageOptions options_;
    std::vector<std::string> questions_;
    bool several_ = false; // pages
    std::optional<Table> table_;
    Json json_ = Json::array();
};

} // namespace lamina::cli
