// Reads the fields of an operator from a serialized graph: tensors and attributes in the order of
// the operator's fields, without their names.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/graph/dml_graph_generated.h"
#include "core/ops/operator.h"

namespace dmlop {

// Returns the operator of a node, not yet checked; nothing if a tensor or an attribute does not fit
// its field, which is reported.
std::optional<OperatorDesc> OperatorOf(const graph_file::OperatorNode& node,
                                       const std::vector<bool>& input_is_there,
                                       const std::vector<bool>& output_is_there,
                                       const std::function<void(const std::string&)>& report);

}  // namespace dmlop
