// SPDX-License-Identifier: Apache-2.0
// A row of the table of ONNX's operators sees a node with its inputs and attributes, and makes the
// descriptors of DirectML that compute it.
//
//   ONX-2   no DirectML operator computes the node
//   ONX-3   an attribute or a form of an input without an operator
//   ONX-4   a size that nothing says, or that is said twice
//   ONX-5   a size that depends on values which are not known
//   ONX-6   a type that DirectML does not have
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/onnx/onnx_model.h"
#include "core/ops/operator.h"

namespace dmlop {

using OnnxSizes = std::vector<int64_t>;  // none for a scalar; a size may be 0

std::string ToString(const OnnxSizes& sizes);  // "[2, 3]"

// "BFLOAT16", or the number of a type that ONNX does not have.
std::string NameOf(const OnnxType& type);

// A size, or a number that takes part in sizes, is at most this.
constexpr int64_t kMostSize = 0x7FFFFFFF;

// Return their argument. Throw a refusal of sizes that are negative, or greater than that, and of
// a type that DirectML does not have.
const OnnxSizes& RequireSizes(const OnnxSizes& sizes);
const OnnxType& RequireType(const OnnxType& type);

// Returns the number of elements of such sizes.
int64_t CountOf(const OnnxSizes& sizes);

// A tensor of the model while it is read.
struct OnnxValue {
  static constexpr size_t kNoEdge = static_cast<size_t>(-1);

  std::string name;
  OnnxType type;
  OnnxSizes sizes;
  size_t edge = kNoEdge;    // of the graph; none for an empty tensor
  bool is_refused = false;  // what computes it was: nothing is known of it

  size_t rank() const { return sizes.size(); }
  bool empty() const { return CountOf(sizes) == 0; }
};

// The elements of a tensor whose values are known while the model is read, without gaps.
struct KnownElements {
  DataType type;
  int64_t count;
  const std::byte* data;  // at any address

  // Returns an element as an integer or, for floats, as a double.
  int64_t Integer(int64_t index) const;
  double Number(int64_t index) const;
  ElementBytes Bytes(int64_t index) const;
};

// A value as a tensor of a descriptor, in any layout.
struct OnnxOperand {
  OnnxValue* value;
  TensorDesc desc;
};

// The value of a field of a descriptor. Names stand for members of enumerations, and integers for
// any kind of number.
struct OnnxSetting {
  using Value = std::variant<OnnxOperand, std::vector<OnnxOperand>, int64_t, double, bool,
                             std::string_view, DataType, std::vector<int64_t>, std::vector<float>,
                             ScaleBias, Scalar, Size2d, std::vector<OperatorDesc>>;

  template <typename T>
  OnnxSetting(std::string_view name, T given) : field(name) {
    if constexpr (std::same_as<T, bool>) {
      value = given;
    } else if constexpr (std::integral<T>) {
      value = static_cast<int64_t>(given);
    } else if constexpr (std::floating_point<T>) {
      value = static_cast<double>(given);
    } else if constexpr (std::convertible_to<T, std::string_view>) {
      value = std::string_view(given);
    } else {
      value = std::move(given);
    }
  }

  std::string_view field;
  Value value;
};
using OnnxSettings = std::vector<OnnxSetting>;

// An operator without tensors, to be fused into another or to be a gate of a network.
OperatorDesc OnnxActivation(std::string_view op, const OnnxSettings& settings);

// A number of a type for a field; it must fit.
Scalar ScalarOf(DataType type, double number);

// --- layouts of a value --------------------------------------------------------------------------

// The desc of sizes without gaps; a scalar is [1].
TensorDesc PackedDesc(DataType type, const OnnxSizes& sizes);

// The value as it is, without gaps; a scalar is [1].
OnnxOperand Packed(OnnxValue& value);
// The same elements in other sizes with as many.
OnnxOperand Reshaped(OnnxValue& value, const OnnxSizes& sizes);
// The value in the given sizes and strides.
OnnxOperand Strided(OnnxValue& value, const OnnxSizes& sizes, const OnnxSizes& strides);
// The value with 1s in front of its sizes, up to a rank.
OnnxOperand AtRank(OnnxValue& value, size_t rank);
// Repeated to other sizes by strides of 0, as NumPy broadcasts.
OnnxOperand BroadcastTo(OnnxValue& value, const OnnxSizes& sizes);
// The same, with other sizes of its own for as many elements.
OnnxOperand RepeatedTo(OnnxValue& value, const OnnxSizes& own, const OnnxSizes& sizes);
// `count` elements of one dimension, placed along the axis of a tensor of a rank: [1, C, 1, 1].
OnnxOperand Along(OnnxValue& value, size_t axis, size_t rank);

// Sizes with 1s in front, up to a rank.
OnnxSizes BehindOnes(OnnxSizes sizes, size_t rank);

// The row-major strides of packed sizes.
OnnxSizes StridesOf(const OnnxSizes& sizes);

// --- a node --------------------------------------------------------------------------------------

// Thrown by what a row calls; the import goes on with the next node.
struct OnnxRefusal {
  struct Fault {
    std::string code, message;
  };
  std::vector<Fault> faults;
};
template <typename... Args>
OnnxRefusal Refusal(std::string_view code, fmt::format_string<Args...> text, Args&&... args) {
  return {{{std::string(code), fmt::format(text, std::forward<Args>(args)...)}}};
}

// A fault that does not count if the descriptor's outputs are known while the model is read, as no
// device computes them then.
struct OnnxLevelFault {
  size_t node;  // of the graph
  OnnxRefusal::Fault fault;
};

// Returns what a valid descriptor needs and the level lacks.
std::vector<OnnxRefusal::Fault> FaultsAt(FeatureLevel level, const OperatorDesc& op);

// Thrown where a row needs an input of which nothing is known; what it has refused before counts.
struct OnnxUnknownInput {};

struct OnnxRow;
class OnnxBuilder;

class OnnxCall {
 public:
  // `label` is the node's name, or one that the import gave it.
  OnnxCall(OnnxBuilder& builder, const OnnxNode& node, const OnnxRow& row, int version,
           std::string label, std::vector<OnnxValue*> inputs);

  // Makes the node's descriptors by its row.
  void Import();

  const OnnxRow& row() const { return row_; }
  int version() const { return version_; }  // of the operator: the one that its opset means
  std::string_view name() const { return node_.op_type; }

  // Fails the node. `code` is ONX-2 to ONX-6.
  template <typename... Args>
  [[noreturn]] void Refuse(std::string_view code, fmt::format_string<Args...> text,
                           Args&&... args) const {
    throw Refusal(code, text, std::forward<Args>(args)...);
  }

  // Says once what differs in ORT's DirectML provider, for `validate`.
  void Note(std::string text) {
    if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(std::move(text));
  }

  // --- inputs ---
  size_t input_count() const { return inputs_.size(); }  // with those left out between others
  bool Has(size_t input) const { return input < inputs_.size() && inputs_[input] != nullptr; }
  // Refuses the node if it is left out. Throws OnnxUnknownInput for a refused one.
  OnnxValue& In(size_t input) const;

  // The elements of an input, if they are known while the model is read.
  std::optional<KnownElements> Known(size_t input) const;
  // The same of an input that sizes depend on: refuses the node if they are not known.
  KnownElements Values(size_t input) const;
  // The same of an input whose first element counts: refuses an empty one, too.
  KnownElements Value(size_t input) const;
  std::vector<int64_t> Integers(size_t input) const;
  std::vector<double> Numbers(size_t input) const;

  // --- attributes: what is given, or the default ---
  bool HasAttribute(std::string_view name) const { return node_.Find(name) != nullptr; }
  int64_t Int(std::string_view name, int64_t otherwise) const;
  float Float(std::string_view name, float otherwise) const;
  std::string_view Text(std::string_view name, std::string_view otherwise) const;
  std::optional<std::vector<int64_t>> Ints(std::string_view name) const;
  std::optional<std::vector<float>> Floats(std::string_view name) const;
  std::optional<std::vector<std::string_view>> Texts(std::string_view name) const;
  const TensorProto* Tensor(std::string_view name) const;
  // An axis of a tensor of that rank, counted from 0. Refuses one that is out of range.
  size_t Axis(int64_t axis, size_t rank) const;
  // Does the same with several, which must differ.
  std::vector<size_t> Axes(const OnnxSizes& axes, size_t rank) const;
  // Refuses an attribute unless it has the only value that is supported.
  void RequireInt(std::string_view name, int64_t only) const;
  void RequireText(std::string_view name, std::string_view only) const;

  // --- outputs ---
  size_t output_count() const { return node_.outputs.size(); }
  bool Wants(size_t output) const {
    return output < node_.outputs.size() && !node_.outputs[output].empty();
  }
  // The tensor that a descriptor fills. `laid_out` are the sizes in the descriptor where they
  // differ from ONNX's.
  OnnxOperand Out(size_t output, const OnnxType& type, const OnnxSizes& sizes);
  OnnxOperand Out(size_t output, const OnnxType& type, const OnnxSizes& sizes,
                  const OnnxSizes& laid_out);
  // A tensor between the node's descriptors, which may be read once it is filled.
  OnnxOperand Temporary(const OnnxType& type, const OnnxSizes& sizes);
  // An output whose elements are known, and a tensor of such elements for a descriptor. They are
  // copied.
  void OutKnown(size_t output, const OnnxType& type, const OnnxSizes& sizes,
                std::span<const std::byte> elements);
  OnnxValue& Constant(const OnnxType& type, const OnnxSizes& sizes,
                      std::span<const std::byte> elements);
  // An output that is the tensor of an attribute.
  void OutTensor(size_t output, const TensorProto& tensor);

  // --- descriptors ---
  // Adds a descriptor, which is completed and checked. One whose outputs are empty is left out.
  void Emit(std::string_view op, const OnnxSettings& settings);

  // The first element of a tensor of an attribute.
  ElementBytes FirstOf(const TensorProto& tensor) const;

  // The type of that number; refuses the node if DirectML has none.
  OnnxType RequireType(int64_t onnx_type) const;

  // --- what the row has made ---
  const std::vector<OnnxValue*>& outputs() const { return outputs_; }
  const std::vector<std::string>& notes() const { return notes_; }
  // Its descriptors need these, which the feature level lacks.
  const std::vector<OnnxLevelFault>& level_faults() const { return level_faults_; }

 private:
  const OnnxAttribute* FindAttribute(std::string_view name, OnnxAttribute::Kind kind) const;
  void RefuseReferences() const;
  void RefuseOldBroadcast() const;
  void RequireOutputs() const;

  OnnxBuilder& builder_;
  const OnnxNode& node_;
  const OnnxRow& row_;
  int version_;
  std::string label_;
  std::vector<OnnxValue*> inputs_;
  std::vector<OnnxValue*> outputs_;
  std::vector<std::string> notes_;
  std::vector<OnnxLevelFault> level_faults_;
  size_t temporaries_ = 0;
};

// The sizes that both broadcast to; refuses the node if there are none.
OnnxSizes BroadcastSizes(const OnnxCall& call, const OnnxSizes& a, const OnnxSizes& b);

// --- rows ----------------------------------------------------------------------------------------

// One row an operator: which versions of it are known, and how a node becomes descriptors.
struct OnnxRow {
  std::string_view name;
  std::string_view versions;   // such as "7 13": those that differ for ONNX, oldest first
  std::string_view operators;  // the descriptors that it becomes, without DML_OPERATOR_
  void (*import)(OnnxCall& call);
  std::string_view remark = {};  // for the manual
  std::string_view domain = {};
};

std::span<const std::span<const OnnxRow>> OnnxRows();  // by family

const OnnxRow* FindOnnxRow(std::string_view domain, std::string_view name);

// The version of an operator that an opset means: the newest of `versions` that it has; 0 if it has
// none of them.
int VersionIn(int64_t opset, std::string_view versions);

// The versions of an operator of ONNX that no DirectML operator computes; empty if ONNX has none of
// that name.
std::string_view VersionsWithoutRow(std::string_view name);
std::vector<std::string_view> OnnxNamesWithoutRow();

// Says why an operator of a model has no row: nothing computes it, the model's opset does not have
// it yet, or ONNX has none of that name.
std::string WhyWithoutRow(std::string_view domain, std::string_view name);

// The newest opset whose operators are known.
inline constexpr int64_t kNewestOpset = 28;
// The opset that older ones are read as, and that of a model that states none.
inline constexpr int64_t kOldestOpset = 7;

}  // namespace dmlop
