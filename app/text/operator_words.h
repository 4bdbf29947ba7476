// What the table of operators says of one, in words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/operator.h"
#include "core/ops/other_names.h"

namespace dmlop {

// What a field takes: "input tensor, may be left out".
std::string TypeOf(const Field& field);

// "ONNX group, WebNN groups", of a library alone "groups", and what differs: what a field is
// elsewhere; empty where it is nothing there.
std::string ArgumentWords(const OperatorInfo& info, const Field& field,
                          const Libraries& libraries = {});

// The libraries that have names for an operator, each with these.
struct LibraryNames {
  std::string_view library;
  std::vector<std::string_view> names;
};
std::vector<LibraryNames> NamesByLibrary(const OperatorInfo& info);

// The rows to list: all, or the one in force at `level`.
std::vector<SupportRow> RowsOf(const SupportTable& table, std::optional<FeatureLevel> level);

// "ARGMIN, ARGMAX"; empty for the whole operator.
std::string AppliesTo(const SupportTable& table);

std::string RanksText(const SupportRow::Ranks& ranks);

// The fields that have the same types and ranks at every level, each kind with its first one.
struct TensorGroup {
  std::vector<std::string_view> names;
  const Field* first;
};
std::vector<TensorGroup> GroupsOf(const OperatorInfo& info);

// What a row says of each group that it says something of: "ranks 1 to 8: FLOAT32" of the first,
// and "BiasTensor, rank 4: FLOAT32" of the others.
std::vector<std::string> RowWords(const SupportRow& row, const std::vector<TensorGroup>& groups);

}  // namespace dmlop
