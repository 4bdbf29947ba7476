// SPDX-License-Identifier: Apache-2.0
// DML_SCALE_BIAS: x becomes x * scale + bias, rounded once.
#pragma once

namespace dmlop {

struct ScaleBias {
  float scale;
  float bias;

  friend bool operator==(const ScaleBias&, const ScaleBias&) = default;
};

}  // namespace dmlop
