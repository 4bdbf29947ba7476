// SPDX-License-Identifier: Apache-2.0
// Describes a row of the operator table in words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/document/document_json.h"
#include "core/ops/operator.h"
#include "core/ops/words.h"

namespace dmlop {

// The type that a field takes: "input tensor, may be left out".
std::string TypeOf(const Field& field);

// The names of a field in other libraries, and what differs there: "ONNX group, WebNN groups", or
// just "groups" for a single library. Empty if there is no counterpart.
std::string ArgumentWords(const OperatorInfo& info, const Field& field,
                          const Libraries& libraries = {});

// A library with its names for an operator.
struct LibraryNames {
  std::string_view library;
  std::vector<std::string_view> names;
};
std::vector<LibraryNames> NamesByLibrary(const OperatorInfo& info);

// The rows to list: all of them, or the one in force at `level`.
std::vector<SupportRow> RowsOf(const SupportTable& table, std::optional<FeatureLevel> level);

// "ARGMIN, ARGMAX"; empty if the rows apply to the whole operator.
std::string AppliesTo(const SupportTable& table);

std::string RanksText(const SupportRow::Ranks& ranks);

// Fields that have the same types and ranks at every level, and the first of them.
struct TensorGroup {
  std::vector<std::string_view> names;
  const Field* first;
};
std::vector<TensorGroup> GroupsOf(const OperatorInfo& info);

// A row's description of each group that it mentions: "ranks 1 to 8: FLOAT32" for the first group
// and "BiasTensor, rank 4: FLOAT32" for others.
std::vector<std::string> RowWords(const SupportRow& row, const std::vector<TensorGroup>& groups);

// --- templates -----------------------------------------------------------------------------------

// An object with "type", "desc" and, if there are inputs, "bindings".
Json ExampleJson(const OperatorInfo& info);

// The example as text, one field per line.
std::string ExampleText(const OperatorInfo& info);

// The example with comments that explain each field; optional fields are commented out.
std::string TemplateText(const OperatorInfo& info);

// --- manual pages --------------------------------------------------------------------------------

// The manual page of a group of operators, in mdoc(7).
std::string ManualPage(const OperatorGroup& group);

// The page on ONNX models, with the table of their operators.
inline constexpr std::string_view kOnnxPage = "onnx";
std::string OnnxManualPage();

}  // namespace dmlop
