// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "app/commands.h"
#include "app/options/command_options.h"
#include "app/options/option_kinds.h"

namespace dmlop {

Command DeclareDiagnose(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<DiagnoseOptions>();
  AddExamples(command,
              "  dmlop diagnose conv.json gpu.npy\n"
              "  dmlop diagnose gemm.json gpu.npy -i ATensor=a.npy -i BTensor=b.npy\n"
              "  dmlop diagnose lstm.json OutputSingleTensor=last.npy --format json\n"
              "  dmlop diagnose cases.jsonl gpu.npy --line 7 --ulp 2\n");
  AddDescriptor(command, options->descriptor);
  command
      .add_option("actual", options->actual,
                  "What a device has written for the next (or the named) output")
      ->required()
      ->type_name("[NAME=]ACTUAL");
  AddLine(command, options->line);
  AddFiles(command, "-i,--input", "Bind the next (or the named) input to a file", options->inputs);
  AddOperatorRules(command, options->rules);
  command.add_flag("--thorough", options->is_thorough,
                   "Look at all elements of large outputs, not at some of them");
  AddFormat(command, options->format);
  AddConfine(command, options->confine);
  return [options, &common] { return DiagnoseCommand(*options, common); };
}

}  // namespace dmlop
