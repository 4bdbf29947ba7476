// SPDX-License-Identifier: Apache-2.0
#include "app/options/option_kinds.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <type_traits>

#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/io/tensor_file.h"

namespace dmlop {

std::optional<std::pair<double, std::string>> ParseQuantity(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(number) || number < 0) return std::nullopt;
  return std::pair(number, std::string(end));
}

double ParseSeconds(const std::string& option, const std::string& text, double most) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"min", 60}, {"h", 3600}};
  const auto quantity = ParseQuantity(text);
  for (const auto& [unit, seconds] : kUnits) {
    if (quantity && quantity->first > 0 && quantity->second == unit &&
        quantity->first * seconds <= most) {
      return quantity->first * seconds;
    }
  }
  throw Invalid(option, "'{}' is not a time such as 0.5, 2s, 500ms or 1min, of at most {}", text,
                most == kSecondsPerHour ? "an hour" : "a year");
}

DataType ParseDataType(const std::string& option, const std::string& name) {
  const std::span<const std::string_view> names = DataTypeNames();
  const auto found = std::find_if(names.begin(), names.end(), [&](std::string_view known) {
    return EqualIgnoringCase(known, name);
  });
  if (found != names.end()) return static_cast<DataType>(found - names.begin());
  throw Invalid(option, "'{}' is not a data type{}", name, DidYouMean(name, names));
}

namespace {

std::optional<double> ParseLimit(const std::string& text, double) {
  double value = 0;
  const bool valid = CLI::detail::lexical_cast(text, value) && value >= 0;
  return valid ? std::optional(value) : std::nullopt;
}

std::optional<uint64_t> ParseLimit(const std::string& text, uint64_t) {
  return ParseWhole<uint64_t>(text);
}

DataType ParseRawType(const std::string& name) {
  const DataType type = ParseDataType("--type", name);
  if (BitWidth(type) >= 8) return type;
  throw Invalid("--type", "elements of {} are not whole bytes", Name(type));
}

// Parses "2,3,4" or "2x3x4".
std::vector<uint32_t> ParseNumbers(const std::string& option, const std::string& text) {
  std::vector<uint32_t> numbers;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(",xX", begin), text.size());
    const auto number = ParseWhole<uint32_t>(std::string_view(text).substr(begin, end - begin));
    if (!number) throw Invalid(option, "'{}' is not a list such as 2,3,4", text);
    numbers.push_back(*number);
    begin = end + 1;
  }
  return numbers;
}

// A form, and the word that names it if there are two.
struct FormSide {
  std::string_view word;  // empty if there is one form
  RawForm* form;
};

// A part of the forms: "TEXT" for all forms, "SIDE=TEXT" for one.
class FormPart {
 public:
  using Store = void (*)(const std::string& option, const std::string& text, RawForm& form);

  FormPart(std::string name, std::vector<FormSide> sides, Store store)
      : name_(std::move(name)), sides_(std::move(sides)), store_(store) {}

  void operator()(const std::vector<std::string>& texts) const {
    for (const bool of_one : {false, true}) {
      for (const std::string& text : texts) {
        const FormSide* side = SideOf(text);
        if ((side != nullptr) == of_one) StoreFor(side, text);
      }
    }
  }

 private:
  const FormSide* SideOf(const std::string& text) const {
    for (const FormSide& side : sides_) {
      if (!side.word.empty() && text.starts_with(fmt::format("{}=", side.word))) return &side;
    }
    return nullptr;
  }

  void StoreFor(const FormSide* side, const std::string& text) const {
    if (side != nullptr) return store_(name_, text.substr(side->word.size() + 1), *side->form);
    for (const FormSide& each : sides_) store_(name_, text, *each.form);
  }

  std::string name_;
  std::vector<FormSide> sides_;
  Store store_;
};

CLI::Option* AddFormPart(CLI::App& command, const std::string& name, const std::string& type,
                         const std::string& description, const std::vector<FormSide>& sides,
                         FormPart::Store store) {
  CLI::Option* option = command.add_option_function<std::vector<std::string>>(
      name, FormPart(name, sides, store), description);
  if (sides.size() == 1) return option->expected(1)->type_name(type);
  return option->allow_extra_args(false)->type_name("[SIDE=]" + type);
}

void AddForms(CLI::App& command, const std::vector<FormSide>& sides) {
  CLI::Option* type = AddFormPart(command, "--type", "TYPE", "Data type of raw files", sides,
                                  [](const std::string&, const std::string& text, RawForm& form) {
                                    form.is_bfloat16 = text == kBfloat16Name;
                                    form.type =
                                        form.is_bfloat16 ? DataType::kFloat16 : ParseRawType(text);
                                  });
  CLI::Option* sizes = AddFormPart(
      command, "--sizes", "N,...", "Sizes of raw files, such as 2,3,4 (default: all elements)",
      sides, [](const std::string& option, const std::string& text, RawForm& form) {
        form.sizes = ParseNumbers(option, text);
      });
  sizes->needs(type);
  AddFormPart(command, "--strides", "N,...", "Strides of raw files, in elements (default: packed)",
              sides,
              [](const std::string& option, const std::string& text, RawForm& form) {
                form.strides = ParseNumbers(option, text);
              })
      ->needs(sizes);
  AddFormPart(command, "--offset", "N",
              "Byte where the tensor begins in raw files, unless they are written FILE@N", sides,
              [](const std::string& option, const std::string& text, RawForm& form) {
                form.offset = ParseOffset(text);
                if (form.offset) return;
                throw Invalid(option, "'{}' is no number of bytes, such as 1024 or 0x400", text);
              })
      ->needs(type);
}

// A limit for all types or, after "TYPE=", for one.
template <typename T>
void AddTypedRule(CLI::App& command, const std::string& name, const std::string& type,
                  const std::string& description, T& of_all,
                  std::optional<T> TypedTolerance::*of_one, ComparisonRules& rules) {
  const auto store = [name, &of_all, of_one, &rules](const std::string& text) {
    const size_t equals = text.find('=');
    const std::string number = text.substr(equals == std::string::npos ? 0 : equals + 1);
    const std::optional<T> limit = ParseLimit(number, T());
    if (!limit) {
      throw Invalid(name, "'{}' is not a {} of at least 0", number,
                    std::is_integral_v<T> ? "whole number" : "number");
    }
    if (equals == std::string::npos) {
      of_all = *limit;
    } else if (EqualIgnoringCase(text.substr(0, equals), kBfloat16Name)) {
      rules.leniency.of_bfloat16.*of_one = *limit;
    } else {
      TypedTolerance& one = rules.tolerances.typed.emplace_back();
      one.type = ParseDataType(name, text.substr(0, equals));
      one.*of_one = *limit;
    }
  };
  AddEach(command, name, type, description, store);
}

double ParseUnits(const std::string& text) {
  if (const std::optional<double> units = ParseLimit(text, double())) return *units;
  throw Invalid("--units", "'{}' is not a number of at least 0", text);
}

// A tolerance of the operator: WebNN's, or what rounded sums make of it.
CLI::Option* AddToleranceByName(CLI::App& command, ComparisonRules& rules) {
  const auto store = [&rules](const std::string& text) {
    rules.webnn_tolerance = EqualIgnoringCase(text, "webnn");
    if (rules.webnn_tolerance) return;
    const std::optional<UnitTolerance> rule = ParseUnitRule(text);
    if (!rule) {
      throw Invalid("--tolerance",
                    "'{}' is not one of webnn, sums, sums=FLOAT32, sums=FLOAT16, noise", text);
    }
    rules.units.rule = rule->rule;
    rules.units.sums = rule->sums;
  };
  return command
      .add_option_function<std::string>("--tolerance", store,
                                        "What WebNN's suite, or rounded sums, grant this operator")
      ->type_name("webnn|sums|noise");
}

}  // namespace

void AddCommon(CLI::App& command, CommonOptions& options) {
  command.add_flag("-q,--quiet", options.quiet, "Print no messages but errors");
  command.add_flag("-v,--verbose", options.verbose, "Print what is being done");
  AddChoice(
      command, "--color", "Paint messages", options.color,
      {{"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}});
}

CLI::Option* AddFiles(CLI::App& command, const std::string& name, const std::string& description,
                      std::vector<std::string>& files) {
  return command.add_option(name, files, description)
      ->allow_extra_args(false)
      ->type_name(std::string(kBoundFile));
}

void AddConfine(CLI::App& command, std::string& folder) {
  const CLI::Validator is_folder(
      [](std::string& text) {
        std::error_code ignored;
        const bool valid = std::filesystem::is_directory(text, ignored);
        return valid ? std::string() : fmt::format("'{}' is not a folder", text);
      },
      "");
  AddValue(command, "--confine", "DIR", "Refuse documents that name files outside of DIR", folder)
      ->check(is_folder);
}

void AddDescriptor(CLI::App& command, std::string& descriptor) {
  AddValue(command, "descriptor", "DESCRIPTOR", "Path, - or JSON text", descriptor)->required();
}

void AddFormat(CLI::App& command, TextFormat& format) {
  AddChoice(command, "--format", "For people or for programs", format,
            {{"text", TextFormat::kText}, {"json", TextFormat::kJson}});
}

void AddInputPath(CLI::App& command, std::string& folder) {
  AddValue(command, "--input-path", "DIR", "Folder of a model's input files (default: the model's)",
           folder);
}

void AddModelSizes(CLI::App& command, ModelSizes& sizes) {
  AddValue(command, "-f", "NAME:SIZE", "Size of a free dimension of an ONNX model, by its name",
           sizes.free)
      ->allow_extra_args(false);
  AddValue(command, "-F", "DENOTATION:SIZE", "The same by the denotation of the dimension",
           sizes.denotations)
      ->allow_extra_args(false);
  AddValue(command, "-b", "INPUT:SIZES", "Sizes of an input of an ONNX model", sizes.shapes)
      ->allow_extra_args(false);
}

void AddIsa(CLI::App& command, std::string& isa) {
  AddValue(command, "--isa", "NAME", "Instruction set, of those that dmlop --version lists", isa);
}

FeatureLevel ParseLevel(const std::string& text) {
  const auto level = ParseFeatureLevel(text);
  if (level) return *level;
  std::vector<std::string> names;
  for (const FeatureLevel known : FeatureLevels()) names.push_back(ToString(known));
  throw Invalid("--feature-level", "'{}' is not a feature level; there are {}", text,
                fmt::join(names, ", "));
}

void AddLine(CLI::App& command, std::optional<int64_t>& line) {
  AddWhole(command, "--line", "The descriptor is the case in that line of a manifest", line,
           int64_t{1});
}

void AddDrawing(CLI::App& command, DrawingOptions& drawing, const std::string& picture) {
  constexpr size_t kMostListed = 1'000'000;
  AddWhole(command, "--list", "List the N worst differences", drawing.most_listed, size_t{1},
           kMostListed);
  command.add_flag("--map", drawing.map, "Draw where the differences are");
  AddValue(command, picture, "FILE.png", "Draw the map into a picture", drawing.picture);
  AddChoice(
      command, "--measure", "The errors that maps and pictures show", drawing.measure,
      std::vector<std::pair<std::string, ErrorMeasure>>{{"ulp", ErrorMeasure::kUlp},
                                                        {"units", ErrorMeasure::kUnits},
                                                        {"absolute", ErrorMeasure::kAbsolute},
                                                        {"relative", ErrorMeasure::kRelative}});
}

CLI::Option* AddSync(CLI::App& command, bool& sync) {
  return command.add_flag("--sync", sync, "Flush the files that are written to the disk");
}

void AddRawForm(CLI::App& command, RawForm& form) {
  AddForms(command, {{"", &form}});
}

void AddRawForms(CLI::App& command, RawForms& forms) {
  AddForms(command, {{"actual", &forms.actual}, {"expected", &forms.expected}});
}

CLI::Option* AddReshape(CLI::App& command, FileShapes& shapes) {
  return command.add_flag_function(
      "--reshape", [&shapes](int64_t) { shapes = FileShapes::kByCount; },
      "Take arrays of any shape with as many elements");
}

void AddThreads(CLI::App& command, std::optional<int>& threads) {
  AddWhole(command, "-t,--threads", "Threads (default: as many as the cores it may use)", threads,
           1, kMostThreads);
}

void AddRules(CLI::App& command, ComparisonRules& rules) {
  Tolerances& tolerances = rules.tolerances;
  AddTypedRule(command, "--atol", "[TYPE=]A", "Accept |actual - expected| <= A",
               tolerances.all.absolute, &TypedTolerance::absolute, rules);
  AddTypedRule(command, "--rtol", "[TYPE=]R", "Accept |actual - expected| <= R * |expected|",
               tolerances.all.relative, &TypedTolerance::relative, rules);
  AddTypedRule(command, "--ulp", "[TYPE=]N", "Accept up to N units in the last place",
               tolerances.all.ulp, &TypedTolerance::ulp, rules);
  CLI::Option* bits = command.add_flag("--bits", tolerances.all.bits, "Require equal bits");
  for (const char* other : {"--atol", "--rtol", "--ulp"}) bits->excludes(other);
  command.add_flag("--squeeze", rules.leniency.unit_sizes, "Ignore dimensions of size 1 in shapes");
  command.add_flag("--any-integers", rules.leniency.integer_types,
                   "Compare integers of different types by their values");
  command.add_flag("--any-floats", rules.leniency.float_types,
                   "Compare floats of different types by their values");
  AddReshape(command, rules.shapes);
}

void AddAs(CLI::App& command, std::vector<std::string>& ids) {
  AddValue(command, "--as", "ID",
           "Compute as a device may have done, such as in sums-float16; see "
           "dmlop-judging(7)",
           ids)
      ->allow_extra_args(false);
}

void AddOperatorRules(CLI::App& command, ComparisonRules& rules) {
  AddRules(command, rules);
  AddParsed(command, "--units", "N",
            "Accept up to N roundoffs of the sum of an element's magnitudes", rules.units.units,
            ParseUnits)
      ->excludes("--bits");
  AddToleranceByName(command, rules)->excludes("--bits");
}

bool HasTolerance(const CLI::App& command) {
  constexpr const char* kRules[] = {"--atol", "--rtol",  "--ulp",
                                    "--bits", "--units", "--tolerance"};
  return std::ranges::any_of(kRules, [&](const char* rule) { return command.count(rule) > 0; });
}

void RequireComparison(const CLI::App& command, std::initializer_list<std::string> compare) {
  const auto is_given = [&](const std::string& name) { return command.count(name) > 0; };
  if (std::any_of(compare.begin(), compare.end(), is_given)) return;
  for (const char* rule :
       {"--atol", "--rtol", "--ulp", "--bits", "--squeeze", "--any-integers", "--any-floats",
        "--units", "--tolerance", "--list", "--map", "--picture", "--measure"}) {
    if (!is_given(rule)) continue;
    throw Error(ErrorKind::kUsage, "{} needs {}", rule, fmt::join(compare, " or "));
  }
}

}  // namespace dmlop
