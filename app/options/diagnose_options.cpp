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
              "  dmlop diagnose cases.jsonl gpu.npy --line 7 --ulp 2\n"
              "  dmlop diagnose model.onnx --node Conv_12 gpu.npy -i X=x.npy\n"
              "  dmlop diagnose model.onnx --from dump -i X=x.npy\n");
  AddDescriptor(command, options->descriptor);
  command
      .add_option("actual", options->actual,
                  "What a device has written for the next (or the named) output")
      ->type_name("[NAME=]ACTUAL");
  AddLine(command, options->line);
  AddFiles(command, "-i,--input", "Bind the next (or the named) input to a file", options->inputs);
  command.add_option("--node", options->node, "The node of a model whose outputs are diagnosed")
      ->type_name("NAME");
  command
      .add_option("--from", options->from,
                  "Folder with a device's tensors: a node is judged on what the device gave it; "
                  "without --node, all are, up to the first wrong one")
      ->type_name("DIR");
  AddModelSizes(command, options->sizes);
  AddOperatorRules(command, options->rules);
  command.add_flag("--thorough", options->is_thorough,
                   "Look at all elements of large outputs, not at some of them");
  AddFormat(command, options->format);
  AddConfine(command, options->confine);
  return [options, &common] { return DiagnoseCommand(*options, common); };
}

}  // namespace dmlop
