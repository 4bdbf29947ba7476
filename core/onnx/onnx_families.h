// SPDX-License-Identifier: Apache-2.0
// The families of rows of ONNX's operators, each in a source of its own.
#pragma once

#include "core/onnx/onnx_node.h"

// Functions of elements, and activations.
namespace dmlop::onnx_element_wise {
std::span<const OnnxRow> Rows();
}
// What copies, selects, places and fills elements.
namespace dmlop::onnx_shape {
std::span<const OnnxRow> Rows();
}
// Matrix products and convolutions.
namespace dmlop::onnx_product {
std::span<const OnnxRow> Rows();
}
