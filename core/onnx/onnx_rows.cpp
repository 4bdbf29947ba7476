// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>

#include "core/base/spelling.h"
#include "core/base/text.h"
#include "core/onnx/onnx_node.h"
#include "core/ops/words.h"

// The namespaces of the sources that have rows.
#define DMLOP_ONNX_FAMILIES(FAMILY) \
  FAMILY(element_wise)              \
  FAMILY(shape)                     \
  FAMILY(product)                   \
  FAMILY(window)                    \
  FAMILY(resize)                    \
  FAMILY(normalization)             \
  FAMILY(index)                     \
  FAMILY(arithmetic)                \
  FAMILY(quantized)                 \
  FAMILY(recurrent)                 \
  FAMILY(attention)

#define DMLOP_DECLARE_ONNX_ROWS(family)              \
  namespace onnx_##family {                          \
    extern const std::span<const OnnxRow> kOnnxRows; \
  }
#define DMLOP_ONNX_ROWS_OF(family) onnx_##family::kOnnxRows,

namespace dmlop {

DMLOP_ONNX_FAMILIES(DMLOP_DECLARE_ONNX_ROWS)

namespace {

// Operators of ONNX that no DirectML operator computes, each with its versions. Source: onnx/defs
// of ONNX 1.23.
constexpr std::string_view kWithoutRow[] = {
    "AffineGrid 20", "Bernoulli 15 22", "BitCast 26", "BlackmanWindow 17", "CausalConvWithState 27",
    "CenterCropPad 18", "Compress 9 11", "ConcatFromSequence 11", "DFT 17 20", "DeformConv 19 22",
    "Det 11 22", "GridSample 16 20 22", "HammingWindow 17", "HannWindow 17",
    "If 1 11 13 16 19 21 23 24 25", "ImageDecoder 20", "LinearAttention 27",
    "Loop 1 11 13 16 19 21 23 24 25", "MelWeightMatrix 17", "Mish 18 22", "Multinomial 7 22",
    "NegativeLogLikelihoodLoss 12 13 22", "NonMaxSuppression 10 11", "Optional 15",
    "OptionalGetElement 15 18", "OptionalHasElement 15 18", "RandomNormal 1 22",
    "RandomNormalLike 1 22", "RandomUniform 1 22", "RandomUniformLike 1 22", "RegexFullMatch 20",
    "RotaryEmbedding 23", "STFT 17", "Scan 8 9 11 16 19 21 23 24 25", "SequenceAt 11",
    "SequenceConstruct 11", "SequenceEmpty 11", "SequenceErase 11", "SequenceInsert 11",
    "SequenceLength 11", "SequenceMap 17", "SoftmaxCrossEntropyLoss 12 13", "SplitToSequence 11 24",
    "StringConcat 20", "StringNormalizer 10", "StringSplit 20", "SwiGLU 28", "TensorScatter 24",
    "TfIdfVectorizer 9", "Unique 11",
    // Removed from ONNX, or experimental.
    "Affine 1", "Crop 1", "ImageScaler 1", "ParametricSoftplus 1", "ScaledTanh 1"};

std::string_view NameIn(std::string_view row) {
  return row.substr(0, row.find(' '));
}

}  // namespace

std::span<const std::span<const OnnxRow>> OnnxRows() {
  static const std::array kRows = {DMLOP_ONNX_FAMILIES(DMLOP_ONNX_ROWS_OF)};
  return kRows;
}

const OnnxRow* FindOnnxRow(std::string_view domain, std::string_view name) {
  for (const std::span<const OnnxRow> family : OnnxRows()) {
    for (const OnnxRow& row : family) {
      if (row.name == name && row.domain == domain) return &row;
    }
  }
  return nullptr;
}

// Rows of com.microsoft with several operators are graphs of them.
std::vector<OnnxOperator> OnnxOperators() {
  std::vector<OnnxOperator> operators;
  for (const std::span<const OnnxRow> family : OnnxRows()) {
    for (const OnnxRow& row : family) {
      const bool is_sequence = !row.domain.empty() && row.operators.find(' ') != row.operators.npos;
      operators.push_back({row.name, row.operators, row.remark, is_sequence});
    }
  }
  return operators;
}

int VersionIn(int64_t opset, std::string_view versions) {
  int found = 0;
  for (const std::string_view word : WordsOf(versions)) {
    int version = 0;
    std::from_chars(word.data(), word.data() + word.size(), version);
    if (version <= (found == 0 ? std::max(opset, kOldestOpset) : opset)) found = version;
  }
  return found;
}

std::vector<std::string_view> OnnxNamesWithoutRow() {
  std::vector<std::string_view> names;
  for (const std::string_view row : kWithoutRow) names.push_back(NameIn(row));
  return names;
}

std::string WhyWithoutRow(std::string_view domain, std::string_view name) {
  if (!domain.empty() || !VersionsWithoutRow(name).empty()) {
    return "no DirectML operator computes it; ORT runs it on the CPU";
  }
  if (const OnnxRow* row = FindOnnxRow(domain, name)) {
    return fmt::format("ONNX has it from opset {} on", WordsOf(row->versions).front());
  }
  std::vector<std::string_view> names;
  for (const std::span<const OnnxRow> family : OnnxRows()) {
    for (const OnnxRow& row : family) {
      if (row.domain.empty()) names.push_back(row.name);
    }
  }
  return "ONNX has no operator of that name" + DidYouMean(name, names);
}

std::string_view VersionsWithoutRow(std::string_view name) {
  for (const std::string_view row : kWithoutRow) {
    if (NameIn(row) == name) return row.substr(name.size() + 1);
  }
  return {};
}

}  // namespace dmlop
