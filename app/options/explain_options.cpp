// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "app/commands.h"
#include "app/options/command_options.h"
#include "app/options/option_kinds.h"

namespace dmlop {

Command DeclareExplain(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<ExplainOptions>();
  AddExamples(command,
              "  dmlop explain reduce.json 'OutputTensor[0,2]' -i x.npy\n"
              "  dmlop explain unfold.json 'InputTensor[0,0,3,1]' --format json\n"
              "  dmlop explain join.json 'InputTensors[1][0,-1]'\n"
              "  dmlop explain reduce.json OutputTensor@8 -i x.npy\n"
              "  dmlop explain reduce.json 'OutputTensor[0,2]' -i x.npy --as sums-float16\n"
              "  dmlop explain model.json 'OutputTensor[0,1]' --dispatchable sum\n"
              "  dmlop explain model.json 'sum.OutputTensor[0,1]'\n");
  AddDescriptor(command, options->descriptor);
  CLI::Option* element = command.add_option(
      "element", options->element,
      "A tensor and an index, as OutputTensor[0,2,5], or a byte, as OutputTensor@24");
  element->required()->type_name("ELEMENT");
  AddLine(command, options->line);
  command
      .add_option("--dispatchable", options->dispatchable, "Which dispatchable of a model is meant")
      ->type_name("NAME");
  AddInputPath(command, options->input_folder);
  AddFiles(command, "-i,--input", "Bind the next (or the named) input to a file", options->inputs);
  AddAs(command, options->as);
  CLI::Option* actual =
      command
          .add_option("--actual", options->actual,
                      "A device's value of the element, to be put beside the exact one")
          ->type_name("VALUE");
  AddFiles(command, "--judge", "A device's output, which has that value", options->judged)
      ->excludes(actual);
  AddFormat(command, options->format);
  AddReshape(command, options->shapes);
  AddConfine(command, options->confine);
  // A list is of no element.
  const auto needs_none = [element](const std::string&) { element->required(false); };
  CLI::Option* list =
      AddChoice<std::optional<ListedNames>>(
          command, "--list",
          "List, one a line, what an element, --keep of run or --dispatchable takes",
          options->listed,
          {{"tensors", ListedNames::kTensors},
           {"filled", ListedNames::kFilled},
           {"dispatchables", ListedNames::kDispatchables}})
          ->each(needs_none)
          ->excludes(element, "--format");
  const auto list_tensors = [options, element] {
    options->listed = ListedNames::kTensors;
    element->required(false);
  };
  command.add_flag_callback("--tensors", list_tensors, "The same as --list tensors")
      ->excludes(element, "--format", list);
  command.add_flag("--full", options->full, "Print long lists and numbers whole");
  AddModelSizes(command, options->sizes);
  return [options, &common] { return ExplainCommand(*options, common); };
}

}  // namespace dmlop
