// SPDX-License-Identifier: Apache-2.0
// States once how the sizes of an operator's tensors hang together:
//
//   {&kATensor, "{.., M, K}"}, {&kBTensor, "{.., K, N}"}, {&kOutputTensor, "{.., M, N}"}
//
// A word stands for a size, and wherever it stands again, the size is the same. From this follow
// what inputs must be, the sizes of outputs that are left out, the part of an input that a part of
// an output is computed from, and how many products an operator takes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/ops/inference.h"
#include "core/ops/windows.h"

namespace dmlop {

// Each dimension is a number, a word, a product of these, such as 3*H, whose last factor follows
// from the others, or a sum of products. "I.." stands for any number of dimensions, as does ".."
// alone; those of "1.." have the size 1. M:S has the size S, or 1 where the tensor is repeated
// along S. H' has the size H, but an element depends on all indices along it, or, if the signature
// names slices, along their dimensions. An output with words that no other tensor has is not
// inferred. G*c are G groups of c: a part of G*o depends on its groups' part of it. P@K is a size
// along which P windows of K taps lie; one tap at a time is read.
struct TensorShape {
  const FieldOf<TensorDesc>* tensor;
  std::string_view dims;                    // forms, separated by " | "
  const FieldOf<uint32_t>* form = nullptr;  // selects one of several forms
  // The rule of a tensor with a rank of its own, which may have any of the forms, or the rules of
  // the forms that a field selects. Empty: the tensor keeps to the signature's rules.
  std::string_view own_rule = {};
  uint32_t feeds = ~uint32_t{0};                 // a bit for each output that depends on it
  const FieldOf<TensorDesc>* rank_of = nullptr;  // also has the rank of an output that is left out
};

// A word whose size is the value of a field.
struct FieldWord {
  std::string_view word;
  const FieldOf<uint32_t>* field;
};
inline constexpr FieldWord kGroupWords[] = {{"G", &kGroupCount}};

// The size of a word that does not follow from tensors.
struct KnownSize {
  std::string_view word;
  uint64_t size;
};

struct Signature {
  std::string_view rank_rule;  // tensors with words before ".." have the rank of the first tensor
  std::string_view size_rule;
  // The first tensor is not optional, if others have its rank. Each word but those of groups and
  // factors stands alone in the first tensor that has it.
  std::span<const TensorShape> tensors;
  std::string_view repeat_rule = {};  // M:S is S or 1
  std::vector<uint32_t> (*slices)(const OperatorDesc& op) = nullptr;
  std::span<const FieldWord> fields = {};
  TapWindows windows = {};
  std::vector<KnownSize> (*known)(const OperatorDesc& op) = nullptr;
};

// Requires the sizes of inputs and outputs, or fills the latter in. A word is unknown, and agrees
// with every size, if the tensor that first has it is wrong.
void InferShapes(const Signature& signature, const OperatorDesc& op, Inference& infer);

// Requires all tensors to have the sizes of the first input, {S..}.
void InferEqualSizes(std::string_view code, const OperatorDesc& op, Inference& infer);

// Returns a map for each input, in the order of the slots. Those of the inputs with K, P or P@K
// come first, once for each tap, so there may be very many.
std::vector<SourceMap> SourcesOf(const Signature& signature, const OperatorDesc& op);

// Returns the forms that the fields of an operator leave to a tensor.
std::vector<std::string_view> FormsOf(const TensorShape& shape, const OperatorDesc& op);

// Returns the sizes of a form, which ".." brings to a rank, from those of its words: M:S and H' are
// passed as they stand, with the number of the dimension before "..". No form has fewer dimensions
// than it names; there are no sizes then.
using SizeOfWord = std::function<uint64_t(std::string_view word, size_t number)>;
Sizes SizesOf(std::string_view form, size_t rank, const SizeOfWord& size_of);

// Returns the product of the sizes of all words; nothing is added up along P@K itself.
int64_t OperationsOf(const Signature& signature, const OperatorDesc& op);

// The same as functions of rows.
template <const Signature& kSignature>
void InferBy(const OperatorDesc& op, Inference& infer) {
  InferShapes(kSignature, op, infer);
}
template <const Signature& kSignature>
std::vector<SourceMap> SourcesBy(const OperatorDesc& op) {
  return SourcesOf(kSignature, op);
}
template <const Signature& kSignature>
int64_t OperationsBy(const OperatorDesc& op) {
  return OperationsOf(kSignature, op);
}

}  // namespace dmlop
