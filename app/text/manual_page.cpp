// SPDX-License-Identifier: Apache-2.0
#include "app/text/operator_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <map>

#include "core/base/text.h"
#include "core/onnx/onnx_node.h"

namespace dmlop {
namespace {

constexpr std::string_view kDate = "November 26, 2026";
constexpr size_t kColumns = 79;

// Breaks words into lines, with a new one for each sentence; no word is taken for a request.
std::string Filled(std::string_view text) {
  std::string filled;
  size_t column = 0;
  const std::vector<std::string_view> words = WordsOf(text);
  for (size_t i = 0; i < words.size(); ++i) {
    std::string word;
    for (const char c : words[i]) word += c == '\\' ? "\\e" : std::string(1, c);
    if (column > 0 && column + 1 + word.size() > kColumns) {
      filled += '\n';
      column = 0;
    }
    if (column > 0) {
      filled += ' ';
      ++column;
    } else if (word.front() == '.' || word.front() == '\'') {
      word.insert(0, "\\&");
    }
    filled += word;
    column += word.size();
    if (word.ends_with('.') && i + 1 < words.size()) {
      filled += '\n';
      column = 0;
    }
  }
  return filled + "\n";
}

std::string Sentence(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text + ".";
}

std::string FieldsText(const OperatorInfo& info) {
  std::string text = ".Pp\nFields:\n.Bl -tag -width DimensionCount -compact\n";
  for (const Field* field : info.fields) {
    const std::string elsewhere = ArgumentWords(info, *field);
    text += fmt::format(".It Ql {}\n{}{}{}", field->name, Filled(Sentence(TypeOf(*field))),
                        Filled(MeaningOf(info, *field)),
                        elsewhere.empty() ? "" : Filled(Sentence("Elsewhere: " + elsewhere)));
  }
  return text + ".El\n";
}

std::string RulesText(const OperatorInfo& info) {
  if (info.rules.empty()) return "";
  std::string text = ".Pp\nRules:\n.Bl -tag -width RED-10 -compact\n";
  for (const Rule& rule : info.rules) {
    text += fmt::format(".It {}\n{}", rule.code, Filled(rule.text));
  }
  return text + ".El\n";
}

std::string SupportText(const OperatorInfo& info) {
  const std::vector<TensorGroup> groups = GroupsOf(info);
  std::string text;
  for (const SupportTable& table : info.support) {
    const std::string form = AppliesTo(table);
    text += ".Pp\n" +
            Filled(fmt::format(
                "Data types{}{}, from each feature level on:", form.empty() ? "" : " for ", form));
    text += ".Bl -tag -width 6_4 -compact\n";
    for (const SupportRow& row : table.rows) {
      text += fmt::format(".It {}\n{}", ToString(row.since),
                          Filled(fmt::format("{}", fmt::join(RowWords(row, groups), "; "))));
    }
    text += ".El\n";
  }
  return text;
}

std::string ElsewhereText(const OperatorInfo& info) {
  std::vector<std::string> libraries;
  for (const auto& [library, names] : NamesByLibrary(info)) {
    libraries.push_back(fmt::format("{} {}", library, fmt::join(names, ", ")));
  }
  if (libraries.empty()) return "";
  return ".Pp\n" + Filled(fmt::format("Elsewhere: {}.", fmt::join(libraries, "; ")));
}

std::string ExampleBlock(const OperatorInfo& info) {
  return fmt::format(".Pp\nAn example:\n.Bd -literal -offset indent\n{}.Ed\n", ExampleText(info));
}

// --- ONNX ----------------------------------------------------------------------------------------

// The text of the page before and behind the table of operators.
constexpr std::string_view kOnnxBegin = R"(.Dt DMLOP-ONNX 5
.ds doc-volume dmlop Manual
.Os
.Sh NAME
.Nm dmlop-onnx
.Nd ONNX models, node by node
.Sh SYNOPSIS
.Bd -literal
dmlop run model.onnx -i X=x.npy -o Y=y.npy --keep-all gold/
dmlop run model.onnx -i input_0.pb -e output_0.pb --rtol 1e-3
dmlop validate model.onnx -L 5_0
dmlop explain model.onnx 'Y[0,3]' -i X=x.npy
dmlop diagnose model.onnx --node Conv_12 gpu.npy -i X=x.npy
dmlop diagnose model.onnx --from dump/ -i X=x.npy
dmlop show model.onnx
dmlop bench model.onnx
.Ed
.Sh DESCRIPTION
A file that ends in
.Ql .onnx
is a graph of DirectML operators with names.
Each node means what ONNX says, computed by the operators of the table below,
with one rounding an operator; nothing is fused.
A file that ends in
.Ql .bin
is taken for a serialized graph of DirectML, which the same commands run, list
and judge by the names of its edges.
.Ss Tensors
Files are bound by name:
.Fl i Ar name Ns = Ns Ar file .
Names may have any characters; the longest one that is an input counts.
Files without a name take the inputs that have no values of their own, in order.
An initializer that is an input, too, may be bound over.
Besides the files of
.Xr dmlop 1 ,
tensors are in
.Ql .pb ,
ONNX's own files, which are read and written.
Arrays have ONNX's type and shape: a scalar is
.Ql () ,
and bool is BOOL in
.Ql .pb
and either bool or UINT8 in
.Ql .npy .
Files that are kept are named by node and tensor, as
.Pa 0007-Conv_0.Y.npy .
A node without a name is called by its operator and a number.
.Ss Sizes
Free sizes are those of the files that are bound, or those of
.Fl f Ar name Ns \&: Ns Ar size ,
.Fl F Ar denotation Ns \&: Ns Ar size
and
.Fl b Ar input Ns \&: Ns Ar sizes ,
and otherwise 1, of which a warning tells.
A picture states its height and width.
Values on which sizes depend are computed while the model is read: constants,
shapes, what follows from them, and inputs that are bound, up to 2^20 elements
each.
The branch of an
.Ql If
whose condition is known so is part of the graph.
.Ss Functions
A node of an operator that the model defines itself stands for the nodes of its
function, which are named after it, as
.Ql call/Relu_0 .
Operators of the table come before functions of their names.
A function may call others, but not itself.
.Ss External data
Files with external data lie beside the model, or in folders there.
A location that is absolute or has
.Ql ..\&
is refused.
Tensors are used where the file is mapped.
.Ss DxDispatch models
A dispatchable of type
.Ql onnx
has a
.Ql sourcePath
and may have
.Ql freeDimensionNameOverrides
and
.Ql freeDimensionDenotationOverrides .
Options of sessions are ignored with a warning.
A binding may state a
.Ql shape ,
and a resource whose
.Ql initialValues
are
.Ql deferred
gets the size of the output that is bound to it.
.Ss Devices
.Cm compare
of a device's folder with that of
.Fl -keep-all
names the first tensor that differs, and
.Cm run
judges any tensor,
.Fl -judge Ar name Ns = Ns Ar file .
What is wrong in one node is wrong in those behind it, too;
.Cm diagnose
with
.Fl -from
therefore judges each node on what the device gave it, names the first wrong one
and says why.
.Ss Batches
A line of a manifest may be a model with the files of its tensors, or with
ONNX's test data, whose outputs are compared with
.Pa output_0.pb
and so on; see
.Xr dmlop-batch 1 :
.Bd -literal -offset indent
{"model": "test_abs/model.onnx", "data": "test_data_set_0"}
.Ed
.Ss Refusals
Every fault of a model is reported, with the node and its operator.
.Bl -tag -width ONX-1 -compact
.It ONX-1
The file is no ONNX model, is cut off, or exceeds a limit: graphs nested 64
deep, names of 64 KiB, 2^20 nodes, sizes of 2^31 - 1; functions called 64 deep,
with 131,072 nodes or 64 MiB of names and attributes in all calls.
.It ONX-2
No DirectML operator computes the node, or its version is not known.
.It ONX-3
An attribute or a form of an input has no operator.
.It ONX-4
Nothing says a size, or it is said twice.
.It ONX-5
A size depends on values that are not known.
.It ONX-6
DirectML does not have the type: text, bfloat16, float8, complex numbers,
sequences.
.It ONX-7
A name is used before it is computed, twice, or without being computed.
.It ONX-8
External data are missing, too short, or outside of the model's folder.
.It ONX-9
The condition of an
.Ql If
is not known.
.El
.Pp
The exit status is 3, but for external data 5 if the file cannot be read and 4
if it is too short.
Rules of the operators have the codes that
.Xr dmlop-ops 1
lists.
)";

constexpr std::string_view kOnnxEnd = R"(.Sh SEE ALSO
.Xr dmlop 1 ,
.Xr dmlop-batch 1 ,
.Xr dmlop-diagnose 1 ,
.Xr dmlop-run 1 ,
.Xr dmlop-validate 1 ,
.Xr dmlop-descriptor 5
)";

std::string OnnxRowText(const OnnxRow& row) {
  std::string text;
  if (!row.operators.empty()) text += fmt::format("{}", fmt::join(WordsOf(row.operators), ", "));
  if (!row.operators.empty() && !row.remark.empty()) text += "; ";
  text += row.remark;
  return fmt::format(".It Ql {} {}\n{}", row.name, row.versions, Filled(text + "."));
}

std::string OnnxTable(std::string_view domain) {
  std::map<std::string_view, const OnnxRow*> rows;
  for (const std::span<const OnnxRow> family : OnnxRows()) {
    for (const OnnxRow& row : family) {
      if (row.domain == domain) rows.emplace(row.name, &row);
    }
  }
  std::string text = ".Bl -tag -width Ds -compact\n";
  for (const auto& [name, row] : rows) text += OnnxRowText(*row);
  return text + ".El\n";
}

}  // namespace

std::string OnnxManualPage() {
  return fmt::format(".Dd {}\n{}", kDate, kOnnxBegin) +
         ".Ss Operators of ONNX\nEach with the versions that are known; opsets before 7 are read "
         "as 7.\nAn opset before the first version of an operator does not have it.\n" +
         OnnxTable("") + ".Ss Operators of com.microsoft\n" + OnnxTable("com.microsoft") +
         ".Ss Operators that no DirectML operator computes\n" +
         Filled(fmt::format("{}.", fmt::join(OnnxNamesWithoutRow(), ", "))) + std::string(kOnnxEnd);
}

std::string ManualPage(const OperatorGroup& group) {
  const std::string name = fmt::format("dmlop-{}", group.name);
  std::string title;
  for (const char c : name) title += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string page = fmt::format(
      ".Dd {}\n.Dt {} 7\n.ds doc-volume dmlop Manual\n.Os\n.Sh NAME\n.Nm {}\n.Nd {}\n.Sh "
      "DESCRIPTION\n"
      "The fields, rules and data types of the operators, as\n.Ql dmlop ops\nprints them.\n"
      ".Xr dmlop-descriptor 5\nsays how documents are written, and\n.Xr dmlop-numerics 7\n"
      "how exact results are.\n",
      kDate, title, name, group.title);
  for (const OperatorInfo* info : group.operators) {
    page += fmt::format(".Ss {}\n{}", info->name, Filled(info->summary));
    page += FieldsText(*info) + RulesText(*info) + SupportText(*info) + ElsewhereText(*info) +
            ExampleBlock(*info);
  }
  return page +
         ".Sh SEE ALSO\n.Xr dmlop 1 ,\n.Xr dmlop-ops 1 ,\n.Xr dmlop-descriptor 5 ,\n"
         ".Xr dmlop-numerics 7\n";
}

}  // namespace dmlop
