// Documents to be written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/io/json.h"
#include "core/ops/operator.h"

namespace dmlop {

using Json = nlohmann::ordered_json;

// "type" and "desc" of a valid operator, with everything filled in.
Json OperatorJson(const OperatorDesc& op);

// A value of a document as it was written, without comments.
Json AsWritten(JsonCursor value);

// Like Json::dump(2), but with arrays of plain values on one line.
std::string Pretty(const Json& json, size_t indent = 0);

}  // namespace dmlop
