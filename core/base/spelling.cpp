#include "core/base/spelling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

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

// What other libraries call a thing, and its name here; none where it only looks like another.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"mean", "average"},
    {"prod", "multiply"},
    {"product", "multiply"},
    {"norm", "l2"},
    {"logsumexp", "log_sum_exp"},
    {"dtype", "datatype"},
    {"data_type", "datatype"},
    {"shape", "sizes"},
    {"dims", "sizes"},
    {"bfloat16", ""},
    {"axis", "axes"},
    {"axes", "axis"},
};

bool IsNamed(std::string_view candidate, std::string_view lower) {
  return candidate.size() == lower.size() && Lower(candidate) == lower;
}

// The candidate that another name means; "" for one that means none, and nothing for other names.
std::optional<std::string_view> MeantBy(std::string_view lower,
                                        std::span<const std::string_view> candidates) {
  for (const auto& [other, here] : kOtherNames) {
    if (other != lower) continue;
    if (here.empty()) return "";
    for (const std::string_view candidate : candidates) {
      if (IsNamed(candidate, here)) return candidate;
    }
  }
  return std::nullopt;
}

// The only candidate that has the name as its last words, as x has in "element_wise_x", or that is
// the first of the name's words; empty where there is none or several.
std::string_view Related(std::string_view lower, std::span<const std::string_view> candidates) {
  std::string_view found;
  for (const std::string_view candidate : candidates) {
    const std::string other = Lower(candidate);
    if (!other.ends_with("_" + std::string(lower)) && !lower.starts_with(other + "_")) continue;
    if (!found.empty()) return "";
    found = candidate;
  }
  return found;
}

std::string Suggestion(std::string_view name) {
  return name.empty() ? "" : fmt::format(" (did you mean '{}'?)", name);
}

}  // namespace

std::string DidYouMean(std::string_view name, std::span<const std::string_view> all) {
  if (name.size() > kLongestName) return "";
  const auto candidates = all.first(std::min(all.size(), kMaxCandidates));
  const std::string lower = Lower(name);
  if (const auto meant = MeantBy(lower, candidates)) return Suggestion(*meant);
  std::string_view best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    const size_t distance = EditDistance(lower, Lower(candidate), best_distance);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return Suggestion(best.empty() ? Related(lower, candidates) : best);
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
