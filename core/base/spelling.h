// Suggestions for names that are nearly right.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dmlop {

// " (did you mean 'Sizes'?)" for the candidate nearest to `name`, or "" when none is near. Case
// does not count as a difference.
std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace dmlop
