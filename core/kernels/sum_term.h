// What a sum adds up for each element x.
#pragma once

namespace dmlop {

enum class SumTerm { kItself, kMagnitude, kSquare };

}  // namespace dmlop
