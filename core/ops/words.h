// SPDX-License-Identifier: Apache-2.0
// The tables in words/ say about operators what they compute, their rules, what their fields mean,
// examples, and names in ONNX, WebNN and PyTorch.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/operator.h"

namespace dmlop {

// A few words: "the greatest element of each window".
std::string_view SummaryOf(const OperatorInfo& info);

// The foreign operators that an operator computes, perhaps with other fields at neutral values.
struct OtherNames {
  std::vector<std::string_view> onnx, webnn, pytorch;
};

OtherNames OtherNamesOf(const OperatorInfo& info);

// An operator of ONNX or of com.microsoft, and the operators here that it becomes: any of them
// alone, or all one after another. The remark says what else there is to it.
struct OnnxOperator {
  std::string_view name, operators, remark;
  bool is_sequence;
};

// Returns the operators that models of ONNX may have, from the table by which these are read.
std::vector<OnnxOperator> OnnxOperators();

// The names of a field in the other libraries, or empty; the note says what differs.
struct Argument {
  std::string_view onnx, webnn, pytorch;
  std::string_view note;
};

Argument ArgumentOf(const OperatorInfo& info, const Field& field);

// A sentence that explains a field of the operator.
std::string_view MeaningOf(const OperatorInfo& info, const Field& field);

// A condition that descriptors must meet; `code` is its stable id.
struct Rule {
  std::string_view code;
  std::string_view text;
};

// The rules of an operator, besides those for single tensors.
std::vector<Rule> RulesOf(const OperatorInfo& info);

// The value of fields in the example of an operator. The first one that has a field counts.
struct ExampleValue {
  // Members of "desc" as JSON. A tensor has its sizes, or the members that are not the defaults.
  std::string_view fields;
  std::string_view bindings;  // for inputs that are not random numbers
};

std::vector<ExampleValue> ExampleValuesOf(const OperatorInfo& info);

// Names for operations that take several operators or none, or that only other programs use.
struct Composition {
  std::string_view names;      // separated by blanks
  std::string_view operators;  // likewise
  std::string_view note;       // without a note, each of the operators suffices
};

std::span<const Composition> Compositions();

// --- operators by foreign names ------------------------------------------------------------------

// A set of libraries.
struct Libraries {
  bool onnx = true, webnn = true, pytorch = true;
};

// The operators here that correspond to a foreign one.
struct Likeness {
  std::vector<const OperatorInfo*> operators;  // each by itself, or together as `note` says; best
                                               // first
  std::string_view note;
  Libraries libraries;  // the libraries that have the name
};

// Finds operators by a foreign name, also as programs write it: "torch.nn.functional.conv2d",
// "F.conv2d", "nn.Conv2d", "np.concatenate", "onnx::MatMul". Case, underscores and "2d" are
// ignored.
Likeness FindLike(std::string_view name);

// Every name that FindLike knows, sorted.
std::vector<std::string_view> NamesElsewhere();

// Returns " (did you mean 'Softmax'?)" for a name close to one of these; empty if none is close.
std::string DidYouMeanElsewhere(std::string_view name);

// Returns the operator in `among` with this name here or in another library; null if there is none.
const OperatorInfo* NearestOperator(std::string_view name,
                                    std::span<const OperatorInfo* const> among);

// Returns " (did you mean 'GEMM'?)" for the operator in `among` with this name in another library,
// or the one whose name is closest; empty if none is close. For "mean" it is 'REDUCE' with
// "Function": "AVERAGE", and perhaps another operator.
std::string DidYouMeanOperator(std::string_view name,
                               std::span<const OperatorInfo* const> among = Operators());

// --- groups --------------------------------------------------------------------------------------

// Groups of operators by what they do, for users who look for one.

struct OperatorGroup {
  std::string_view name;   // "reduction"
  std::string_view title;  // a short description
  std::vector<const OperatorInfo*> operators = {};
};

// Each operator is in exactly one group.
std::span<const OperatorGroup> OperatorGroups();

}  // namespace dmlop
