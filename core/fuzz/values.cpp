// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/values.h"

#include <algorithm>
#include <memory>

#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

using enum InputClass;

constexpr InputClass kIntegerClasses[] = {kOrdinary, kTies, kCancellation, kEnds};
constexpr InputClass kFloatClasses[] = {kOrdinary,   kTies,       kCancellation, kEnds,
                                        kSubnormals, kInfinities, kNan};
constexpr auto kAllButNan = std::span(kFloatClasses).first(6);
constexpr auto kFinite = std::span(kFloatClasses).first(5);
constexpr InputClass kIndexClasses[] = {kOrdinary, kBelowZero};
constexpr InputClass kModerate[] = {kOrdinary, kTies, kCancellation, kSubnormals};

// --- drawing -------------------------------------------------------------------------------------

// The same on every machine.
uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

// Finds the ranges of an input with indices by what the operator warns of.
class IndexRanges {
 public:
  struct Range {
    int64_t least;
    int64_t most;
  };

  IndexRanges(const OperatorDesc& op, size_t input)
      : zeros_(WithZeros(op)), probe_(zeros_.inputs[input]) {
    for (const TensorSlot& slot : TensorSlots(op)) {
      largest_ = std::max<int64_t>(largest_, *std::ranges::max_element(*slot.desc->sizes));
    }
    const int64_t columns = HasTuples(op) ? probe_.layout.sizes.back() : 1;
    if (columns > 1) probe_.layout.strides.back() = 1;
    elements_.resize(static_cast<size_t>(columns));
    probe_.data = reinterpret_cast<const std::byte*>(elements_.data());
  }

  // One for each entry of a tuple, or for all indices.
  std::vector<Range> Find() {
    const bool is_signed = IsFloat(probe_.type) || IsSigned(probe_.type);
    std::vector<Range> ranges;
    for (column_ = 0; column_ < elements_.size(); ++column_) {
      ranges.push_back({is_signed ? -Farthest(-1, largest_ + 1) : 0, Farthest(1, largest_ + 1)});
    }
    return ranges;
  }

 private:
  bool IsRight(int64_t number) {
    std::byte* elements = reinterpret_cast<std::byte*>(elements_.data());
    std::byte* element = elements + column_ * ByteWidth(probe_.type);
    SetWhole(probe_.type, number, element);
    const bool is_right = HasSoundValues(zeros_);
    SetWhole(probe_.type, 0, element);
    return is_right;
  }

  // The largest distance from 0 up to `most` that is right.
  int64_t Farthest(int64_t sign, int64_t most) {
    if (IsRight(sign * most)) return most;
    int64_t right = 0;
    int64_t wrong = most;
    while (wrong - right > 1) {
      const int64_t middle = right + (wrong - right) / 2;
      (IsRight(sign * middle) ? right : wrong) = middle;
    }
    return right;
  }

  Computation zeros_;
  ConstTensorView& probe_;
  std::vector<uint64_t> elements_;
  size_t column_ = 0;
  int64_t largest_ = 0;
};

class InputDrawer {
 public:
  InputDrawer(const OperatorDesc& op, const ValueClasses& classes, uint64_t draw, bool open)
      : computation_{op, {}}, classes_(classes), draw_(draw), open_(open) {}

  std::optional<Computation> Draw() {
    for (const TensorSlot& slot : TensorSlots(op(), TensorRole::kInput)) {
      if (!DrawInput(slot)) return std::nullopt;
    }
    if (!open_ && !HasSoundValues(computation_)) return std::nullopt;
    return std::move(computation_);
  }

 private:
  const OperatorDesc& op() const { return computation_.op; }

  TensorView NewTensor(const TensorDesc& desc) {
    const Layout layout = LayoutOf(desc);
    const auto bytes = static_cast<size_t>(Extent(layout)) * ByteWidth(*desc.data_type);
    const auto buffer = std::make_shared<Buffer>(bytes);
    computation_.storage.push_back(buffer);
    return {buffer->data(), *desc.data_type, layout};
  }

  bool DrawInput(const TensorSlot& slot) {
    RandomEngine engine(draw_ * 0x9E3779B97F4A7C15 + HashOf(slot.path));
    const TensorView view = NewTensor(*slot.desc);
    if (!Fill(slot, engine, view)) return false;
    computation_.inputs.push_back(AsConst(view));
    return true;
  }

  bool Fill(const TensorSlot& slot, RandomEngine& engine, const TensorView& view) {
    if (!open_ && HasPlaces(op(), slot)) return DrawPlaces(op(), engine, view);
    FillByClass(engine, ClassOf(slot), open_ ? ValueDomain() : DomainOf(op(), slot), view);
    if (HasIndices(slot)) {
      FillWithIndices(slot, engine, view);
    } else if (!open_) {
      MendValues(op(), slot, view);
    }
    return true;
  }

  InputClass ClassOf(const TensorSlot& slot) const {
    const auto found = classes_.find(slot.path);
    return found == classes_.end() ? kOrdinary : found->second;
  }

  void FillWithIndices(const TensorSlot& slot, RandomEngine& engine, const TensorView& view) {
    if (open_) return DrawIndices(engine, op(), view);
    auto ranges = IndexRanges(op(), computation_.inputs.size()).Find();
    const bool is_below_zero = ClassOf(slot) == kBelowZero;
    // Entries of different tuples may share a place.
    if (HasOverlap(view.layout)) ranges = {Common(ranges)};
    const Entropy from(engine);
    size_t k = 0;
    ForEachElement(view, [&](std::byte* element) {
      const auto& [least, most] = ranges[k % ranges.size()];
      const bool is_below = is_below_zero && least < 0 && (k < ranges.size() || from.OneIn(2));
      SetWhole(view.type, is_below ? from.Int(least, -1) : from.Int(0, most), element);
      ++k;
    });
  }

  static IndexRanges::Range Common(const std::vector<IndexRanges::Range>& ranges) {
    IndexRanges::Range common = ranges.front();
    for (const auto& [least, most] : ranges) {
      common = {std::max(common.least, least), std::min(common.most, most)};
    }
    return common;
  }

  Computation computation_;
  const ValueClasses& classes_;
  uint64_t draw_;
  bool open_;
};

// Returns whether DirectML says what indices below 0 do.
bool MayCountFromEnd(const OperatorDesc& op, const TensorSlot& input) {
  if (HasPlaces(op, input) || !IsSigned(*input.desc->data_type)) return false;
  const auto slots = TensorSlots(op, TensorRole::kInput);
  const auto number = std::ranges::find(slots, input.path, &TensorSlot::path) - slots.begin();
  const auto ranges = IndexRanges(op, static_cast<size_t>(number)).Find();
  return std::ranges::all_of(ranges, [](const auto& range) { return range.least < 0; });
}

}  // namespace

std::span<const InputClass> ValueClassesOf(const OperatorDesc& op, const TensorSlot& input,
                                           bool open) {
  const bool is_float = IsFloat(*input.desc->data_type);
  if (open) return is_float ? std::span<const InputClass>(kFloatClasses) : kIntegerClasses;
  if (HasIndices(input)) {
    return std::span(kIndexClasses).first(MayCountFromEnd(op, input) ? 2 : 1);
  }
  if (!is_float) return kIntegerClasses;
  switch (ChoiceOf(op)) {
    case Choice::kNone:
      return kFloatClasses;
    case Choice::kOfInputs:
      return kAllButNan;
    case Choice::kOfValues:
      return kFinite;
    default:
      return kModerate;
  }
}

Computation WithZeros(const OperatorDesc& op) {
  alignas(8) static constexpr ElementBytes kZero{};
  Computation result{op, {}, {}};
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kInput)) {
    const Dims sizes(slot.desc->sizes->begin(), slot.desc->sizes->end());
    result.inputs.push_back(
        {kZero.data(), StoredAs(*slot.desc->data_type), {sizes, Dims::Filled(sizes.size(), 0)}});
  }
  return result;
}

bool HasSoundValues(const Computation& computation) {
  Diagnostics warnings;
  WarnOfValues(computation.op, computation.inputs, warnings);
  return warnings.list().empty();
}

std::optional<Computation> DrawInputs(const OperatorDesc& op, const ValueClasses& classes,
                                      uint64_t draw, bool open) {
  return InputDrawer(op, classes, draw, open).Draw();
}

// --- indices -------------------------------------------------------------------------------------

namespace {

// A size that the operator's indices may refer to.
int64_t SomeSize(const Entropy& from, const OperatorDesc& desc) {
  std::vector<int64_t> sizes;
  const uint32_t* axis = desc.find_if_known(kAxis);
  for (const TensorSlot& slot : TensorSlots(desc)) {
    const Dims dims(slot.desc->sizes->begin(), slot.desc->sizes->end());
    if (axis != nullptr) sizes.push_back(dims[*axis]);
    if (axis == nullptr) sizes.insert(sizes.end(), {dims[from.Index(dims.size())], Product(dims)});
  }
  return axis != nullptr ? *std::max_element(sizes.begin(), sizes.end()) : from.OneOf(sizes);
}

}  // namespace

void DrawIndices(const Entropy& from, const OperatorDesc& desc, const TensorView& view) {
  const int64_t size = SomeSize(from, desc);
  const bool has_signs = view.type == DataType::kInt64 || view.type == DataType::kInt32;
  const int64_t slack = from.OneIn(3) ? 2 : 0;
  const int64_t least = has_signs && from.OneIn(2) ? -size - slack : 0;
  const uint64_t wild = from.OneIn(4) ? 6 : 1000;
  RandomEngine engine = from.Fork();
  const Entropy values(engine);
  ForEachElement(view, [&](std::byte* element) {
    if (values.OneIn(wild)) return;
    SetWhole(view.type, values.Int(least, size - 1 + slack), element);
  });
}

}  // namespace dmlop
