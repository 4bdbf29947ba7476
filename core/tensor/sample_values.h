// SPDX-License-Identifier: Apache-2.0
// Sample values for measurements, seeded and the same on every machine.
#pragma once

#include <cstddef>
#include <span>

#include "core/tensor/data_type.h"

namespace dmlop {

// Fills a buffer with ordinary values: floats uniform in [-1, 1), integers of any bits. They repeat
// a long pattern; the bytes of an incomplete element are left alone.
void FillWithSampleValues(DataType type, std::span<std::byte> bytes);

}  // namespace dmlop
