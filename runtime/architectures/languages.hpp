// The languages that a translator's tokens stand for.
#pragma once

#include "architectures/architecture.hpp"

namespace lamina::architectures {

// Adds to `tokens` what a caller may choose: "language", of what is written, and "source_language", of what is read.
// Tokens of languages are deu_Latn (NLLB), de_DE (mBART), __de__ (M2M-100) and >>deu<< (Marian, whose models are told
// what to write in front of what they read); "de" chooses "__de__". Nothing for a model that has less than two.
void add_languages(const TextSettings &texts, model::OutputTokens &tokens);

} // namespace lamina::architectures
