// SPDX-License-Identifier: Apache-2.0
// An output element of a device, or of what it may have computed, beside the exact one.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "app/text/explanation_text.h"
#include "core/explain/data_flow.h"
#include "core/io/tensor_file.h"
#include "core/judge/varied_run.h"

namespace dmlop {

// `changed` is what VariedRun::Changed makes of the operator `original`; all inputs have data.
VariedValue VariedValueOf(const VariedRun& varied, const Computation& original,
                          const Computation& changed, const Element& output);

// An element of a device.
struct DeviceValue {
  double value;
  DataType type;
  bool is_bfloat16 = false;
};

// A device's tensor has another type or other sizes, which is a difference and no fault of the
// file.
class OtherTypeOrShape : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Returns the value that a text means for an element of the type: the nearest number, or bits, as
// "0x3F800000". Throws an Error of kind kUsage if it is neither.
DeviceValue ValueFrom(std::string_view text, DataType type);

// Returns the element of a judged file at `index`; `path` is for messages. Throws an
// OtherTypeOrShape unless the file has the desc's sizes and its type or, for floats, bfloat16.
DeviceValue ValueIn(const LoadedTensor& judged, const std::string& path, const TensorDesc& desc,
                    const Dims& index);

// The error of a value in units of the element, for which the whole output is computed. Beside a
// value of bfloat16 stands the exact one rounded to that.
ActualValue ActualValueOf(const DeviceValue& actual, const Computation& original,
                          const Element& output);

}  // namespace dmlop
