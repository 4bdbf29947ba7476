// Suggestions for names that are nearly right.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dmlop {

// As many candidates are looked at: names that people have chosen are fewer.
inline constexpr size_t kMaxCandidates = 250;

// " (did you mean 'Sizes'?)" for the candidate that `name` means or is nearest to, or "" when none
// is. Case does not count as a difference, and names of more than 64 bytes are near to nothing.
std::string DidYouMean(std::string_view name, std::span<const std::string_view> all);

// The same, or "; expected one of Sizes, Strides" with the first candidates where none is near.
std::string DidYouMeanOneOf(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace dmlop
