// SPDX-License-Identifier: Apache-2.0
// Changes a case so that it stays valid: whatever hangs on what is changed follows, and the inputs
// keep elements of what they were.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/arithmetic/computation.h"
#include "core/fuzz/kept_fields.h"
#include "core/fuzz/values.h"
#include "core/ops/operator.h"

namespace dmlop {

// The cases that are drawn, or that a case may become.
struct CaseBounds {
  FeatureLevel level = kHighestFeatureLevel;
  DataTypeSet types{};          // of the first tensor, as it is drawn; empty: all
  std::vector<size_t> ranks{};  // likewise
  int64_t max_elements = 4096;  // of each tensor
  bool packed_only = false;
  bool open = false;                     // also what DirectML leaves open
  std::vector<DescriptorChange> kept{};  // fields that stay: pointers and values
};

// The kinds of places that the elements of a tensor may have in memory. A dimension of size 1 makes
// no difference, unless its stride is 0, which devices ask for to see that a tensor is broadcast.
enum class LayoutKind : uint8_t { kPacked, kBroadcast, kPermuted, kPadded };
inline constexpr std::string_view kLayoutKinds[] = {"packed", "broadcast", "permuted", "padded"};
LayoutKind LayoutKindOf(const TensorDesc& desc);
inline std::string_view LayoutNameOf(const TensorDesc& desc) {
  return kLayoutKinds[static_cast<size_t>(LayoutKindOf(desc))];
}

// A tensor comes from a path in the original, and each dimension from one there, unless it is new.
struct TensorOrigin {
  std::string path;
  std::vector<std::optional<size_t>> dims;
};

// A descriptor that is being changed. Strides, and the sizes of outputs that follow from the rest,
// are left out. Paths are relative to the descriptor, as "InputTensor/Sizes/3".
struct CaseDraft {
  OperatorDesc op;
  std::map<std::string, TensorOrigin> origins;  // by paths in `op`; none for a new tensor
  // These paths must stay as they are now; the numbers are those before.
  std::map<std::string, int64_t> kept;
  std::map<std::string, LayoutKind> layouts;  // others are laid out as before
  bool keeps_last = false;  // a smaller tensor keeps its last elements along each axis

  // Sets a whole number, and keeps it.
  void Set(const std::string& path, int64_t value);
  // Takes `count` dimensions from `first` on out of all tensors that have the rank of the first
  // one, or puts dimensions of size 1 there. Entries of arrays go with them, and axes follow.
  void EraseDims(size_t first, size_t count);
  void InsertDims(size_t first, size_t count);
  // Takes a tensor out of an array of them.
  void EraseEntry(const Field& field, size_t entry);
};

// A case with what its changes have in common.
class CaseChanger {
 public:
  CaseChanger(Computation original, const CaseBounds& bounds);

  const Computation& original() const { return original_; }
  const CaseBounds& bounds() const { return bounds_; }
  const CaseDraft& draft() const { return draft_; }

  // Completes the descriptor: what contradicts a number that is kept is changed, too. Returns
  // nothing if no valid one was found.
  std::optional<OperatorDesc> Fitted(const CaseDraft& draft) const;
  // Returns the same as a case within the bounds. A new tensor has values of the class.
  std::optional<Computation> Case(const CaseDraft& draft, const ValueClasses& classes = {}) const;
  // Returns the case with `count` dimensions from `first` on as one, in all tensors that have the
  // rank of the first tensor, and with packed tensors; the elements stay as they are. Returns
  // nothing if that is not valid.
  std::optional<Computation> WithMergedDims(size_t first, size_t count) const;

 private:
  bool IsWithin(const OperatorDesc& op) const;
  void Relayout(const CaseDraft& draft, OperatorDesc& op) const;
  bool FillInputs(const CaseDraft& draft, const ValueClasses& classes, int64_t modulus,
                  Computation& result) const;

  Computation original_;
  CaseBounds bounds_;
  KeptFields kept_;
  CaseDraft draft_;
  std::map<std::string, TensorDesc> descs_;       // of all tensors of the original
  std::map<std::string, ConstTensorView> views_;  // of its inputs
};

// Returns the element of a type that is nearest to a number.
ElementBytes ConvertedTo(DataType type, double value);

// The rank of the first tensor.
size_t RankOf(const OperatorDesc& op);
// Its last axis.
inline int64_t LastAxisOf(const OperatorDesc& op) {
  return static_cast<int64_t>(RankOf(op)) - 1;
}

// --- repair --------------------------------------------------------------------------------------

// The number of tries that a repair takes at most. A quick one begins with the numbers that a
// message names, a thorough one with sizes that follow what is kept, in proportion where they can.
enum class RepairEffort : uint8_t { kQuick = 6, kThorough = 120 };

// Makes a changed descriptor valid by changing what contradicts the change, and completes it. The
// paths of `kept` lead to numbers that stay, with what they were before the change. The numbers
// that a message names are tried in place of the wrong one; sizes that were equal to one that is
// kept, or multiples of it, are tried to follow it. Returns nothing if that does not lead to a
// valid descriptor. The result depends on the arguments only.
std::optional<OperatorDesc> Repaired(const OperatorDesc& op,
                                     const std::map<std::string, int64_t>& kept, FeatureLevel level,
                                     RepairEffort effort = RepairEffort::kThorough);

}  // namespace dmlop
