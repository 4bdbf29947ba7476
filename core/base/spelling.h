// SPDX-License-Identifier: Apache-2.0
// Suggests names for misspelled ones.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dmlop {

// Number of candidates that are compared: lists of names that people chose are shorter.
inline constexpr size_t kMaxCandidates = 250;

// Returns the candidate of that name, in any case, or for which it is another library's name; empty
// if there is none.
std::string_view MeantBy(std::string_view name, std::span<const std::string_view> candidates);

// Returns " (did you mean 'Sizes'?)" for the candidate that `name` stands for or is nearest to, or
// "" if there is none. Case is no difference, names of one letter are near to no other, and names
// of more than 64 bytes to nothing.
std::string DidYouMean(std::string_view name, std::span<const std::string_view> all);

// Returns true if a name may be a misspelling of the other one.
bool IsNear(std::string_view name, std::string_view other);

// Does the same, but returns "; expected one of Sizes, Strides" if none is near, beginning with
// those that contain the name. `others` is the number of names besides the candidates.
std::string DidYouMeanOneOf(std::string_view name, std::span<const std::string_view> candidates,
                            size_t others = 0);

}  // namespace dmlop
