// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char cohere_compass_text[] = R"page(
page cohere_compass_text : cohere2 prefix CohereCompass
without sliding_window_pattern
slides = given(.layer_types) ? .layer_types[i] == "sliding_attention" : no
class ForCausalLM: head out v, words
class TextModel:
class TextForSequenceClassification: head out labels
require given(.sliding_window) or not slides: .sliding_window must be an integer where layers slide
)page";

}  // namespace floptally::models
