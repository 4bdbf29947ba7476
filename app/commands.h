// SPDX-License-Identifier: Apache-2.0
// The commands of the program, one function each, and parts of them by kind of document.
#pragma once

#include <optional>
#include <string>

#include "app/exit_status.h"
#include "app/options/options.h"

namespace dmlop {

struct Descriptor;
struct FuzzOptions;
struct ShrinkOptions;
class ModelDocument;

// Parses the command line, runs the command that it names and reports errors.
ExitStatus Main(int argc, char** argv);

ExitStatus RunCommand(const RunOptions& options, const CommonOptions& common);
ExitStatus ValidateCommand(const ValidateOptions& options, const CommonOptions& common);
ExitStatus BenchCommand(const BenchOptions& options, const CommonOptions& common);
ExitStatus CompareCommand(const CompareOptions& options, const CommonOptions& common);
ExitStatus ShowCommand(const ShowOptions& options, const CommonOptions& common);
ExitStatus ExplainCommand(const ExplainOptions& options, const CommonOptions& common);
// Returns the text that explain prints of an element of a valid descriptor.
std::string ExplainedText(const ExplainOptions& options);
ExitStatus DiagnoseCommand(const DiagnoseOptions& options, const CommonOptions& common);
ExitStatus FuzzCommand(const FuzzOptions& options, const CommonOptions& common);
ExitStatus ShrinkCommand(const ShrinkOptions& options, const CommonOptions& common);
ExitStatus BatchCommand(const BatchOptions& options, const CommonOptions& common);
ExitStatus ReportCommand(const ReportOptions& options);
ExitStatus OpsCommand(const OpsOptions& options);
ExitStatus SchemaCommand();

// Sets the number of threads and the instruction set, if given. Throws an Error of kind kUsage if
// this machine does not have the instruction set.
void SetEngine(std::optional<int> threads, const std::string& isa);

// --- parts of commands, by what they are given ---------------------------------------------------

// Prints a manifest of a batch with a line in place of each sweep for every combination that
// DirectML accepts, and says once for each cause why others are left out. An invalid line without a
// sweep, a slip in a combination, and a case whose files fail end it with their status. Throws an
// Error of kind kUsage if a sweep has more cases than the options allow, or no valid one.
ExitStatus ExpandSweeps(const BatchOptions& options, const CommonOptions& common);

// Compares all tensor files of one folder with those of the same names in another. Prints a table
// of the differing files, the furthest off first, or a line of JSON for each file. If no file
// differs, the status is that of a file that is unreadable or in only one of the folders.
ExitStatus CompareFolders(const CompareOptions& options, const CommonOptions& common);

// A name with "Graph" is for an ONNX model or a serialized graph; one with "Model" alone is for a
// DxDispatch model that was read from `descriptor`.

// Says which operators compute each node of the model, from which level on, or why none do.
ExitStatus ValidateGraphModel(const std::string& path, const ValidateOptions& options,
                              const CommonOptions& common);

// Lists inputs, outputs and nodes with types, sizes and operators.
ExitStatus ShowGraphModel(const std::string& path, const ShowOptions& options,
                          const CommonOptions& common);

// Executes the model's commands, unless `diagnostics`, from reading it, has errors.
ExitStatus RunModel(const RunOptions& options, const CommonOptions& common,
                    const Descriptor& descriptor, const ModelDocument& model,
                    Diagnostics& diagnostics);
ExitStatus RunGraphModel(const RunOptions& options, const CommonOptions& common);

// Explains an element of any tensor back through the model, or lists the names of a graph. A
// DxDispatch model has no errors.
ExitStatus ExplainModel(const ExplainOptions& options, const CommonOptions& common,
                        const Descriptor& descriptor, const ModelDocument& model,
                        Diagnostics& diagnostics);
ExitStatus ExplainGraph(const ExplainOptions& options, const CommonOptions& common);

// The operator of the options' dispatchable, a node of a graph, as a descriptor with the values
// that reach it. Null if the model has faults, which are printed.
std::optional<Descriptor> NodeOfGraph(const ExplainOptions& options, const CommonOptions& common,
                                      Diagnostics& diagnostics);

// Diagnoses operators, each judged on what it was given.
ExitStatus DiagnoseModel(const DiagnoseOptions& options, const CommonOptions& common,
                         const Descriptor& descriptor, const ModelDocument& model,
                         Diagnostics& diagnostics);
ExitStatus DiagnoseGraph(const DiagnoseOptions& options, const CommonOptions& common);

}  // namespace dmlop
