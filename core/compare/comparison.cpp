#include "core/compare/comparison.h"

#include <algorithm>
#include <bit>

namespace dmlop {

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

bool IsFirst(int64_t index, const Comparison& comparison) {
  return !comparison.first || index < comparison.first->index;
}

bool IsWorst(uint64_t ulp_error, int64_t index, const Comparison& comparison) {
  if (!comparison.worst) return true;
  const Difference& worst = *comparison.worst;
  return ulp_error != worst.ulp_error ? ulp_error > worst.ulp_error : index < worst.index;
}

void Keep(const Difference& difference, Comparison& comparison) {
  if (IsFirst(difference.index, comparison)) comparison.first = difference;
  if (IsWorst(difference.ulp_error, difference.index, comparison)) comparison.worst = difference;
}

void Merge(const Comparison& part, Comparison& total) {
  total.difference_count += part.difference_count;
  total.nan_mismatches += part.nan_mismatches;
  total.infinity_mismatches += part.infinity_mismatches;
  if (part.first) Keep(*part.first, total);
  if (part.worst) Keep(*part.worst, total);
  total.max_absolute_error = std::max(total.max_absolute_error, part.max_absolute_error);
  total.max_relative_error = std::max(total.max_relative_error, part.max_relative_error);
  total.max_ulp_error = std::max(total.max_ulp_error, part.max_ulp_error);
  if (total.smallest_passing_ulp && part.smallest_passing_ulp) {
    total.smallest_passing_ulp = std::max(*total.smallest_passing_ulp, *part.smallest_passing_ulp);
  } else {
    total.smallest_passing_ulp.reset();
  }
  for (size_t bin = 0; bin < part.ulp_histogram.size(); ++bin) {
    total.ulp_histogram[bin] += part.ulp_histogram[bin];
  }
}

}  // namespace dmlop
