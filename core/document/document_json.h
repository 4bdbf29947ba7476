// Documents to be written.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/io/json.h"
#include "core/ops/operator.h"
#include "core/tensor/data_type.h"

namespace dmlop {

using Json = nlohmann::ordered_json;

// A number as JSON, which has no infinities or NaN: those as strings that a descriptor would take.
Json NumberJson(double value);
// The exact value of an element.
Json ElementJson(DataType type, const std::byte* element);

// "type" and "desc" of a valid operator, with everything filled in.
Json OperatorJson(const OperatorDesc& op);

// A value of a document as it was written, without comments. A number is its token, which Json has
// no kind for, as a binary value; OneLine and Pretty know it.
Json AsWritten(JsonCursor value);

// The text of what people and files are called may have bytes that are not UTF-8. They become
// U+FFFD; `indent` is that of Json::dump.
std::string Utf8Text(const Json& json, int indent = -1);

// Sets a member to a path. Where the path is not UTF-8, a member NAMEBytes beside has its bytes in
// hexadecimal.
void SetPath(std::string_view name, const std::string& path, Json& json);

// Like Utf8Text(json), also of what is as it was written.
std::string OneLine(const Json& json);

// Like Utf8Text(json, 2), but with arrays of plain values on one line; also of what is as it was
// written.
std::string Pretty(const Json& json);

}  // namespace dmlop
