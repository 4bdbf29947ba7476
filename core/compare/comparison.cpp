// SPDX-License-Identifier: Apache-2.0
#include "core/compare/comparison.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace dmlop {
namespace {

bool IsFirst(int64_t index, const Comparison& comparison) {
  return !comparison.first || index < comparison.first->index;
}

// Returns true if a difference at `index` is worse than `other`.
bool IsWorse(const ErrorSize& size, int64_t index, const Difference& other) {
  return size != other.size() ? size > other.size() : index < other.index;
}

bool IsWorst(const ErrorSize& size, int64_t index, const std::optional<Difference>& worst) {
  return !worst || IsWorse(size, index, *worst);
}

bool IsWorseDifference(const Difference& a, const Difference& b) {
  return IsWorse(a.size(), a.index, b);
}

// The list is a heap until it is sorted: its front is the least bad, which the next may replace.
bool IsListed(const ErrorSize& size, int64_t index, const Comparison& comparison) {
  if (comparison.listed.size() < comparison.most_listed) return true;
  return comparison.most_listed > 0 && IsWorse(size, index, comparison.listed.front());
}

void List(const Difference& difference, Comparison& comparison) {
  if (!IsListed(difference.size(), difference.index, comparison)) return;
  std::vector<Difference>& listed = comparison.listed;
  if (listed.size() == comparison.most_listed) {
    std::pop_heap(listed.begin(), listed.end(), IsWorseDifference);
    listed.pop_back();
  }
  listed.push_back(difference);
  std::push_heap(listed.begin(), listed.end(), IsWorseDifference);
}

void Merge(const ErrorTally& part, ErrorTally& total) {
  total.max_absolute_error = std::max(total.max_absolute_error, part.max_absolute_error);
  total.max_relative_error = std::max(total.max_relative_error, part.max_relative_error);
  total.max_ulp_error = std::max(total.max_ulp_error, part.max_ulp_error);
  for (size_t bin = 0; bin < part.ulp_histogram.size(); ++bin) {
    total.ulp_histogram[bin] += part.ulp_histogram[bin];
  }
}

// Records a difference everywhere but in the list.
void Note(const Difference& difference, Comparison& comparison) {
  const auto [size, index] = std::pair(difference.size(), difference.index);
  if (IsFirst(index, comparison)) comparison.first = difference;
  if (IsWorst(size, index, comparison.worst)) comparison.worst = difference;
  if (difference.is_finite() && IsWorst(size, index, comparison.worst_finite)) {
    comparison.worst_finite = difference;
  }
}

}  // namespace

size_t UlpBin(uint64_t ulp_error) {
  return ulp_error == 0 ? 0 : 1 + static_cast<size_t>(std::bit_width(ulp_error - 1));
}

uint64_t LeastUlp(size_t bin) {
  return bin < 2 ? bin : (uint64_t{1} << (bin - 2)) + 1;
}

uint64_t MostUlp(size_t bin) {
  constexpr size_t kLastBin = UlpHistogram().size() - 1;
  if (bin == kLastBin) return std::numeric_limits<uint64_t>::max();
  return bin == 0 ? 0 : uint64_t{1} << (bin - 1);
}

bool IsNotable(const ErrorSize& size, int64_t index, bool is_finite, const Comparison& comparison) {
  return IsFirst(index, comparison) || IsWorst(size, index, comparison.worst) ||
         (is_finite && IsWorst(size, index, comparison.worst_finite)) ||
         IsListed(size, index, comparison);
}

void Keep(const Difference& difference, Comparison& comparison) {
  Note(difference, comparison);
  List(difference, comparison);
}

void SortListed(Comparison& comparison) {
  std::sort_heap(comparison.listed.begin(), comparison.listed.end(), IsWorseDifference);
}

void Merge(const Comparison& part, Comparison& total) {
  total.difference_count += part.difference_count;
  total.nan_mismatches += part.nan_mismatches;
  total.infinity_mismatches += part.infinity_mismatches;
  for (const auto& difference : {part.first, part.worst, part.worst_finite}) {
    if (difference) Note(*difference, total);
  }
  for (const Difference& difference : part.listed) List(difference, total);
  Merge(part.passing, total.passing);
  Merge(part.failing, total.failing);
  total.actual_subnormals += part.actual_subnormals;
  total.expected_subnormals += part.expected_subnormals;
  total.most_used = std::max(total.most_used, part.most_used);
  if (total.smallest_passing_ulp && part.smallest_passing_ulp) {
    total.smallest_passing_ulp = std::max(*total.smallest_passing_ulp, *part.smallest_passing_ulp);
  } else {
    total.smallest_passing_ulp.reset();
  }
}

Tolerance Tolerances::For(DataType type) const {
  Tolerance tolerance = all;
  for (const TypedTolerance& one : typed) {
    if (one.type != type) continue;
    tolerance.absolute = one.absolute.value_or(tolerance.absolute);
    tolerance.relative = one.relative.value_or(tolerance.relative);
    tolerance.ulp = one.ulp.value_or(tolerance.ulp);
  }
  return tolerance;
}

std::optional<double> HeadroomOf(const Comparison& comparison, const Tolerance& tolerance) {
  if (tolerance.bits || comparison.nan_mismatches + comparison.infinity_mismatches > 0) {
    return std::nullopt;
  }
  const bool has_units = comparison.units && comparison.units->has_limits;
  if (tolerance.absolute == 0 && tolerance.relative == 0 && tolerance.ulp == 0 && !has_units) {
    return std::nullopt;
  }
  const double left = 1 - comparison.most_used;
  return comparison.passes() ? std::max(0.0, left) : left;
}

}  // namespace dmlop
