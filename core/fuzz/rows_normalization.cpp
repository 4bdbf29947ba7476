// SPDX-License-Identifier: Apache-2.0
// Sizes for operators that work on slices.

#include <algorithm>

#include "core/fuzz/field_value.h"
#include "core/fuzz/random_desc.h"

namespace dmlop {
namespace normalization_rows {
namespace {

// Reduces the sizes, because the reference visits a whole slice for each element.
Sizes Fewer(const DescEntropy& from, Sizes sizes) {
  while (true) {
    uint64_t count = 1;
    for (const uint32_t size : sizes) count *= size;
    if (count <= static_cast<uint64_t>(from.limits().max_slice_elements)) return sizes;
    uint32_t& largest = *std::max_element(sizes.begin(), sizes.end());
    largest = (largest + 1) / 2;
  }
}

void DrawFewer(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  SetSizes(op, "InputTensor", Fewer(from, sizes));
}

// Leading sizes are 1.
void DrawMatrix(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  Sizes matrix = Fewer(from, sizes);
  for (size_t d = 0; d + 2 < matrix.size(); ++d) matrix[d] = 1;
  SetSizes(op, "InputTensor", matrix);
}

// Each size of a parameter is 1 or the input's.
Sizes DrawParameter(const DescEntropy& from, const Sizes& sizes) {
  Sizes parameter = sizes;
  for (uint32_t& size : parameter) {
    if (from.OneIn(2)) size = 1;
  }
  return parameter;
}

bool HasField(const OperatorDesc& op, const Field& field) {
  return std::find(op.fields().begin(), op.fields().end(), &field) != op.fields().end();
}

// Draws an activation whose result is within the same bounds as its argument.
void DrawActivation(const DescEntropy& from, OperatorDesc& op) {
  if (!HasField(op, kFusedActivation)) return;
  OperatorDesc activation =
      OperatorNamed(from.OneIn(2) ? "ACTIVATION_IDENTITY" : "ACTIVATION_RELU");
  for (const Field* tensor : TensorFieldsOf(activation.info())) activation.Remove(*tensor);
  op.set(kFusedActivation, std::vector{activation});
}

// Draws the sizes of each parameter independently.
void DrawParameters(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const Sizes input = Fewer(from, sizes);
  DrawActivation(from, op);
  for (const Field* field : TensorFieldsOf(op.info())) {
    if (field->role == TensorRole::kOutput) continue;
    if (field->optional && from.OneIn(2)) continue;
    if (field->optional) op.AddTensor(*field);
    SetSizes(op, field->name, field->name == "InputTensor" ? input : DrawParameter(from, input));
  }
}

// All parameters have the same sizes.
void DrawSlices(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const Sizes input = Fewer(from, sizes);
  const Sizes parameter = DrawParameter(from, input);
  DrawActivation(from, op);
  for (const Field* field : TensorFieldsOf(op.info())) {
    if (field->role == TensorRole::kOutput) continue;
    if (field->optional && from.OneIn(2)) continue;
    if (field->optional) op.AddTensor(*field);
    const bool is_whole = field->name == "InputTensor" || field->name == "FusedAddTensor" ||
                          field->name == "InputGradientTensor";
    SetSizes(op, field->name, is_whole ? input : parameter);
  }
}

// The step has one element.
void DrawStep(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  for (const Field* field : TensorFieldsOf(op.info())) {
    if (field->role == TensorRole::kInput) SetSizes(op, field->name, sizes);
  }
  SetSizes(op, "TrainingStepTensor", Sizes(from.OneIn(2) ? 1 : sizes.size(), 1));
  for (const char* beta : {"Beta1", "Beta2"}) {
    const float plain[] = {0.0f, 0.5f, 0.9f, 0.999f, 1.0f, 0x1.fffffep-1f, 1e-30f};
    Set(op, beta, from.OneOf(plain));
  }
}

constexpr SizesRow kRows[] = {
    {"ACTIVATION_HARDMAX", DrawMatrix},
    {"ACTIVATION_HARDMAX1", DrawFewer},
    {"ACTIVATION_LOG_SOFTMAX", DrawMatrix},
    {"ACTIVATION_LOG_SOFTMAX1", DrawFewer},
    {"ACTIVATION_SOFTMAX", DrawMatrix},
    {"ACTIVATION_SOFTMAX1", DrawFewer},
    {"ADAM_OPTIMIZER", DrawStep},
    {"BATCH_NORMALIZATION", DrawParameters},
    {"BATCH_NORMALIZATION_GRAD", DrawSlices},
    {"BATCH_NORMALIZATION_TRAINING", DrawSlices},
    {"BATCH_NORMALIZATION_TRAINING_GRAD", DrawSlices},
    {"DYNAMIC_QUANTIZE_LINEAR", DrawFewer},
    {"LP_NORMALIZATION", DrawFewer},
    {"MEAN_VARIANCE_NORMALIZATION", DrawParameters},
    {"MEAN_VARIANCE_NORMALIZATION1", DrawParameters},
    {"MEAN_VARIANCE_NORMALIZATION2", DrawParameters},
};

}  // namespace
}  // namespace normalization_rows

std::span<const SizesRow> NormalizationSizes() {
  return normalization_rows::kRows;
}

}  // namespace dmlop
