// SPDX-License-Identifier: Apache-2.0
// Running sums, and states of networks, that begin anew in the middle.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/judge/evidence.h"
#include "core/judge/omitted_terms.h"

namespace dmlop {
namespace {

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
std::vector<int64_t> LengthsOfPieces(const Evidence& evidence, size_t axis) {
  constexpr size_t kMost = 16;
  if (evidence.expected.sizes[axis] == 1) return {1};
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
    if ((last + 1) % length == 0 && length != first && length < evidence.expected.sizes[axis]) {
      lengths.push_back(length);
    }
  }
  return lengths;
}

}  // namespace

std::vector<Hypothesis> NewBeginningsOf(const Evidence& evidence, const SampledElements& few) {
  std::vector<Hypothesis> found;
  for (const size_t axis : AxesOf(evidence)) {
    for (const int64_t length : LengthsOfPieces(evidence, axis)) {
      Hypothesis hypothesis{{fmt::format("head-missing:axis={},every={}", axis, length)},
                            fmt::format("begun anew at every {} along axis {}", length, axis),
                            nullptr,
                            nullptr};
      hypothesis.compute = [&evidence, axis, length](std::span<const int64_t> elements) {
        const auto& [computation, output] = std::tie(evidence.computation, evidence.output);
        return Varied(elements, BegunAnew(computation, output, axis, length, elements, ElementsOf));
      };
      if (IsPromising(evidence, hypothesis, few)) found.push_back(std::move(hypothesis));
    }
  }
  return found;
}

}  // namespace dmlop
