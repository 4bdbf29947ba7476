// SPDX-License-Identifier: Apache-2.0
#include "core/judge/evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/parallel.h"
#include "core/judge/varied_run.h"

namespace dmlop {
namespace {

// Inputs with more elements are not laid out anew, as each layout takes a copy.
constexpr int64_t kMostCopied = int64_t{1} << 22;

ConstTensorView Reordered(const ConstTensorView& view, const std::vector<size_t>& order) {
  ConstTensorView reordered = view;
  for (size_t d = 0; d < order.size(); ++d) {
    reordered.layout.sizes[d] = view.layout.sizes[order[d]];
    reordered.layout.strides[d] = view.layout.strides[order[d]];
  }
  return reordered;
}

// Returns a view of adjacent elements that has its axes in this order in memory.
Layout StoredIn(const std::vector<size_t>& order, const Dims& sizes) {
  Layout layout{sizes, sizes};
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    layout.strides[order[i]] = stride;
    stride *= sizes[order[i]];
  }
  return layout;
}

// The numbers of equal blocks that an axis may have: those that the descriptor has, such as of
// groups, heads or the elements of a block.
std::set<int64_t> BlockCountsOf(const OperatorDesc& op, int64_t size) {
  std::set<int64_t> counts;
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const auto* const count = std::get_if<uint32_t>(&op.values()[i]);
    if (count == nullptr || op.fields()[i]->kind != FieldKind::kUint) continue;
    if (*count > 1 && *count < size && size % *count == 0) counts.insert(*count);
  }
  return counts;
}

// The same order with an axis that is in two.
AxisOrder InTwo(const Dims& sizes, AxisSplit split) {
  AxisOrder order{std::vector<size_t>(sizes.size() + 1), split};
  std::iota(order.axes.begin(), order.axes.end(), size_t{0});
  return order;
}

// Coordinates of equal blocks, which follow one another, are taken to alternate.
AxisOrder Alternating(const Dims& sizes, size_t axis, int64_t blocks) {
  AxisOrder order = InTwo(sizes, {axis, sizes[axis] / blocks});
  std::swap(order.axes[axis], order.axes[axis + 1]);
  return order;
}

// --- padding -------------------------------------------------------------------------------------

std::vector<uint32_t>* FindNumbers(OperatorDesc& op, std::string_view name) {
  for (size_t i = 0; i < op.fields().size(); ++i) {
    if (op.fields()[i]->name == name) return std::get_if<std::vector<uint32_t>>(&op.values()[i]);
  }
  return nullptr;
}

struct KindOfPadding {
  Beyond beyond;
  std::string_view name;  // that an id has
  std::string_view text;
};

constexpr KindOfPadding kPaddings[] = {
    {Beyond::kNearest, "", "padding is the nearest element"},
    {Beyond::kMirrored, "mirrored", "padding is a mirror image"},
    {Beyond::kSymmetric, "symmetric", "padding is a mirror image that has the edge, too"},
    {Beyond::kWrapped, "wrapped", "padding is the opposite edge"},
    {Beyond::kZero, "zero", "padding is 0"}};

int64_t Modulo(int64_t number, int64_t period) {
  return (number % period + period) % period;
}

// None where padding is 0.
std::optional<int64_t> Inside(int64_t coordinate, int64_t size, Beyond beyond) {
  if (coordinate >= 0 && coordinate < size) return coordinate;
  switch (beyond) {
    case Beyond::kNearest:
      return std::clamp<int64_t>(coordinate, 0, size - 1);
    case Beyond::kMirrored: {
      const int64_t period = std::max<int64_t>(2 * (size - 1), 1);
      return std::min(Modulo(coordinate, period), Modulo(-coordinate, period));
    }
    case Beyond::kSymmetric:
      return std::min(Modulo(coordinate, 2 * size), Modulo(-1 - coordinate, 2 * size));
    case Beyond::kWrapped:
      return Modulo(coordinate, size);
    default:
      return std::nullopt;
  }
}

// Copies a view with elements or zeros around it, `start` of them before the last axes.
TensorView Padded(const ConstTensorView& view, const Dims& sizes, const Dims& start, Beyond beyond,
                  Computation& owner) {
  const size_t width = ByteWidth(view.type);
  const auto buffer = std::make_shared<Buffer>(static_cast<size_t>(Product(sizes)) * width);
  Dims index = Dims::Filled(sizes.size(), 0);
  for (int64_t k = 0; k < Product(sizes); ++k, Advance(sizes, index)) {
    Dims from;
    for (size_t d = 0; d < index.size(); ++d) {
      const auto inside = Inside(index[d] - start[d], view.layout.sizes[d], beyond);
      if (inside) from.push_back(*inside);
    }
    if (from.size() < index.size()) continue;
    std::memcpy(buffer->data() + static_cast<size_t>(k) * width,
                view.data + OffsetOf(view.layout, from) * static_cast<int64_t>(width), width);
  }
  owner.storage.push_back(buffer);
  return {buffer->data(), view.type, PackedLayout(sizes)};
}

}  // namespace

std::vector<std::vector<size_t>> OrdersOf(const Dims& sizes, size_t most_axes) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto moved = [&] {
    std::vector<size_t> axes = order;
    std::erase_if(axes, [&](size_t d) { return sizes[d] == 1; });
    return axes;
  };
  std::set<std::vector<size_t>> seen = {moved()};
  std::vector<std::vector<size_t>> orders;
  if (seen.begin()->size() > most_axes) return orders;
  while (std::next_permutation(order.begin(), order.end())) {
    if (seen.insert(moved()).second) orders.push_back(order);
  }
  return orders;
}

Dims AxisSplit::Of(const Dims& sizes) const {
  Dims split;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool is_split = length > 0 && d == axis;
    split.push_back(is_split ? sizes[d] / length : sizes[d]);
    if (is_split) split.push_back(length);
  }
  return split;
}

std::string AxisOrder::text() const {
  const std::string order = fmt::format("[{}]", fmt::join(axes, ","));
  return split.length == 0 ? order : fmt::format("{},split={}/{}", order, split.axis, split.length);
}

std::vector<AxisOrder> SplitOrdersOf(const OperatorDesc& op, const Dims& sizes) {
  constexpr int64_t kBlocks[] = {4, 8, 16, 32};
  constexpr size_t kFewestAxes = 3;  // batch, channels or places, and another one
  std::vector<AxisOrder> orders;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    for (const int64_t blocks : BlockCountsOf(op, sizes[axis])) {
      orders.push_back(Alternating(sizes, axis, blocks));
    }
  }
  if (sizes.size() < kFewestAxes) return orders;
  const size_t last = sizes.size() - 1;
  for (const int64_t heads : BlockCountsOf(op, sizes[last])) {
    AxisOrder& heads_first = orders.emplace_back(InTwo(sizes, {last, sizes[last] / heads}));
    std::swap(heads_first.axes[last - 1], heads_first.axes[last]);
  }
  for (const int64_t block : kBlocks) {
    if (block >= sizes[1] || sizes[1] % block != 0) continue;
    AxisOrder& blocks_last = orders.emplace_back(InTwo(sizes, {1, block}));
    std::rotate(blocks_last.axes.begin() + 2, blocks_last.axes.begin() + 3, blocks_last.axes.end());
  }
  return orders;
}

Computation WithLayout(const Computation& original, size_t input, const AxisOrder& order,
                       bool is_written) {
  Computation changed = original;
  ConstTensorView& view = changed.inputs[input];
  const Dims sizes = view.layout.sizes;
  const Dims split = order.split.Of(sizes);
  if (!IsPacked(view.layout)) view = AsConst(PackedCopy(view, changed));
  view.layout = PackedLayout(split);
  if (is_written) view = Reordered(view, order.axes);
  if (!is_written) view.layout = StoredIn(order.axes, split);
  if (is_written || order.split.length > 0) {
    view = AsConst(PackedCopy(view, changed));
    view.layout = PackedLayout(sizes);
  }
  return changed;
}

std::optional<Computation> WithEdges(const Computation& original, Beyond beyond) {
  Computation changed = original;
  std::vector<uint32_t>* start = FindNumbers(changed.op, "StartPadding");
  std::vector<uint32_t>* end = FindNumbers(changed.op, "EndPadding");
  if (start == nullptr || end == nullptr) return std::nullopt;
  TensorDesc& input = *TensorSlots(changed.op).front().desc;
  Dims sizes = LayoutOf(input).sizes;
  if (start->size() > sizes.size() || Product(sizes) > kMostCopied) return std::nullopt;
  Dims before = Dims::Filled(sizes.size(), 0);
  for (size_t i = 0; i < start->size(); ++i) {
    const size_t d = sizes.size() - start->size() + i;
    before[d] = std::exchange((*start)[i], 0);
    sizes[d] += before[d] + std::exchange((*end)[i], 0);
  }
  changed.inputs[0] = AsConst(Padded(changed.inputs[0], sizes, before, beyond, changed));
  input.sizes->assign(sizes.begin(), sizes.end());
  input.strides.reset();
  input.total_tensor_size_in_bytes = 0;
  Diagnostics faults;
  Check(changed.op, kHighestFeatureLevel, faults);
  return faults.has_errors() ? std::nullopt : std::optional(std::move(changed));
}

namespace {

// Channels that belong to groups in turn, not in blocks: those of the output, with their filters,
// or these and those of the input.
std::vector<Hypothesis> AlternatingGroupsOf(const Evidence& evidence, const SampledElements& few) {
  const OperatorDesc& op = evidence.computation.op;
  const auto field = std::ranges::find(op.fields(), "GroupCount", &Field::name);
  if (field == op.fields().end()) return {};
  const int64_t groups =
      std::get<uint32_t>(op.values()[static_cast<size_t>(field - op.fields().begin())]);
  const int64_t channels = evidence.expected.sizes[1];
  if (groups < 2 || groups == channels) return {};
  const auto in_turn = [&](const TensorSlot& slot, size_t axis, int64_t blocks) {
    const AxisOrder order = Alternating(LayoutOf(*slot.desc).sizes, axis, blocks);
    return fmt::format("other-layout:{}={}", slot.path, order.text());
  };
  const std::vector<TensorSlot> inputs = TensorSlots(op, TensorRole::kInput);
  const auto filter = std::ranges::find(inputs, "FilterTensor", &TensorSlot::path);
  const TensorSlot output = TensorSlots(op, TensorRole::kOutput)[evidence.output];
  std::vector<std::string> ids = {in_turn(*filter, 0, groups),
                                  in_turn(output, 1, channels / groups)};
  std::vector<Hypothesis> found;
  const auto attempt = [&](const std::string& text) {
    auto hypothesis = OfVariedRun(evidence, ids, text);
    if (IsPromising(evidence, *hypothesis, few)) found.push_back(*std::move(hypothesis));
  };
  attempt("channels of the output belong to groups in turn");
  ids.push_back(in_turn(inputs.front(), 1, groups));
  attempt("channels belong to groups in turn");
  return found;
}

// An input whose axes are in another order, where it is read or already where it was written.
struct OtherLayout {
  size_t input;
  AxisOrder order;
  bool is_written;
};

std::vector<OtherLayout> OtherLayoutsOf(const Computation& computation) {
  constexpr size_t kMostAxes = 5;
  std::vector<OtherLayout> layouts;
  for (size_t input = 0; input < computation.inputs.size(); ++input) {
    const Dims& sizes = computation.inputs[input].layout.sizes;
    if (Product(sizes) > kMostCopied) continue;
    std::vector<AxisOrder> orders = SplitOrdersOf(computation.op, sizes);
    for (std::vector<size_t>& order : OrdersOf(sizes, kMostAxes)) {
      orders.push_back({std::move(order)});
    }
    for (const AxisOrder& order : orders) {
      for (const bool is_written : {false, true}) layouts.push_back({input, order, is_written});
    }
  }
  return layouts;
}

Hypothesis HypothesisOf(const OtherLayout& layout, const Evidence& evidence) {
  const auto& [input, order, is_written] = layout;
  const std::string name = TensorSlots(evidence.computation.op, TensorRole::kInput)[input].path;
  const std::string axes = order.text();
  return OfComputation(
      fmt::format("other-layout:{}{}={}", name, is_written ? ":written" : "", axes),
      is_written ? fmt::format("{} laid out with its axes in the order {}", name, axes)
                 : fmt::format("{} read with its axes in the order {}", name, axes),
      WithLayout(evidence.computation, input, order, is_written), evidence.output);
}

}  // namespace

std::vector<Hypothesis> LayoutChangesOf(const Evidence& evidence, const SampledElements& few) {
  std::vector<Hypothesis> found = AlternatingGroupsOf(evidence, few);
  const std::vector<OtherLayout> layouts = OtherLayoutsOf(evidence.computation);
  std::vector<std::optional<Hypothesis>> promising(layouts.size());
  ParallelFor(std::ssize(layouts), 1, /*bytes=*/0, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      Hypothesis hypothesis = HypothesisOf(layouts[i], evidence);
      if (IsPromising(evidence, hypothesis, few)) promising[i] = std::move(hypothesis);
    }
  });
  for (std::optional<Hypothesis>& one : promising) {
    if (one) found.push_back(*std::move(one));
  }
  return found;
}

std::optional<Beyond> FindBeyond(std::string_view name) {
  const auto* const found = std::ranges::find(kPaddings, name, &KindOfPadding::name);
  return found == std::end(kPaddings) ? std::nullopt : std::optional(found->beyond);
}

std::vector<Hypothesis> EdgePaddingsOf(const Evidence& evidence, const SampledElements& few) {
  std::vector<Hypothesis> found;
  for (const auto& [beyond, name, text] : kPaddings) {
    auto changed = WithEdges(evidence.computation, beyond);
    if (!changed) break;
    const std::string id = fmt::format("padding-edge{}{}", name.empty() ? "" : ":", name);
    Hypothesis hypothesis =
        OfComputation(id, std::string(text), *std::move(changed), evidence.output);
    if (IsPromising(evidence, hypothesis, few)) found.push_back(std::move(hypothesis));
  }
  return found;
}

}  // namespace dmlop
