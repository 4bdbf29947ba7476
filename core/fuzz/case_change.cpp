// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/case_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "core/fuzz/field_value.h"
#include "core/fuzz/generator.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

template <typename Array>
void EraseAt(Array& array, size_t first, size_t count) {
  const auto begin = array.begin() + static_cast<std::ptrdiff_t>(first);
  array.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
}

// Calls body(array, place) for each array of numbers that has an entry for each dimension from some
// one on, with the place of the entry of dimension `first`.
template <typename Body>
void ForEntriesOfDims(OperatorDesc& op, size_t rank, size_t first, Body&& body) {
  for (size_t i = 0; i < op.fields().size(); ++i) {
    if (NamesAxes(*op.fields()[i])) continue;
    std::visit(
        [&]<typename T>(T& array) {
          if constexpr (requires { array.data(); } && !std::is_same_v<T, std::vector<TensorDesc>> &&
                        !std::is_same_v<T, std::vector<OperatorDesc>>) {
            const size_t before = rank - std::min(rank, array.size());
            if (!array.empty() && first >= before) body(array, first - before);
          }
        },
        op.values()[i]);
  }
}

// Replaces each axis by move(axis); an entry of an array of them goes if there is none.
template <typename Move>
void MoveAxes(OperatorDesc& op, Move&& move) {
  for (size_t i = 0; i < op.fields().size(); ++i) {
    if (!NamesAxes(*op.fields()[i])) continue;
    if (auto* axis = std::get_if<uint32_t>(&op.values()[i])) *axis = move(*axis).value_or(0);
    auto* axes = std::get_if<std::vector<uint32_t>>(&op.values()[i]);
    if (axes == nullptr) continue;
    std::vector<uint32_t> moved;
    for (const uint32_t axis : *axes) {
      if (const auto there = move(axis)) moved.push_back(*there);
    }
    *axes = moved;
  }
}

// Takes the entries of dimensions out of arrays, and lets axes follow.
void EraseEntriesOfDims(OperatorDesc& op, size_t rank, size_t first, size_t count) {
  ForEntriesOfDims(op, rank, first,
                   [&](auto& array, size_t place) { EraseAt(array, place, count); });
  MoveAxes(op, [&](uint32_t axis) -> std::optional<uint32_t> {
    if (axis < first) return axis;
    if (axis < first + count) return std::nullopt;
    return axis - static_cast<uint32_t>(count);
  });
}

void ClearLayout(TensorDesc& desc) {
  desc.strides.reset();
  desc.dimension_count.reset();
  desc.total_tensor_size_in_bytes = 0;
}

void ClearCounts(OperatorDesc& op) {
  for (size_t i = 0; i < op.fields().size(); ++i) {
    if (op.fields()[i]->kind == FieldKind::kCount) op.values()[i] = FieldValue();
  }
}

// Returns the descriptor without layouts, counts, and sizes of outputs that follow from the rest.
OperatorDesc BareDesc(OperatorDesc op, FeatureLevel level) {
  ClearCounts(op);
  for (const MutableTensorSlot& slot : TensorSlots(op)) ClearLayout(*slot.desc);
  for (const MutableTensorSlot& slot : TensorSlots(op)) {
    if (slot.role() == TensorRole::kInput) continue;
    const auto stated = std::exchange(slot.desc->sizes, std::nullopt);
    OperatorDesc completed = op;
    Diagnostics faults;
    Check(completed, level, faults);
    const auto slots = TensorSlots(std::as_const(completed));
    const auto same = std::ranges::find(slots, slot.path, &TensorSlot::path);
    if (faults.has_errors() || same->desc->sizes != stated) slot.desc->sizes = stated;
  }
  return op;
}

// --- layouts -------------------------------------------------------------------------------------

Dims StridesOfKind(LayoutKind kind, const Dims& sizes) {
  Dims strides = kind == LayoutKind::kPermuted ? FortranStrides(sizes) : PackedStrides(sizes);
  if (kind == LayoutKind::kPadded) {
    Dims padded = sizes;
    padded.back() += 1;
    strides = PackedStrides(padded);
    if (sizes.size() == 1) strides.back() = 2;
  }
  if (kind == LayoutKind::kBroadcast) {
    size_t repeated = sizes.size() - 1;
    while (repeated > 0 && sizes[repeated] == 1) --repeated;
    Dims others = sizes;
    others[repeated] = 1;
    strides = PackedStrides(others);
    strides[repeated] = 0;
  }
  return strides;
}

// Lays dimensions out in the order and with the gaps of another layout. One that had the size 1, or
// is new, comes next to the one behind it; one with a stride of 0 keeps that, as a device may ask
// for it whatever the size is.
Dims StridesLike(const Layout& before, const std::vector<std::optional<size_t>>& dims,
                 const Dims& sizes) {
  if (before.strides == PackedStrides(before.sizes)) return PackedStrides(sizes);
  const auto had_stride = [&](size_t d) {
    return dims[d] && (before.sizes[*dims[d]] > 1 || before.strides[*dims[d]] == 0);
  };
  std::vector<int64_t> places(sizes.size() + 1, 1);
  for (size_t d = sizes.size(); d-- > 0;) {
    places[d] = had_stride(d) ? before.strides[*dims[d]] : places[d + 1];
  }
  std::vector<size_t> order(sizes.size());
  std::iota(order.rbegin(), order.rend(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t d) { return places[d]; });
  Dims strides = Dims::Filled(sizes.size(), 0);
  int64_t end_before = 1;
  int64_t end = 1;
  for (const size_t d : order) {
    if (had_stride(d) && places[d] == 0) continue;
    const int64_t gap = had_stride(d) ? std::max<int64_t>(places[d] - end_before, 0) : 0;
    strides[d] = end + gap;
    end = strides[d] * sizes[d];
    if (had_stride(d)) end_before = places[d] * before.sizes[*dims[d]];
  }
  return strides;
}

// --- values --------------------------------------------------------------------------------------

// Reads elements of a tensor for another one that comes from it.
class Source {
 public:
  Source(const ConstTensorView& view, const TensorOrigin& origin, const Dims& sizes,
         bool keeps_last)
      : view_(view), origin_(origin), sizes_(sizes), keeps_last_(keeps_last) {}

  const std::byte* At(const Dims& index) const {
    Dims from = Dims::Filled(view_.layout.rank(), 0);
    for (size_t d = 0; keeps_last_ && d < from.size(); ++d) from[d] = view_.layout.sizes[d] - 1;
    for (size_t d = 0; d < index.size(); ++d) {
      if (!origin_.dims[d]) continue;
      const int64_t size = view_.layout.sizes[*origin_.dims[d]];
      const int64_t skipped = keeps_last_ ? std::max<int64_t>(size - sizes_[d], 0) : 0;
      from[*origin_.dims[d]] = (skipped + index[d]) % size;
    }
    return view_.data + OffsetOf(view_.layout, from) * static_cast<int64_t>(ByteWidth(view_.type));
  }

 private:
  const ConstTensorView& view_;
  const TensorOrigin& origin_;
  const Dims& sizes_;
  bool keeps_last_;
};

// Returns whether an index is the first one of those that share an element.
bool IsFirstOfRepeated(const Layout& layout, const Dims& index) {
  for (size_t d = 0; d < index.size(); ++d) {
    if (layout.strides[d] == 0 && index[d] != 0) return false;
  }
  return true;
}

// Says how elements become those of another tensor: of its type, and whole numbers as remainders,
// so that indices and lengths are in range again.
struct Conversion {
  DataType from;
  DataType to;
  int64_t modulus = 0;  // 0 for none

  ElementBytes Of(const std::byte* element) const {
    ElementBytes bytes{};
    std::memcpy(bytes.data(), element, ByteWidth(from));
    if (from != to) bytes = ConvertedTo(to, ValueOf(StoredAs(from), element));
    if (modulus == 0) return bytes;
    VisitDataType(AllTypes(), StoredAs(to), [&]<typename T>() {
      if constexpr (std::is_integral_v<T>) {
        const auto number = static_cast<int64_t>(ElementOf<T>(bytes));
        // An index that counts from the end still does so.
        const int64_t rest = number < 0 ? -1 - (-1 - number) % modulus : number % modulus;
        bytes = BytesOf(static_cast<T>(rest));
      }
    });
    return bytes;
  }
};

ConstTensorView FilledFrom(const Source& source, const Conversion& conversion, const Layout& layout,
                           Computation& owner) {
  const size_t width = ByteWidth(conversion.to);
  const auto buffer = std::make_shared<Buffer>(static_cast<size_t>(Extent(layout)) * width);
  Dims index = Dims::Filled(layout.rank(), 0);
  for (int64_t k = 0; k < layout.element_count(); ++k, Advance(layout.sizes, index)) {
    if (!IsFirstOfRepeated(layout, index)) continue;
    std::memcpy(buffer->data() + OffsetOf(layout, index) * static_cast<int64_t>(width),
                conversion.Of(source.At(index)).data(), width);
  }
  owner.storage.push_back(buffer);
  return {buffer->data(), StoredAs(conversion.to), layout};
}

std::vector<int64_t> SizesOfInputs(const OperatorDesc& op) {
  std::set<int64_t, std::greater<>> sizes = {1};
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kInput)) {
    sizes.insert(slot.desc->sizes->begin(), slot.desc->sizes->end());
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace

ElementBytes ConvertedTo(DataType type, double value) {
  ElementBytes bytes{};
  VisitDataType(AllTypes(), StoredAs(type), [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      if (HasNibbles(type))
        value = IsSigned(type) ? std::clamp(value, -8.0, 7.0) : std::clamp(value, 0.0, 15.0);
      bytes = BytesOf(Truncated<T>(value));
    } else {
      bytes = BytesOf(FromDouble<T>(value));
    }
  });
  return bytes;
}

LayoutKind LayoutKindOf(const TensorDesc& desc) {
  const Layout layout = LayoutOf(desc);
  if (std::ranges::find(layout.strides, 0) != layout.strides.end()) return LayoutKind::kBroadcast;
  if (IsPacked(layout)) return LayoutKind::kPacked;
  int64_t outer = INT64_MAX;
  bool is_permuted = false;
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.sizes[d] == 1) continue;
    is_permuted |= layout.strides[d] > outer;
    outer = layout.strides[d];
  }
  return is_permuted ? LayoutKind::kPermuted : LayoutKind::kPadded;
}

size_t RankOf(const OperatorDesc& op) {
  for (const TensorSlot& slot : TensorSlots(op)) {
    if (slot.desc->sizes) return slot.desc->rank();
  }
  return 0;
}

// --- drafts --------------------------------------------------------------------------------------

void CaseDraft::Set(const std::string& path, int64_t value) {
  const std::optional<int64_t> before = NumberAt(op, path);
  if (before && SetValueAt(op, path, SettingValue(value))) kept.emplace(path, *before);
}

void CaseDraft::EraseDims(size_t first, size_t count) {
  const size_t rank = RankOf(op);
  for (const MutableTensorSlot& slot : TensorSlots(op)) {
    if (slot.desc->rank() == rank) EraseAt(*slot.desc->sizes, first, count);
    if (auto& dims = origins[slot.path].dims; dims.size() == rank) EraseAt(dims, first, count);
  }
  EraseEntriesOfDims(op, rank, first, count);
}

void CaseDraft::InsertDims(size_t first, size_t count) {
  const size_t rank = RankOf(op);
  const auto at = static_cast<std::ptrdiff_t>(first);
  for (const MutableTensorSlot& slot : TensorSlots(op)) {
    if (slot.desc->rank() == rank)
      slot.desc->sizes->insert(slot.desc->sizes->begin() + at, count, 1);
    if (auto& dims = origins[slot.path].dims; dims.size() == rank) {
      dims.insert(dims.begin() + at, count, std::nullopt);
    }
  }
  ForEntriesOfDims(op, rank, first, [&](auto& array, size_t place) {
    array.insert(array.begin() + static_cast<std::ptrdiff_t>(place), count, 0);
  });
  MoveAxes(op, [&](uint32_t axis) -> std::optional<uint32_t> {
    return axis < first ? axis : axis + static_cast<uint32_t>(count);
  });
}

void CaseDraft::EraseEntry(const Field& field, size_t entry) {
  EraseAt(std::get<std::vector<TensorDesc>>(ValueOf(op, field.name)), entry, 1);
  for (size_t k = entry;; ++k) {
    const auto next = origins.find(fmt::format("{}/{}", field.name, k + 1));
    const std::string here = fmt::format("{}/{}", field.name, k);
    if (next == origins.end()) {
      origins.erase(here);
      return;
    }
    origins[here] = next->second;
  }
}

// --- cases ---------------------------------------------------------------------------------------

CaseChanger::CaseChanger(Computation original, const CaseBounds& bounds)
    : original_(std::move(original)),
      bounds_(bounds),
      kept_(original_.op.info(), bounds.kept),
      draft_{BareDesc(original_.op, bounds.level), {}, {}, {}} {
  size_t input = 0;
  for (const TensorSlot& slot : TensorSlots(std::as_const(original_.op))) {
    descs_[slot.path] = *slot.desc;
    if (slot.role() == TensorRole::kInput) views_[slot.path] = original_.inputs[input++];
    TensorOrigin& origin = draft_.origins[slot.path];
    origin.path = slot.path;
    for (size_t d = 0; d < slot.desc->rank(); ++d) origin.dims.push_back(d);
  }
}

std::optional<OperatorDesc> CaseChanger::Fitted(const CaseDraft& draft) const {
  std::optional<OperatorDesc> op = Repaired(draft.op, draft.kept, bounds_.level);
  if (!op) return std::nullopt;
  Relayout(draft, *op);
  return IsSound(*op, bounds_.level) ? op : std::nullopt;
}

void CaseChanger::Relayout(const CaseDraft& draft, OperatorDesc& op) const {
  if (bounds_.packed_only) return;
  for (const MutableTensorSlot& slot : TensorSlots(op)) {
    const Dims sizes(slot.desc->sizes->begin(), slot.desc->sizes->end());
    const auto kind = draft.layouts.find(slot.path);
    const auto origin = draft.origins.find(slot.path);
    Dims strides = PackedStrides(sizes);
    if (kind != draft.layouts.end()) {
      strides = StridesOfKind(kind->second, sizes);
    } else if (origin != draft.origins.end() && descs_.contains(origin->second.path) &&
               origin->second.dims.size() == sizes.size()) {
      strides = StridesLike(LayoutOf(descs_.at(origin->second.path)), origin->second.dims, sizes);
    }
    if (strides != PackedStrides(sizes)) slot.desc->strides.emplace(strides.begin(), strides.end());
  }
}

std::optional<Computation> CaseChanger::Case(const CaseDraft& draft,
                                             const ValueClasses& classes) const {
  std::optional<OperatorDesc> op = Fitted(draft);
  if (!op || !IsWithin(*op)) return std::nullopt;
  std::vector<int64_t> moduli = SizesOfInputs(*op);
  moduli.insert(moduli.begin(), 0);
  for (const int64_t modulus : moduli) {
    Computation result{*op, {}, {}};
    if (!FillInputs(draft, classes, modulus, result)) return std::nullopt;
    if (HasSoundValues(result)) return result;
  }
  return std::nullopt;
}

bool CaseChanger::IsWithin(const OperatorDesc& op) const {
  return IsWithinBounds(op, bounds_.max_elements) && kept_.AreIn(op, bounds_.level);
}

std::optional<Computation> CaseChanger::WithMergedDims(size_t first, size_t count) const {
  Computation merged{original_.op, {}, {}};
  const size_t rank = RankOf(merged.op);
  ClearCounts(merged.op);
  for (const MutableTensorSlot& slot : TensorSlots(merged.op)) {
    ClearLayout(*slot.desc);
    std::vector<uint32_t>& sizes = *slot.desc->sizes;
    if (sizes.size() == rank) {
      const auto begin = sizes.begin() + static_cast<std::ptrdiff_t>(first);
      *begin = std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(count), 1U,
                               std::multiplies<>());
      EraseAt(sizes, first + 1, count - 1);
    }
    if (slot.role() != TensorRole::kInput) continue;
    TensorView input = PackedCopy(original_.inputs[merged.inputs.size()], merged);
    input.layout = LayoutOf(*slot.desc);
    merged.inputs.push_back(AsConst(input));
  }
  EraseEntriesOfDims(merged.op, rank, first + 1, count - 1);
  const bool is_valid =
      IsSound(merged.op, bounds_.level) && IsWithin(merged.op) && HasSoundValues(merged);
  return is_valid ? std::optional(std::move(merged)) : std::nullopt;
}

bool CaseChanger::FillInputs(const CaseDraft& draft, const ValueClasses& classes, int64_t modulus,
                             Computation& result) const {
  std::optional<Computation> drawn;
  for (const TensorSlot& slot : TensorSlots(std::as_const(result.op), TensorRole::kInput)) {
    const auto origin = draft.origins.find(slot.path);
    if (origin != draft.origins.end() && views_.contains(origin->second.path) &&
        origin->second.dims.size() == slot.desc->rank()) {
      const TensorOrigin& from = origin->second;
      const Layout layout = LayoutOf(*slot.desc);
      const Conversion conversion{*descs_.at(from.path).data_type, *slot.desc->data_type, modulus};
      const Source source(views_.at(from.path), from, layout.sizes, draft.keeps_last);
      result.inputs.push_back(FilledFrom(source, conversion, layout, result));
      continue;
    }
    if (!drawn) drawn = DrawInputs(result.op, classes, 0, bounds_.open);
    if (!drawn) return false;
    result.inputs.push_back(drawn->inputs[result.inputs.size()]);
  }
  if (drawn) {
    result.storage.insert(result.storage.end(), drawn->storage.begin(), drawn->storage.end());
  }
  return true;
}

}  // namespace dmlop
