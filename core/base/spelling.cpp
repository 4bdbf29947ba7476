// SPDX-License-Identifier: Apache-2.0
#include "core/base/spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/text.h"

namespace dmlop {
namespace {

constexpr size_t kLongestName = 64;  // longer names are no typing errors, and cost time

// Returns the insertions, deletions, replacements and swaps of adjacent letters that turn one name
// into the other, or `limit` for at least that many. Neither name is longer than kLongestName.
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

// Names in other libraries, and the name here, which is empty for lookalikes.
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
    {"dims", "axes"},
    {"dim", "axes"},
    {"dim", "axis"},
    {"float", "float32"},
    {"single", "float32"},
    {"fp32", "float32"},
    {"f32", "float32"},
    {"double", "float64"},
    {"fp64", "float64"},
    {"f64", "float64"},
    {"half", "float16"},
    {"fp16", "float16"},
    {"f16", "float16"},
    {"bool", "uint8"},
    {"boolean", "uint8"},
    {"byte", "uint8"},
    {"char", "int8"},
    {"short", "int16"},
    {"ushort", "uint16"},
    {"int", "int32"},
    {"uint", "uint32"},
    {"long", "int64"},
    {"ulong", "uint64"},
    {"bfloat16", ""},
    {"inputs", "inputtensors"},
    {"inputs", "inputtensor"},
    {"outputs", "outputtensors"},
    {"outputs", "outputtensor"},
    {"op", "type"},
    {"operator", "type"},
    {"op_type", "type"},
    {"axis", "axes"},
    {"axes", "axis"},
};

// A hint for a name that has no equivalent here, given if one of the candidates is `beside`.
struct Hint {
  std::string_view name;
  std::string_view beside;
  std::string_view text;
};
constexpr std::string_view kAlwaysKept =
    "; the dimensions that are reduced are always kept, with size 1";
constexpr Hint kHints[] = {
    {"keepdims", "Axes", kAlwaysKept},
    {"keepdim", "Axes", kAlwaysKept},
    {"keep_dims", "Axes", kAlwaysKept},
    {"sweep", "bindings", "; 'dmlop batch FILE --expand' makes a manifest of a sweep"},
};

std::string_view HintOf(std::string_view lower, std::span<const std::string_view> candidates) {
  for (const Hint& hint : kHints) {
    if (hint.name != lower) continue;
    const auto beside = std::find(candidates.begin(), candidates.end(), hint.beside);
    if (beside != candidates.end()) return hint.text;
  }
  return "";
}

bool IsNamed(std::string_view candidate, std::string_view lower) {
  return candidate.size() == lower.size() && LowerCase(candidate) == lower;
}

// Returns the candidate that another library's name means; "" for none, nothing for other names.
std::optional<std::string_view> ByOtherName(std::string_view lower,
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

// Returns the candidate that begins with the name, of at least three letters. If several do,
// returns the one with which the others begin; empty if there is none.
std::string_view BegunBy(std::string_view lower, std::span<const std::string_view> candidates) {
  constexpr size_t kFewest = 3;
  const auto letters = std::count_if(lower.begin(), lower.end(), [](char c) { return c != '-'; });
  if (static_cast<size_t>(letters) < kFewest) return "";
  std::vector<std::string_view> begun;
  for (const std::string_view candidate : candidates) {
    if (LowerCase(candidate).starts_with(lower)) begun.push_back(candidate);
  }
  if (begun.empty()) return "";
  const std::string_view shortest = *std::min_element(
      begun.begin(), begun.end(), [](auto a, auto b) { return a.size() < b.size(); });
  const bool is_shared = std::all_of(begun.begin(), begun.end(), [&](std::string_view candidate) {
    return candidate.starts_with(shortest);
  });
  return is_shared ? shortest : "";
}

// Returns the only candidate that ends with the name as its last words, like x in "element_wise_x",
// or that is the first of the name's words; empty if there is none or several.
std::string_view Related(std::string_view lower, std::span<const std::string_view> candidates) {
  std::string_view found;
  for (const std::string_view candidate : candidates) {
    const std::string other = LowerCase(candidate);
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

std::string_view MeantBy(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string lower = LowerCase(name);
  for (const std::string_view candidate : candidates) {
    if (IsNamed(candidate, lower)) return candidate;
  }
  return ByOtherName(lower, candidates).value_or("");
}

std::string DidYouMean(std::string_view name, std::span<const std::string_view> all) {
  if (name.empty() || name.size() > kLongestName) return "";
  const auto candidates = all.first(std::min(all.size(), kMaxCandidates));
  const std::string lower = LowerCase(name);
  if (const auto meant = ByOtherName(lower, candidates)) return Suggestion(*meant);
  if (const auto hint = HintOf(lower, candidates); !hint.empty()) return std::string(hint);
  std::string_view best;
  // At least one letter must stay.
  size_t best_distance = std::min(std::max<size_t>(1, name.size() / 4), name.size() - 1) + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    const size_t distance = EditDistance(lower, LowerCase(candidate), best_distance);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (best.empty()) best = BegunBy(lower, candidates);
  return Suggestion(best.empty() ? Related(lower, candidates) : best);
}

bool IsNear(std::string_view name, std::string_view other) {
  return name != other && !DidYouMean(name, std::array<std::string_view, 1>{other}).empty();
}

std::string DidYouMeanOneOf(std::string_view name, std::span<const std::string_view> candidates,
                            size_t others) {
  const std::string near = DidYouMean(name, candidates);
  if (!near.empty() || candidates.empty()) return near;
  std::vector<std::string_view> listed;
  std::unordered_set<std::string_view> known;
  std::ranges::copy_if(candidates, std::back_inserter(listed),
                       [&](std::string_view candidate) { return known.insert(candidate).second; });
  std::stable_partition(listed.begin(), listed.end(), [lower = LowerCase(name)](auto candidate) {
    return lower.size() > 1 && LowerCase(candidate).find(lower) != std::string::npos;
  });
  return "; expected one of " + Listed(listed, ", ", others);
}

}  // namespace dmlop
