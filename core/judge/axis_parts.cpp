// SPDX-License-Identifier: Apache-2.0
// Computations in which a part of an input is left out or 0.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/engine/copy/copy_views.h"
#include "core/judge/omitted_terms.h"

namespace dmlop {
namespace {

// The parts of an input before and behind the part that is left out.
ConstTensorView Joined(const ConstTensorView& input, const TermAxis& axis, const AxisPart& part,
                       Computation& owner) {
  const size_t d = axis.axis;
  const ConstTensorView second = input.Slice(d, part.to, axis.size - part.to);
  if (part.from == 0) return second;
  if (part.to == axis.size) return input.Slice(d, 0, part.from);
  const TensorView joined = PackedCopy(input.Slice(d, 0, axis.size - part.count()), owner);
  const Move move{second, joined.Slice(d, part.from, second.layout.sizes[d])};
  CopyAll({&move, 1});
  return AsConst(joined);
}

// Shortens inputs, each along its axis; none if DirectML would refuse that.
std::optional<Computation> Shortened(const Computation& original, std::span<const TermAxis> axes,
                                     const AxisPart& part) {
  Computation changed = original;
  std::vector<TensorDesc*> inputs;
  for (const MutableTensorSlot& slot : TensorSlots(changed.op)) {
    if (slot.role() == TensorRole::kInput) inputs.push_back(slot.desc);
  }
  for (const TermAxis& axis : axes) {
    TensorDesc& input = *inputs[axis.input];
    (*input.sizes)[axis.axis] = static_cast<uint32_t>(axis.size - part.count());
    input.strides.reset();
    input.total_tensor_size_in_bytes = 0;
  }
  Diagnostics faults;
  Check(changed.op, kHighestFeatureLevel, faults);
  if (faults.has_errors()) return std::nullopt;
  for (const TermAxis& axis : axes) {
    changed.inputs[axis.input] = Joined(original.inputs[axis.input], axis, part, changed);
  }
  return changed;
}

// The least region that has both.
Region Hull(const Region& a, const Region& b) {
  Region hull = a;
  for (size_t d = 0; d < a.begin.size(); ++d) {
    hull.begin[d] = std::min(a.begin[d], b.begin[d]);
    hull.sizes[d] = std::max(a.begin[d] + a.sizes[d], b.begin[d] + b.sizes[d]) - hull.begin[d];
  }
  return hull;
}

// The parts of inputs that an element needs, by input. A convolution has a source for each tap.
std::map<size_t, Region> NeededBy(const std::vector<SourceMap>& sources, const Region& element) {
  std::map<size_t, Region> needed;
  for (const SourceMap& source : sources) {
    const auto part = source(element);
    if (!part) continue;
    const auto [place, is_new] = needed.emplace(part->tensor, *part);
    if (!is_new) place->second = Hull(place->second, *part);
  }
  return needed;
}

}  // namespace

std::vector<TermAxis> ReducedAxesOf(const Computation& computation, size_t output,
                                    std::span<const int64_t> elements) {
  const std::vector<SourceMap> sources = SourcesOf(computation.op);
  const Dims outputs = OutputSizes(computation, output);
  std::set<TermAxis> axes;
  for (const int64_t element : elements) {
    const Region one{output, IndexOf(outputs, element), Dims::Filled(outputs.size(), 1)};
    for (const auto& [input, region] : NeededBy(sources, one)) {
      const Dims& sizes = computation.inputs[input].layout.sizes;
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d] > 1 && region.sizes[d] == sizes[d]) axes.insert({input, d, sizes[d]});
      }
    }
  }
  return {axes.begin(), axes.end()};
}

Computation WithZeros(const Computation& original, const TermAxis& axis, const AxisPart& part) {
  Computation changed = original;
  const TensorView copy = PackedCopy(original.inputs[axis.input], changed);
  const TensorView zeroed = copy.Slice(axis.axis, part.from, part.count());
  static constexpr ElementBytes kZero{};
  const Move move{
      {kZero.data(), copy.type, {zeroed.layout.sizes, Dims::Filled(zeroed.layout.rank(), 0)}},
      zeroed};
  CopyAll({&move, 1});
  changed.inputs[axis.input] = AsConst(copy);
  return changed;
}

std::optional<Computation> Without(const Computation& original, const TermAxis& axis,
                                   std::vector<TermAxis> all, const AxisPart& part) {
  if (part.count() == axis.size) return std::nullopt;
  if (auto alone = Shortened(original, {&axis, 1}, part)) return alone;
  std::erase_if(all, [&](const TermAxis& other) { return other.size != axis.size; });
  return all.size() > 1 ? Shortened(original, all, part) : std::nullopt;
}

}  // namespace dmlop
