// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "app/commands.h"
#include "app/options/command_options.h"
#include "app/options/option_kinds.h"
#include "core/base/error.h"

namespace dmlop {
namespace {

// Stands for a --like without a value, since an empty value is an error.
constexpr const char* kNoName = "\n";

}  // namespace

Command DeclareOps(CLI::App& command, const CommonOptions&) {
  const auto options = std::make_shared<OpsOptions>();
  AddExamples(command,
              "  dmlop ops\n"
              "  dmlop ops REDUCE -L 2_1\n"
              "  dmlop ops --like MatMul\n"
              "  dmlop ops CONVOLUTION --like\n"
              "  dmlop ops CONVOLUTION --template > conv.json\n"
              "  dmlop ops --manual reduction\n");
  CLI::Option* name = command.add_option("operator", options->name, "Describe this operator")
                          ->type_name("OPERATOR");
  const CLI::Option* like =
      command
          .add_option("--like", options->like,
                      "List the operators that ONNX, WebNN or PyTorch has under this name, or the "
                      "arguments there of the operator's fields")
          ->type_name("NAME")
          ->expected(0, 1)
          ->default_str(kNoName);
  AddLevel(command, [options](FeatureLevel level) { options->level = level; });
  AddFormat(command, options->format);
  command
      .add_option("--manual", options->manual,
                  "Print the page of the manual on a group of operators, as mdoc(7)")
      ->type_name("GROUP")
      ->excludes("operator", "--like", "-L", "--format");
  command
      .add_flag("--template", options->is_template,
                "Print a descriptor of the operator to fill in, which runs as it is")
      ->needs(name)
      ->excludes("--like", "-L", "--format", "--manual");
  return [options, like] {
    if (like->count() > 0 && options->like.empty()) {
      throw Error(ErrorKind::kUsage, "--like: the value is empty");
    }
    options->lists_counterparts = options->like == kNoName;
    if (options->lists_counterparts) options->like.clear();
    return OpsCommand(*options);
  };
}

// --- schema --------------------------------------------------------------------------------------

Command DeclareSchema(CLI::App& command, const CommonOptions&) {
  AddExamples(command,
              "  dmlop schema > dmlop.schema.json\n"
              "  dmlop schema | jq '.[\"$defs\"].REDUCE'\n");
  return SchemaCommand;
}

}  // namespace dmlop
