// tokenizer.model
#include "fuzz.hpp"
#include "tokenizer/sentencepiece_file.hpp"

void test::read(std::string_view input) { (void)lamina::tokenizer::read_sentencepiece_file(input, "tokenizer.model"); }
