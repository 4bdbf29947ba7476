// SPDX-License-Identifier: Apache-2.0
// Running sums, and states of networks, that begin anew in the middle.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/judge/evidence.h"
#include "core/judge/omitted_terms.h"

namespace dmlop {
namespace {

struct KindOfState {
  FirstState state;
  std::string_view name;  // that an id has
  std::string_view text;
};

constexpr KindOfState kStates[] = {
    {FirstState::kGiven, "", ""},
    {FirstState::kZeroLater, "later-zeros", ", with zeros but for the first time"},
    {FirstState::kZero, "zeros", ", with zeros"}};

bool IsFirstState(const TensorSlot& slot) {
  return slot.path.ends_with("InitTensor");
}

// Returns whether a network is given the states that it begins with.
bool HasFirstStates(const OperatorDesc& op) {
  return IsNetwork(op) && std::ranges::any_of(TensorSlots(op, TensorRole::kInput), IsFirstState);
}

// --- pieces --------------------------------------------------------------------------------------

// A part of the coordinates of an axis, computed by itself.
struct Piece {
  int64_t begin;
  int64_t size;
};

void Shorten(TensorDesc& desc, size_t axis, int64_t size) {
  (*desc.sizes)[axis] = static_cast<uint32_t>(size);
  desc.strides.reset();
  desc.total_tensor_size_in_bytes = 0;
}

// Some elements that are computed with a piece: their places among those that are asked for, and
// their numbers in its output.
struct ElementsOfPiece {
  std::vector<size_t> places;
  std::vector<int64_t> numbers;
};

// Cuts the tensors of a computation and computes each piece by itself.
class CutComputation {
 public:
  CutComputation(const Computation& original, size_t output, const AxisPieces& pieces)
      : original_(original),
        output_(output),
        sizes_(OutputSizes(original, output)),
        pieces_(pieces) {}
  virtual ~CutComputation() = default;

  std::vector<ElementBytes> Of(std::span<const int64_t> elements,
                               const ElementsFunction& compute) const {
    std::map<int64_t, ElementsOfPiece> by_begin;
    for (size_t i = 0; i < elements.size(); ++i) {
      Dims index = IndexOf(sizes_, elements[i]);
      const int64_t begin = BeginOfPiece(CoordinateOf(index));
      Dims sizes = sizes_;
      if (IsCut(sizes_)) {
        index[OutputAxis()] -= begin;
        sizes[OutputAxis()] = PieceAt(begin).size;
      }
      by_begin[begin].places.push_back(i);
      by_begin[begin].numbers.push_back(OffsetOf(PackedLayout(sizes), index));
    }
    std::vector<ElementBytes> values(elements.size());
    for (const auto& [begin, some] : by_begin) {
      const auto cut = Cut(PieceAt(begin));
      if (!cut) return {};
      const std::vector<ElementBytes> found = compute(*cut, output_, some.numbers);
      for (size_t k = 0; k < found.size(); ++k) values[some.places[k]] = found[k];
    }
    return values;
  }

 protected:
  // The coordinate along the axis that is cut at which an element of the output is computed.
  virtual int64_t CoordinateOf(const Dims& index) const = 0;
  virtual int64_t Length() const = 0;  // of the axis
  virtual size_t OutputAxis() const = 0;
  virtual bool IsCut(const Dims& output) const = 0;
  virtual std::optional<size_t> InputAxis(size_t input) const = 0;
  virtual void ChangeInputs(const Piece& piece, Computation& cut) const = 0;

  const Computation& original_;
  size_t output_;
  Dims sizes_;
  AxisPieces pieces_;

 private:
  int64_t BeginOfPiece(int64_t coordinate) const {
    const int64_t behind = coordinate - pieces_.first;
    return behind < 0 ? 0 : coordinate - behind % pieces_.length;
  }

  Piece PieceAt(int64_t begin) const {
    const int64_t length = begin < pieces_.first ? pieces_.first : pieces_.length;
    return {begin, std::min(length, Length() - begin)};
  }

  std::optional<Computation> Cut(const Piece& piece) const {
    Computation cut = original_;
    size_t input = 0;
    for (const MutableTensorSlot& slot : TensorSlots(cut.op)) {
      if (slot.role() == TensorRole::kOutput) {
        if (IsCut(LayoutOf(*slot.desc).sizes)) Shorten(*slot.desc, OutputAxis(), piece.size);
        continue;
      }
      if (const auto axis = InputAxis(input)) {
        Shorten(*slot.desc, *axis, piece.size);
        cut.inputs[input] = cut.inputs[input].Slice(*axis, piece.begin, piece.size);
      }
      ++input;
    }
    ChangeInputs(piece, cut);
    Diagnostics faults;
    Check(cut.op, kHighestFeatureLevel, faults);
    return faults.has_errors() ? std::nullopt : std::optional(std::move(cut));
  }
};

// The tensors of a scan are all as large.
class CutScan : public CutComputation {
 public:
  using CutComputation::CutComputation;

 private:
  int64_t CoordinateOf(const Dims& index) const override { return index[pieces_.axis]; }
  int64_t Length() const override { return sizes_[pieces_.axis]; }
  size_t OutputAxis() const override { return pieces_.axis; }
  bool IsCut(const Dims& output) const override { return output == sizes_; }
  std::optional<size_t> InputAxis(size_t input) const override {
    const bool is_cut = original_.inputs[input].layout.sizes == sizes_;
    return is_cut ? std::optional(pieces_.axis) : std::nullopt;
  }
  void ChangeInputs(const Piece&, Computation&) const override {}
};

// The steps of a network's first input lie along axis 1, those of a sequence of states along axis
// 0. An output of one state has the last one of each item.
class CutNetwork : public CutComputation {
 public:
  using CutComputation::CutComputation;

 private:
  static constexpr std::string_view kLengths = "SequenceLengthsTensor";

  int64_t CoordinateOf(const Dims& index) const override {
    if (IsCut(sizes_)) return index[0];
    const int64_t last = IsBackward(index[1]) ? 0 : StepsOf(index[2]) - 1;
    return std::max<int64_t>(last, 0);
  }
  int64_t Length() const override { return original_.inputs.front().layout.sizes[1]; }
  size_t OutputAxis() const override { return 0; }
  bool IsCut(const Dims& output) const override { return Length() > 1 && output[0] == Length(); }
  std::optional<size_t> InputAxis(size_t input) const override {
    return input == 0 ? std::optional<size_t>(1) : std::nullopt;
  }

  void ChangeInputs(const Piece& piece, Computation& cut) const override {
    const std::vector<TensorSlot> slots = TensorSlots(original_.op, TensorRole::kInput);
    for (size_t input = 0; input < slots.size(); ++input) {
      if (slots[input].path == kLengths) ShortenItems(piece, cut.inputs[input], cut);
      if (IsFirstState(slots[input])) ClearStates(piece, cut.inputs[input], cut);
    }
  }

  // The steps of each item within the piece.
  void ShortenItems(const Piece& piece, ConstTensorView& lengths, Computation& cut) const {
    const TensorView within = PackedCopy(lengths, cut);
    for (int64_t item = 0; item < within.layout.element_count(); ++item) {
      const auto steps =
          static_cast<uint32_t>(std::clamp<int64_t>(StepsOf(item) - piece.begin, 0, piece.size));
      std::memcpy(within.data + item * static_cast<int64_t>(sizeof steps), &steps, sizeof steps);
    }
    lengths = AsConst(within);
  }

  void ClearStates(const Piece& piece, ConstTensorView& states, Computation& cut) const {
    if (pieces_.state == FirstState::kGiven) return;
    const TensorView cleared = PackedCopy(states, cut);
    const Dims& sizes = states.layout.sizes;
    const auto width = sizes[3] * static_cast<int64_t>(ByteWidth(states.type));
    for (int64_t direction = 0; direction < sizes[1]; ++direction) {
      for (int64_t item = 0; item < sizes[2]; ++item) {
        const bool is_first = IsFirst(piece, direction, item);
        if (pieces_.state == FirstState::kZeroLater && is_first) continue;
        std::memset(cleared.data + (direction * sizes[2] + item) * width, 0,
                    static_cast<size_t>(width));
      }
    }
    states = AsConst(cleared);
  }

  // Returns whether a direction begins with the piece.
  bool IsFirst(const Piece& piece, int64_t direction, int64_t item) const {
    return IsBackward(direction) ? piece.begin + piece.size >= StepsOf(item) : piece.begin == 0;
  }

  bool IsBackward(int64_t direction) const { return direction == 1 || Begins("BACKWARD"); }

  bool Begins(std::string_view direction) const {
    const auto fields = original_.op.fields();
    const auto found = std::ranges::find(fields, "Direction", &Field::name);
    if (found == fields.end()) return false;
    const auto place = static_cast<size_t>(found - fields.begin());
    const auto* const number = std::get_if<uint32_t>(&original_.op.values()[place]);
    return number != nullptr && (*found)->names.names[*number] == direction;
  }

  int64_t StepsOf(int64_t item) const {
    const std::vector<TensorSlot> slots = TensorSlots(original_.op, TensorRole::kInput);
    const auto lengths = std::ranges::find(slots, kLengths, &TensorSlot::path);
    if (lengths == slots.end()) return Length();
    const ConstTensorView& view = original_.inputs[static_cast<size_t>(lengths - slots.begin())];
    const int64_t offset = OffsetOfElement(view.layout, item);
    const double steps =
        ValueOf(view.type, view.data + offset * static_cast<int64_t>(ByteWidth(view.type)));
    return std::min(static_cast<int64_t>(steps), Length());
  }
};

// --- hypotheses ----------------------------------------------------------------------------------

// Returns the axes of a scan, whose tensors are all as large, or of a sequence of states.
std::vector<size_t> AxesOf(const Evidence& evidence) {
  const Computation& computation = evidence.computation;
  const Dims& sizes = evidence.expected.sizes;
  const bool is_network = IsNetwork(computation.op);
  if (is_network && sizes[0] == 1) return {0};  // perhaps the last state alone
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

std::vector<VariedElement> Varied(std::span<const int64_t> elements,
                                  const std::vector<ElementBytes>& values) {
  std::vector<VariedElement> varied(elements.size());
  for (size_t i = 0; i < values.size(); ++i) varied[i] = {values[i], elements[i]};
  return varied;
}

// A result that begins anew is right up to the first such place, or from the last one on.
std::vector<AxisPieces> PiecesAlong(const Evidence& evidence, size_t axis) {
  constexpr size_t kMost = 16;
  const int64_t size = evidence.expected.sizes[axis];
  if (size == 1) return {{axis, 1, 1}};
  int64_t first = size;
  int64_t last = 0;
  for (const int64_t element : evidence.wrong) {
    const int64_t coordinate = IndexOf(evidence.expected.sizes, element)[axis];
    first = std::min(first, coordinate);
    last = std::max(last, coordinate);
  }
  std::vector<AxisPieces> found;
  if (first > 0) found.push_back({axis, first, first});
  const int64_t behind = size - 1 - last;
  if (behind > 0 && size % behind > 0) found.push_back({axis, behind, size % behind});
  for (int64_t length = last + 1; length > 0 && found.size() < kMost; --length) {
    if ((last + 1) % length == 0 && length != first && length < size) {
      found.push_back({axis, length, length});
    }
  }
  return found;
}

Hypothesis InPieces(const Evidence& evidence, const AxisPieces& pieces, const KindOfState& kind) {
  const auto [axis, length, first, state] = pieces;
  const std::string from = first == length ? "" : fmt::format(",from={}", first);
  Hypothesis hypothesis{
      {fmt::format("head-missing:axis={},every={}{}{}{}", axis, length, from,
                   kind.name.empty() ? "" : ",", kind.name)},
      fmt::format("begun anew at every {} along axis {}{}", length, axis, kind.text),
      nullptr,
      nullptr};
  hypothesis.compute = [&evidence, pieces](std::span<const int64_t> elements) {
    return Varied(elements,
                  BegunAnew(evidence.computation, evidence.output, pieces, elements, ElementsOf));
  };
  return hypothesis;
}

}  // namespace

std::optional<FirstState> FindFirstState(std::string_view name) {
  const auto* const found = std::ranges::find(kStates, name, &KindOfState::name);
  return found == std::end(kStates) ? std::nullopt : std::optional(found->state);
}

std::vector<ElementBytes> BegunAnew(const Computation& original, size_t output,
                                    const AxisPieces& pieces, std::span<const int64_t> elements,
                                    const ElementsFunction& compute) {
  if (pieces.state != FirstState::kGiven && !HasFirstStates(original.op)) return {};
  if (IsNetwork(original.op)) return CutNetwork(original, output, pieces).Of(elements, compute);
  return CutScan(original, output, pieces).Of(elements, compute);
}

std::vector<Hypothesis> NewBeginningsOf(const Evidence& evidence, const SampledElements& few) {
  const bool has_states = HasFirstStates(evidence.computation.op);
  std::vector<Hypothesis> found;
  for (const size_t axis : AxesOf(evidence)) {
    for (AxisPieces pieces : PiecesAlong(evidence, axis)) {
      for (const KindOfState& kind : kStates) {
        pieces.state = kind.state;
        const bool is_zero = kind.state != FirstState::kGiven;
        if (is_zero && (!has_states || pieces.length > 1)) continue;
        Hypothesis hypothesis = InPieces(evidence, pieces, kind);
        if (IsPromising(evidence, hypothesis, few)) found.push_back(std::move(hypothesis));
      }
    }
  }
  return found;
}

}  // namespace dmlop
