// SPDX-License-Identifier: Apache-2.0
// Single descriptors, from which the rows of several operators are made. Each returns its output.
#pragma once

#include "core/onnx/onnx_node.h"

namespace dmlop {

inline constexpr std::string_view kContrib = "com.microsoft";  // the domain of ORT's operators

inline const OnnxType kOnnxFloat = OnnxTypeOf(DataType::kFloat32, /*is_bool=*/false);
inline const OnnxType kOnnxInt32 = OnnxTypeOf(DataType::kInt32, /*is_bool=*/false);
inline const OnnxType kOnnxUint8 = OnnxTypeOf(DataType::kUint8, /*is_bool=*/false);
inline const OnnxType kOnnxInt64 = OnnxTypeOf(DataType::kInt64, /*is_bool=*/false);
inline const OnnxType kOnnxBool = OnnxTypeOf(DataType::kUint8, /*is_bool=*/true);

// The same elements taken for those of another type of their size: ONNX's indices are INT64, where
// many operators write or read UINT64.
inline OnnxOperand AsType(OnnxOperand operand, DataType type) {
  operand.desc.data_type = type;
  return operand;
}

OnnxOperand EmitUnary(OnnxCall& call, std::string_view op, OnnxOperand x, OnnxOperand out,
                      OnnxSettings more = {});
// Computes the first output from each element of the first input.
void EmitElements(OnnxCall& call, std::string_view op, const OnnxType& type,
                  const OnnxSettings& more = {});
OnnxOperand EmitBinary(OnnxCall& call, std::string_view op, OnnxOperand a, OnnxOperand b,
                       OnnxOperand out);

// Computes the first output from both inputs, which are repeated to common sizes by strides.
void EmitPair(OnnxCall& call, std::string_view op, const OnnxType& type);

// The value as elements of a type: a copy by CAST, or the value itself.
OnnxValue& CastTo(OnnxCall& call, OnnxValue& value, OnnxType type);

// Writes the sums, means or the like along the axes, which stay as dimensions of size 1.
OnnxOperand EmitReduce(OnnxCall& call, std::string_view function, OnnxOperand x,
                       const OnnxSizes& axes, OnnxOperand out);

// The sizes with 1 on each axis.
OnnxSizes ReducedSizes(OnnxSizes sizes, const OnnxSizes& axes);

// A tensor of one number, rounded to the type.
OnnxValue& NumberOf(OnnxCall& call, OnnxType type, double number);

// Integers from `first` to `last`.
OnnxSizes CountedFrom(int64_t first, int64_t last);

// Gives all elements of an output one value.
void EmitFill(OnnxCall& call, OnnxOperand out, const Scalar& value);
// Gives them start, start + delta, start + 2 delta and so on.
void EmitSequence(OnnxCall& call, OnnxOperand out, const Scalar& start, const Scalar& delta);

// Multiplies matrices, each transposed or not, and their product by alpha.
void EmitGemm(OnnxCall& call, OnnxOperand a, bool trans_a, OnnxOperand b, bool trans_b,
              OnnxOperand out, float alpha = 1);

// Copies `size` elements along an axis, from `begin` on and `step` apart.
OnnxOperand EmitPart(OnnxCall& call, OnnxOperand from, size_t axis, int64_t begin, int64_t size,
                     int64_t step = 1);

// A scale or zero point: one number, or one for each place along an axis.
OnnxOperand QuantizationParameter(OnnxValue& value, size_t axis, size_t rank);

// Adds such a parameter, unless it is left out.
void AddParameter(OnnxCall& call, std::string_view field, size_t input, size_t axis, size_t rank,
                  OnnxSettings& settings);

// The operands of a product of matrices, repeated over the dimensions in front of them, and the
// sizes of the output: ONNX's, and those of its descriptor, which has at most 4.
struct OnnxProduct {
  OnnxOperand a, b;
  OnnxSizes sizes, laid_out;

  size_t rank() const { return laid_out.size(); }
};

// Operands as NumPy's matmul takes them: a vector is one row, or one column as the second one.
OnnxProduct ProductOf(const OnnxCall& call, OnnxValue& a, OnnxValue& b);

// Joins dimensions in front of the last two, which are equal in all tensors, until there are at
// most
// 4. Refuses the node if a tensor is repeated over more.
void JoinBatches(const OnnxCall& call, const std::vector<TensorDesc*>& tensors);

// Refuses a value of another rank.
void RequireRank(const OnnxCall& call, const OnnxValue& value, size_t rank);

// --- windows -------------------------------------------------------------------------------------

// The windows of convolutions and pools: what the attributes strides, dilations, pads, auto_pad and
// ceil_mode of a node mean.

// One number for each spatial dimension.
struct OnnxWindows {
  OnnxSizes sizes, strides, dilations;
  OnnxSizes starts, ends;  // padding
  OnnxSizes output;        // numbers of windows

  // Puts dimensions with a window of 1 in front, up to a number of them.
  void Fill(size_t count);
};

// The attribute pads, or an input in its place: for each spatial dimension the padding at its
// start, then for each that at its end.
inline constexpr std::string_view kDynamicPads = "ConvTransposeWithDynamicPads";
OnnxSizes PadsOf(const OnnxCall& call, size_t spatial);

// Takes the spatial sizes of the input and those of the windows. Refuses what does not fit.
OnnxWindows WindowsOf(OnnxCall& call, const OnnxSizes& input, const OnnxSizes& windows);

// The attribute kernel_shape; if it may be left out, `otherwise` says what stands for it.
OnnxSizes KernelShape(const OnnxCall& call, size_t spatial, const OnnxSizes* otherwise);

// The sizes behind the first two.
OnnxSizes SpatialSizes(const OnnxCall& call, const OnnxValue& value);

// Sizes with 1s between the first two and the others, up to a rank.
OnnxSizes SpatialOnes(OnnxSizes sizes, size_t rank);

// An image whose channels are last, laid out as DirectML has it, with 1s as SpatialOnes puts them.
OnnxOperand ChannelsFirst(OnnxValue& value, size_t rank);

// A list of one number for each spatial dimension, which are positive.
OnnxSizes SpatialNumbers(const OnnxCall& call, std::string_view attribute, size_t spatial);

// Emits a convolution of the first input with the filter, in windows as the attributes say.
// `settings` are those that only this operator has.
void EmitConvolution(OnnxCall& call, std::string_view op, size_t filter_input, const OnnxType& type,
                     OnnxSettings settings);

}  // namespace dmlop
