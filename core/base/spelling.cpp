#include "core/base/spelling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace dmlop {
namespace {

constexpr size_t kLongestName = 64;  // longer ones are no slip of the finger, and cost time

std::string Lower(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Insertions, deletions, replacements and swaps of neighbours that turn one into the other; `limit`
// for that many or more. Neither name is longer than kLongestName.
size_t EditDistance(std::string_view a, std::string_view b, size_t limit) {
  const size_t difference = std::max(a.size(), b.size()) - std::min(a.size(), b.size());
  if (difference >= limit) return limit;
  using Row = std::array<size_t, kLongestName + 1>;
  Row two_before{}, before{}, row{};
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    two_before = before;
    before = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, before[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_before[j - 2] + 1);
      }
    }
  }
  return std::min(row[b.size()], limit);
}

}  // namespace

std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.size() > kLongestName) return "";
  const std::string lower = Lower(name);
  std::string_view best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate :
       candidates.first(std::min(candidates.size(), kMaxCandidates))) {
    if (candidate.size() > kLongestName) continue;
    const size_t distance = EditDistance(lower, Lower(candidate), best_distance);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best.empty() ? "" : fmt::format(" (did you mean '{}'?)", best);
}

std::string DidYouMeanOneOf(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr size_t kMostListed = 12;
  const std::string near = DidYouMean(name, candidates);
  if (!near.empty() || candidates.empty()) return near;
  const auto listed = candidates.first(std::min(candidates.size(), kMostListed));
  return fmt::format("; expected one of {}{}", fmt::join(listed, ", "),
                     listed.size() < candidates.size() ? ", ..." : "");
}

}  // namespace dmlop
