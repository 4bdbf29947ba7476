// SPDX-License-Identifier: Apache-2.0
// Writes JSON documents.
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

// Returns whether a text is a JSON value.
bool IsJson(std::string_view text);

// Returns a number as JSON; infinities and NaN become strings that a descriptor accepts.
Json NumberJson(double value);
// Returns the exact value of an element.
Json ElementJson(DataType type, const std::byte* element);

// Returns "type" and "desc" of a valid operator, with all fields filled in.
Json OperatorJson(const OperatorDesc& op);

// Sets the member of a slot's field; that of several tensors is an array, to which it is added.
void SetSlot(const std::string& slot_path, Json value, Json& fields);

// Returns a value of a document as it was written, without comments. A number keeps its token as a
// binary value, as Json has no other kind for that; OneLine and Pretty support it.
Json AsWritten(JsonCursor value);

// Bytes of names that are not UTF-8 become U+FFFD; `indent` is that of Json::dump.
std::string Utf8Text(const Json& json, int indent = -1);

// Sets a member to a path; if it is not UTF-8, NAMEBytes has its bytes in hexadecimal, too.
void SetPath(std::string_view name, const std::string& path, Json& json);

// Returns Utf8Text(json), and also supports results of AsWritten.
std::string OneLine(const Json& json);

// Returns Utf8Text(json, 2) with plain arrays on one line, and also takes results of AsWritten.
std::string Pretty(const Json& json);

}  // namespace dmlop
