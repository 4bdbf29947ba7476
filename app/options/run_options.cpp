// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "app/commands.h"
#include "app/options/command_options.h"
#include "app/options/option_kinds.h"

namespace dmlop {

Command DeclareRun(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<RunOptions>();
  AddExamples(command,
              "  dmlop run reduce.json                         # the descriptor binds files\n"
              "  dmlop run reduce.json -i x.npy -o sum.npy     # the command line does\n"
              "  dmlop run join.json -i a.npy -i b.npy -o - | dmlop show -\n"
              "  dmlop run reduce.json -i x.npy --judge gpu.npy --ulp 2\n"
              "  dmlop run model.json --output-path results\n");
  AddDescriptor(command, options->descriptor);
  AddLine(command, options->line);
  AddFiles(command, "-i,--input", "Bind the next (or the named) input to a file", options->inputs);
  AddFiles(command, "-o,--output", "Bind the next (or the named) output to a file",
           options->outputs);
  AddFiles(command, "-e,--expect", "Compare an output with what is expected of it",
           options->expected);
  AddFiles(command, "--judge", "Compare a device's output with what is computed here",
           options->judged);
  AddAs(command, options->as);
  AddDrawing(command, options->drawing, "--picture");
  AddOperatorRules(command, options->rules);
  AddLevel(command, [options](FeatureLevel level) { options->level = level; });
  AddThreads(command, options->threads);
  AddIsa(command, options->isa);
  command.add_flag("--full", options->full, "Print all elements of long tensors");
  AddFormat(command, options->format);
  command.add_option("--report", options->report, "Write a JSON record of the run")
      ->type_name("FILE");
  AddSync(command, options->sync);
  AddInputPath(command, options->input_folder);
  command
      .add_option("--output-path", options->output_folder,
                  "Folder for the files that a model writes (default: the current one)")
      ->type_name("DIR");
  command
      .add_option("--keep", options->keep,
                  "Write a tensor that an operator of a model fills, such as an edge of a graph")
      ->type_name("NAME=FILE");
  command
      .add_option("--keep-all", options->keep_folder,
                  "Folder for all tensors that the operators of a model fill, in their order")
      ->type_name("DIR");
  AddModelSizes(command, options->sizes);
  AddConfine(command, options->confine);
  return [options, &common, &command] {
    RequireComparison(command, {"--expect", "--judge"});
    return RunCommand(*options, common);
  };
}

}  // namespace dmlop
