// Rows of words in columns that line up.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace dmlop {

// The first column to the left, the others to the right, two spaces in front of each. The rows are
// of one length.
std::string TableText(std::span<const std::vector<std::string>> rows);

}  // namespace dmlop
