// SPDX-License-Identifier: Apache-2.0
// Options of the commands that take a descriptor, a model, tensors or reports.
#include <algorithm>
#include <memory>

#include "app/commands.h"
#include "app/options/option_kinds.h"
#include "core/base/error.h"

namespace dmlop {

// --- run -----------------------------------------------------------------------------------------

Command DeclareRun(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<RunOptions>();
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
  AddLevel(command, options->level);
  AddThreads(command, options->threads);
  AddIsa(command, options->isa);
  command.add_flag("--full", options->full, "Print all elements of long tensors");
  AddFormat(command, options->format);
  AddValue(command, "--report", "FILE", "Write a JSON record of the run", options->report);
  AddSync(command, options->sync);
  AddInputPath(command, options->input_folder);
  AddValue(command, "--output-path", "DIR",
           "Folder for the files that a model writes (default: the current one)",
           options->output_folder);
  AddValue(command, "--keep", "NAME=FILE",
           "Write a tensor that an operator of a model fills, such as an edge of a graph",
           options->keep);
  AddValue(command, "--keep-all", "DIR",
           "Folder for all tensors that the operators of a model fill, in their order",
           options->keep_folder);
  AddModelSizes(command, options->sizes);
  AddConfine(command, options->confine);
  return [options, &common, &command] {
    RequireComparison(command, {"--expect", "--judge"});
    options->rules.have_precedence = !options->as.empty() && HasTolerance(command);
    return RunCommand(*options, common);
  };
}

// --- validate ------------------------------------------------------------------------------------

Command DeclareValidate(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<ValidateOptions>();
  AddValue(command, "descriptor", "DESCRIPTOR", "Paths, - or JSON text", options->descriptors)
      ->required();
  AddLine(command, options->line);
  AddLevel(command, options->level);
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
  AddValue(command, "--output-path", "DIR",
           "Folder for the constants of a --to-model that are too large to be in it",
           options->output_folder)
      ->needs(to_model);
  AddValue(command, "--cases", "DIR",
           "Write each node of an ONNX model into a folder, as a case with its tensors",
           options->cases_folder)
      ->excludes("--to-model", "--print-complete", "--format");
  return [options, &common] { return ValidateCommand(*options, common); };
}

// --- explain -------------------------------------------------------------------------------------

Command DeclareExplain(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<ExplainOptions>();
  AddDescriptor(command, options->descriptor);
  CLI::Option* element = command.add_option(
      "element", options->element,
      "A tensor and an index, as OutputTensor[0,2,5], or a byte, as OutputTensor@24");
  element->required()->type_name("ELEMENT");
  AddLine(command, options->line);
  AddValue(command, "--dispatchable", "NAME", "Which dispatchable of a model is meant",
           options->dispatchable);
  AddInputPath(command, options->input_folder);
  AddFiles(command, "-i,--input", "Bind the next (or the named) input to a file", options->inputs);
  AddAs(command, options->as);
  CLI::Option* actual =
      AddValue(command, "--actual", "VALUE",
               "A device's value of the element, to be put beside the exact one", options->actual);
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

// --- ops -----------------------------------------------------------------------------------------

namespace {

// Stands for a --like without a value, since an empty value is an error.
constexpr const char* kNoName = "\n";

}  // namespace

Command DeclareOps(CLI::App& command, const CommonOptions&) {
  const auto options = std::make_shared<OpsOptions>();
  CLI::Option* name =
      AddValue(command, "operator", "OPERATOR", "Describe this operator", options->name);
  const CLI::Option* like =
      AddValue(command, "--like", "NAME",
               "List the operators that ONNX, WebNN or PyTorch has under this name, or the "
               "arguments there of the operator's fields",
               options->like)
          ->expected(0, 1)
          ->default_str(kNoName);
  AddLevel(command, options->level);
  AddFormat(command, options->format);
  AddValue(command, "--manual", "GROUP",
           "Print the page of the manual on a group of operators, as mdoc(7)", options->manual)
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

Command DeclareSchema(CLI::App&, const CommonOptions&) {
  return SchemaCommand;
}

// --- compare -------------------------------------------------------------------------------------

Command DeclareCompare(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<CompareOptions>();
  AddValue(command, "files", "ACTUAL [SLICE] EXPECTED [SLICE]",
           "Two tensor files, folders or -: what is compared, and what is expected", options->files)
      ->required();
  AddRawForms(command, options->raw);
  AddRules(command, options->rules);
  AddDrawing(command, options->drawing, "-o,--picture,--output");
  AddFormat(command, options->format);
  command.add_flag("--skip-missing", options->skip_missing,
                   "Leave out the files that the actual folder lacks");
  return [options, &common] { return CompareCommand(*options, common); };
}

// --- show ----------------------------------------------------------------------------------------

Command DeclareShow(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<ShowOptions>();
  AddValue(command, "file", "FILE [SLICE]", "A tensor file or -, then slices of it", options->files)
      ->required();
  AddRawForm(command, options->raw);
  command.add_flag("--stats", options->statistics,
                   "Print counts, range, mean, percentiles and a histogram");
  command.add_flag("--full", options->full, "Print all elements of long tensors");
  command.add_flag("--hex", options->bits, "Print the bits in hexadecimal");
  CLI::Option* map =
      command.add_flag("--map", options->map, "Draw the values instead of printing them");
  for (const char* other : {"--full", "--hex"}) map->excludes(other);
  AddFormat(command, options->format);
  for (const char* other : {"--hex", "--map"}) command.get_option("--format")->excludes(other);
  AddValue(command, "-o,--output", "FILE.png", "Draw the map into a picture", options->picture);
  CLI::Option* find =
      AddValue(command, "--find", "FILE", "Say where in the file this tensor lies", options->find);
  for (const char* other : {"--stats", "--full", "--hex", "--map", "--output"})
    find->excludes(other);
  command.get_option("--format")->excludes("--output");
  AddModelSizes(command, options->sizes);
  return [options, &common] { return ShowCommand(*options, common); };
}

// --- report --------------------------------------------------------------------------------------

namespace {

std::vector<std::string> ParseKeys(const std::string& text) {
  std::vector<std::string> keys;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    keys.push_back(text.substr(begin, end - begin));
    begin = end + 1;
    if (std::ranges::find(kReportKeys, keys.back()) != std::end(kReportKeys)) continue;
    throw Invalid("--by", "'{}' is not one of {}", keys.back(), fmt::join(kReportKeys, ", "));
  }
  return keys;
}

}  // namespace

Command DeclareReport(CLI::App& command, const CommonOptions&) {
  const auto options = std::make_shared<ReportOptions>();
  AddValue(command, "reports", "FILE.jsonl",
           "Reports of 'dmlop batch --report', one a device, or -", options->reports)
      ->required();
  AddParsed(command, "--by", "KEY,...",
            fmt::format("What cases are grouped by (default: operator,type): {}",
                        fmt::join(kReportKeys, ", ")),
            options->by, ParseKeys);
  AddChoice(command, "--format", "How it is printed (default: table)", options->format,
            {{"table", ReportFormat::kTable},
             {"csv", ReportFormat::kCsv},
             {"markdown", ReportFormat::kMarkdown},
             {"json", ReportFormat::kJson},
             {"junit", ReportFormat::kJunit},
             {"html", ReportFormat::kHtml}});
  AddValue(command, "-o,--output", "FILE", "Write it to a file", options->output);
  return [options] { return ReportCommand(*options); };
}

Command DeclareDiagnose(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<DiagnoseOptions>();
  AddDescriptor(command, options->descriptor);
  AddValue(command, "actual", "[NAME=]ACTUAL",
           "What a device has written for the next (or the named) output", options->actual);
  AddLine(command, options->line);
  AddFiles(command, "-i,--input", "Bind the next (or the named) input to a file", options->inputs);
  AddValue(command, "--node", "NAME", "The node of a model whose outputs are diagnosed",
           options->node);
  AddValue(command, "--from", "DIR",
           "Folder with a device's tensors: a node is judged on what the device gave it; "
           "without --node, all are, up to the first wrong one",
           options->from);
  AddModelSizes(command, options->sizes);
  AddOperatorRules(command, options->rules);
  command.add_flag("--thorough", options->is_thorough,
                   "Look at all elements of large outputs, not at some of them");
  AddFormat(command, options->format);
  AddConfine(command, options->confine);
  return [options, &common] { return DiagnoseCommand(*options, common); };
}

}  // namespace dmlop
