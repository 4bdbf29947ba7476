// SPDX-License-Identifier: Apache-2.0
// The tables of rows; see row.h.
#pragma once

#include <span>

#include "core/kernels/element_wise/row.h"

namespace dmlop {

using RowTable = std::span<const ElementWiseRow>();

// Each returns its table for the current instruction set.
RowTable ArithmeticRows, AffineRows, UnaryRows, DivisionRows, LogicalRows, SelectionRows;
RowTable AngleRows, CircularRows, ErrorFunctionRows, ExponentialRows, LogarithmRows;
RowTable IntegerPowerRows;

}  // namespace dmlop
