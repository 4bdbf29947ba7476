// SPDX-License-Identifier: Apache-2.0
// The families of rows of ONNX's operators, each in a source of its own.
#pragma once

#include "core/onnx/onnx_node.h"

namespace dmlop {
inline constexpr std::string_view kContrib = "com.microsoft";  // the domain of ORT's operators
}

// Functions of elements, and activations.
namespace dmlop::onnx_element_wise {
std::span<const OnnxRow> Rows();
}
// Operators that copy, select, place and fill elements.
namespace dmlop::onnx_shape {
std::span<const OnnxRow> Rows();
}
// Matrix products and convolutions.
namespace dmlop::onnx_product {
std::span<const OnnxRow> Rows();
}
// Pools and other functions of windows, and regions of images.
namespace dmlop::onnx_window {
std::span<const OnnxRow> Rows();
}
// Resize and Upsample.
namespace dmlop::onnx_resize {
std::span<const OnnxRow> Rows();
}
// Normalizations and softmax.
namespace dmlop::onnx_normalization {
std::span<const OnnxRow> Rows();
}
// Reductions, running sums and the greatest elements.
namespace dmlop::onnx_reduction {
std::span<const OnnxRow> Rows();
}
// Operators that take elements by indices, or put them elsewhere.
namespace dmlop::onnx_index {
std::span<const OnnxRow> Rows();
}
// Functions of elements that are more than one descriptor, or take numbers from inputs.
namespace dmlop::onnx_arithmetic {
std::span<const OnnxRow> Rows();
}
// Einsum: sums of products over labels of dimensions.
namespace dmlop::onnx_einsum {
std::span<const OnnxRow> Rows();
}
// Integers that stand for real numbers, products of them, and the quantization of numbers.
namespace dmlop::onnx_quantized {
std::span<const OnnxRow> Rows();
}
// RNN, GRU and LSTM.
namespace dmlop::onnx_recurrent {
std::span<const OnnxRow> Rows();
}
// Attention in the forms of ONNX and of com.microsoft.
namespace dmlop::onnx_attention {
std::span<const OnnxRow> Rows();
}
// Products and convolutions in the forms of com.microsoft.
namespace dmlop::onnx_fused {
std::span<const OnnxRow> Rows();
}
// Embeddings of com.microsoft: of positions by rotation, and of words.
namespace dmlop::onnx_embedding {
std::span<const OnnxRow> Rows();
}
