// The fields of an operator as a serialized graph has them: tensors and attributes in the order of
// the operator's fields, without their names.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/graph/dml_graph_generated.h"
#include "core/ops/operator.h"

namespace dmlop {

// The operator of a node, not checked yet; nothing where a tensor or an attribute does not fit its
// field, which is reported.
std::optional<OperatorDesc> OperatorOf(const graph_file::OperatorNode& node,
                                       const std::vector<bool>& input_is_there,
                                       const std::vector<bool>& output_is_there,
                                       const std::function<void(const std::string&)>& report);

}  // namespace dmlop
