// Suggestions for names that are nearly right.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dmlop {

// As many candidates are looked at: names that people have chosen are fewer.
inline constexpr size_t kMaxCandidates = 250;

// The candidate of that name, in any case of letters, or that other libraries call so; empty where
// there is none.
std::string_view MeantBy(std::string_view name, std::span<const std::string_view> candidates);

// " (did you mean 'Sizes'?)" for the candidate that `name` means or is nearest to, or "" when none
// is. Case does not count as a difference, names of one letter are near to no other, and names of
// more than 64 bytes to nothing.
std::string DidYouMean(std::string_view name, std::span<const std::string_view> all);

// True where a name may be meant to be the other one, and is not it.
bool IsNear(std::string_view name, std::string_view other);

// The same, or "; expected one of Sizes, Strides" where none is near, with those first that have
// the name in theirs. `others` is how many there are besides the candidates.
std::string DidYouMeanOneOf(std::string_view name, std::span<const std::string_view> candidates,
                            size_t others = 0);

}  // namespace dmlop
