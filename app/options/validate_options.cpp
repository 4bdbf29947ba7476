// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "app/commands.h"
#include "app/options/command_options.h"
#include "app/options/option_kinds.h"

namespace dmlop {

Command DeclareValidate(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<ValidateOptions>();
  AddExamples(command,
              "  dmlop validate *.json\n"
              "  dmlop validate reduce.json -L 3_0 --format json\n"
              "  dmlop validate reduce.json --print-complete > complete.json\n");
  command.add_option("descriptor", options->descriptors, "Paths, - or JSON text")
      ->required()
      ->type_name("DESCRIPTOR");
  AddLine(command, options->line);
  AddLevel(command, [options](FeatureLevel level) { options->level = level; });
  AddFormat(command, options->format);
  AddInputPath(command, options->input_folder);
  AddFiles(command, "-i,--input", "Bind the next (or the named) input to a file", options->inputs);
  AddModelSizes(command, options->sizes);
  AddConfine(command, options->confine);
  command
      .add_flag("--print-complete", options->print_complete,
                "Print the descriptor, or a model's, with everything filled in")
      ->excludes("--format");
  CLI::Option* to_model = command.add_flag("--to-model", options->to_model,
                                           "Print the descriptor as a DxDispatch model");
  for (const char* other : {"--format", "--print-complete"}) {
    to_model->excludes(command.get_option(other));
  }
  AddReshape(command, options->shapes)->needs(to_model);
  command
      .add_option("--output-path", options->output_folder,
                  "Folder for the constants of a --to-model that are too large to be in it")
      ->type_name("DIR")
      ->needs(to_model);
  command
      .add_option("--cases", options->cases_folder,
                  "Write each node of an ONNX model into a folder, as a case with its tensors")
      ->type_name("DIR")
      ->excludes("--to-model", "--print-complete", "--format");
  return [options, &common] { return ValidateCommand(*options, common); };
}

}  // namespace dmlop
