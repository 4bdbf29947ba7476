// SPDX-License-Identifier: Apache-2.0
// Parts of reading a serialized graph (dml_graph.fbs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/dml_graph_generated.h"
#include "core/ops/operator.h"

namespace dmlop {

// --- its size once it is read --------------------------------------------------------------------

// Its parts may share a text or list any number of times, so a small file can exceed memory.

// Returns the limit of the bytes that a file refers to, counted at every reference. Tools write
// less, since names of edges, types and operators are shared.
uint64_t MostBytesReferredTo(size_t file_size);

// Returns the number of names in the file's lists; empty if these are not within it. It runs before
// the file is verified, as verifying goes through all of them.
std::optional<uint64_t> CountNames(std::span<const std::byte> file);

// Returns the bytes that a verified graph refers to, counted at every reference.
uint64_t BytesReferredTo(const graph_file::File& graph);

// --- its operators -------------------------------------------------------------------------------

// Tensors and attributes come in the order of the operator's fields, without their names.

// Returns the operator of a node, not yet checked; nothing if a tensor or an attribute does not fit
// its field, which is reported.
std::optional<OperatorDesc> OperatorOf(const graph_file::OperatorNode& node,
                                       const std::vector<bool>& input_is_there,
                                       const std::vector<bool>& output_is_there,
                                       const std::function<void(const std::string&)>& report);

}  // namespace dmlop
