// SPDX-License-Identifier: Apache-2.0
// Running sums, and states of networks, that begin anew in the middle.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/judge/input_change.h"

namespace dmlop {
namespace {

// Whether an operator is a network, whose first input has its steps along axis 1.
bool IsNetwork(const OperatorDesc& op) {
  return std::ranges::any_of(
      op.fields(), [](const Field* field) { return field->kind == FieldKind::kActivations; });
}

// Cuts the tensors of a scan along an axis of the output and computes each piece by itself.
class Pieces {
 public:
  Pieces(const Evidence& evidence, size_t axis, int64_t length)
      : evidence_(evidence), axis_(axis), length_(length) {}

  std::vector<VariedElement> operator()(std::span<const int64_t> elements) const {
    std::map<int64_t, std::vector<size_t>> by_piece;
    for (size_t i = 0; i < elements.size(); ++i) {
      by_piece[IndexOf(sizes(), elements[i])[axis_] / length_].push_back(i);
    }
    std::vector<VariedElement> varied(elements.size());
    for (const auto& [piece, members] : by_piece) Compute(piece, members, elements, varied);
    return varied;
  }

 private:
  const Dims& sizes() const { return evidence_.expected.sizes; }

  void Compute(int64_t piece, const std::vector<size_t>& members, std::span<const int64_t> elements,
               std::vector<VariedElement>& varied) const {
    const int64_t begin = piece * length_;
    const auto computation = Cut(begin, std::min(length_, sizes()[axis_] - begin));
    if (!computation) return;
    const Dims cut =
        LayoutOf(*TensorSlots(computation->op, TensorRole::kOutput)[evidence_.output].desc).sizes;
    std::vector<int64_t> numbers;
    for (const size_t i : members) {
      Dims index = IndexOf(sizes(), elements[i]);
      index[axis_] -= begin;
      numbers.push_back(OffsetOf(PackedLayout(cut), index));
    }
    const std::vector<ElementBytes> values = ElementsOf(*computation, evidence_.output, numbers);
    for (size_t k = 0; k < members.size(); ++k) {
      varied[members[k]] = {values[k], elements[members[k]]};
    }
  }

  std::optional<Computation> Cut(int64_t begin, int64_t size) const {
    Computation cut = evidence_.computation;
    size_t input = 0;
    for (const MutableTensorSlot& slot : TensorSlots(cut.op)) {
      const auto axis = AxisOf(slot, input);
      const bool is_input = slot.role() == TensorRole::kInput;
      if (axis && is_input) cut.inputs[input] = cut.inputs[input].Slice(*axis, begin, size);
      input += is_input ? 1 : 0;
      if (!axis) continue;
      (*slot.desc->sizes)[*axis] = static_cast<uint32_t>(size);
      slot.desc->strides.reset();
      slot.desc->total_tensor_size_in_bytes = 0;
    }
    Diagnostics faults;
    Check(cut.op, kHighestFeatureLevel, faults);
    return faults.has_errors() ? std::nullopt : std::optional(std::move(cut));
  }

  // The axis of a tensor that is cut.
  std::optional<size_t> AxisOf(const MutableTensorSlot& slot, size_t input) const {
    const Dims own(slot.desc->sizes->begin(), slot.desc->sizes->end());
    const bool is_output = slot.role() == TensorRole::kOutput;
    if (!IsNetwork(evidence_.computation.op) || is_output) {
      return own == sizes() ? std::optional(axis_) : std::nullopt;
    }
    return input == 0 ? std::optional<size_t>(1) : std::nullopt;
  }

  const Evidence& evidence_;
  size_t axis_;
  int64_t length_;
};

// Those of a scan, whose tensors are all as large, or of a sequence of states.
std::vector<size_t> AxesOf(const Evidence& evidence) {
  const Computation& computation = evidence.computation;
  const Dims& sizes = evidence.expected.sizes;
  const bool is_network = IsNetwork(computation.op);
  const bool is_scan = !computation.inputs.empty() &&
                       std::ranges::all_of(computation.inputs,
                                           [&](const auto& x) { return x.layout.sizes == sizes; });
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const bool runs =
        is_network ? axis == 0 && sizes[0] == computation.inputs.front().layout.sizes[1] : is_scan;
    if (runs && sizes[axis] > 1) axes.push_back(axis);
  }
  return axes;
}

// What begins anew is right up to the first such place, or from the last one on.
std::vector<int64_t> LengthsOfPieces(const Evidence& evidence, size_t axis) {
  constexpr size_t kMost = 16;
  int64_t first = evidence.expected.sizes[axis];
  int64_t last = 0;
  for (const int64_t element : evidence.wrong) {
    const int64_t coordinate = IndexOf(evidence.expected.sizes, element)[axis];
    first = std::min(first, coordinate);
    last = std::max(last, coordinate);
  }
  std::vector<int64_t> lengths;
  if (first > 0) lengths.push_back(first);
  for (int64_t length = last + 1; length > 0 && lengths.size() < kMost; --length) {
    if ((last + 1) % length == 0 && length < evidence.expected.sizes[axis]) {
      lengths.push_back(length);
    }
  }
  return lengths;
}

}  // namespace

std::vector<Hypothesis> NewBeginningsOf(const Evidence& evidence, const Sample& few) {
  std::vector<Hypothesis> found;
  for (const size_t axis : AxesOf(evidence)) {
    for (const int64_t length : LengthsOfPieces(evidence, axis)) {
      Hypothesis hypothesis{{fmt::format("head-missing:axis={},every={}", axis, length)},
                            fmt::format("begun anew at every {} along axis {}", length, axis),
                            Pieces(evidence, axis, length),
                            nullptr};
      if (IsPromising(evidence, hypothesis, few)) found.push_back(std::move(hypothesis));
    }
  }
  return found;
}

}  // namespace dmlop
