// SPDX-License-Identifier: Apache-2.0
// Determines which files are for which tensors, and how many tensors that makes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/document/operator_case.h"

namespace dmlop {
namespace {

struct NamedArray {
  std::string_view field;
  std::string_view count;  // the field with its count
  bool left_out = false;
  std::optional<uint32_t> stated_count;
};

// Returns the only field of a role that is an array of tensors, if the operator has one.
std::optional<NamedArray> ArrayOf(TensorRole role, const OperatorDesc& op) {
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const Field& field = *op.fields()[i];
    if (field.kind != FieldKind::kTensors || field.role != role) continue;
    NamedArray array{field.name, op.fields()[i - 1]->name, !op.Has(field), std::nullopt};
    if (const auto* count = std::get_if<uint32_t>(&op.values()[i - 1])) array.stated_count = *count;
    return array;
  }
  return std::nullopt;
}

// Returns whether an argument names an impossible entry of a field: "InputTensors/a=x.npy".
bool NamesNoEntry(const std::string& argument, const std::vector<TensorSlot>& slots) {
  if (argument.find('=') == std::string::npos) return false;
  const std::string field = argument.substr(0, argument.find_first_of("/[="));
  return std::any_of(slots.begin(), slots.end(),
                     [&](const TensorSlot& slot) { return slot.field->name == field; });
}

// Also for an entry that there cannot be: "InputTensors[a]".
bool IsEntryOf(std::string_view field, const std::string& name) {
  return name.starts_with(field) && name.size() > field.size() &&
         (name[field.size()] == '/' || name[field.size()] == '[');
}

// Returns how many files are for the entries of an array that is left out: those that name one, and
// unnamed ones that the other tensors do not take.
size_t EntriesOf(std::string_view array, const std::vector<TensorSlot>& others,
                 const std::vector<std::string>& arguments) {
  size_t named = 0;
  size_t named_others = 0;
  for (const std::string& argument : arguments) {
    const std::string name = FileArgument::Parse(argument).name;
    if (!name.empty()) ++(IsEntryOf(array, name) ? named : named_others);
  }
  const size_t unnamed = arguments.size() - named - named_others;
  const size_t taken = others.size() - std::min(named_others, others.size());
  return named + unnamed - std::min(unnamed, taken);
}

std::string KindOf(TensorRole role) {
  return role == TensorRole::kInput ? "input" : "output";
}

// "OutputTensors[0], OutputTensors[1], ..."
std::string NamesOf(const std::vector<TensorSlot>& slots) {
  constexpr size_t kShown = 4;
  std::string names;
  for (size_t i = 0; i < std::min(slots.size(), kShown); ++i) {
    names += (i == 0 ? "" : ", ") + DisplayName(slots[i].path);
  }
  return names + (slots.size() > kShown ? ", ..." : "");
}

// "; an optional one is bound by its name, CTensor=c.npy"
std::string OptionalTensorText(TensorRole role, const OperatorDesc& op, const std::string& path) {
  std::vector<std::string> names;
  for (const Field* field : TensorFieldsOf(op.info())) {
    const bool is_left_out =
        field->kind == FieldKind::kTensor && field->optional && !op.Has(*field);
    if (is_left_out && field->role == role)
      names.push_back(fmt::format("{}={}", field->name, path));
  }
  if (names.empty()) return "";
  return fmt::format("; an optional one is bound by its name, {}", fmt::join(names, " or "));
}

}  // namespace

void OperatorCase::Bind(TensorRole role, const std::vector<std::string>& arguments) {
  AddOptionalTensors(role, arguments);
  if (role == TensorRole::kOutput) document_.op().AddImpliedOutputs();
  const auto array = ArrayOf(role, document_.op());
  if (array && array->left_out) {
    const size_t bound = std::max(document_.BoundEntries(array->field),
                                  EntriesOf(array->field, Slots(role), arguments));
    const size_t count = array->stated_count ? *array->stated_count : bound;
    const bool known = array->stated_count || bound > 0;
    if (known && count <= kMaxImpliedTensors) document_.SizeLeftOutTensors(role, count);
  }
  try {
    for (const FileArgument& file : Assign(role, arguments)) {
      document_.bindings()[file.name] = {file.path, std::nullopt, std::nullopt};
    }
  } catch (const Error& error) {
    if (!usage_fault_) usage_fault_ = error;
  }
}

void OperatorCase::AddOptionalTensors(TensorRole role, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    const std::string name = FileArgument::Parse(argument).name;
    for (const Field* field : TensorFieldsOf(document_.op().info())) {
      const bool is_named = field->kind == FieldKind::kTensor && field->role == role;
      if (is_named && field->name == name) document_.op().AddTensor(*field);
    }
  }
}

std::vector<FileArgument> OperatorCase::Assign(TensorRole role,
                                               const std::vector<std::string>& arguments) const {
  if (arguments.empty()) return {};
  const std::vector<TensorSlot> slots = Slots(role);
  std::set<std::string> known;
  for (const TensorSlot& slot : slots) known.insert(slot.path);
  std::vector<FileArgument> files;
  std::set<std::string> taken;
  for (const std::string& argument : arguments) {
    FileArgument& file = files.emplace_back(FileArgument::Parse(argument));
    if (file.name.empty() && NamesNoEntry(argument, slots) && !FileExists(argument)) {
      file.name = argument.substr(0, argument.find('='));
    }
    const bool is_unknown = !file.name.empty() && !known.contains(file.name);
    if (is_unknown && FileExists(argument)) file = {"", argument};  // the file's name has an =
    if (file.name.empty()) continue;
    if (is_unknown) {
      throw Error(
          ErrorKind::kUsage, "{} has no {} '{}'; it has {}; a file of that name is written ./{}",
          document_.op().name(), KindOf(role), DisplayName(file.name), NamesOf(slots), argument);
    }
    if (!taken.insert(file.name).second) {
      throw Error(ErrorKind::kUsage, "'{}' is given twice", DisplayName(file.name));
    }
  }
  auto slot = slots.begin();
  for (FileArgument& file : files) {
    if (!file.name.empty()) continue;
    while (slot != slots.end() && taken.contains(slot->path)) ++slot;
    if (slot == slots.end()) {
      throw Error(ErrorKind::kUsage, "{}: one file too many; {} has {}{}", file.path,
                  document_.op().name(), Counted(slots.size(), KindOf(role)),
                  OptionalTensorText(role, document_.op(), file.path));
    }
    file.name = (slot++)->path;
  }
  return files;
}

bool OperatorCase::KnowsTensors(FeatureLevel level) const {
  OperatorDesc op = document_.op();
  Diagnostics found;
  dmlop::Check(op, level, found);
  for (const TensorRole role : {TensorRole::kInput, TensorRole::kOutput}) {
    const auto array = ArrayOf(role, op);
    const auto is_wrong = [&](const Diagnostic& fault) {
      return fault.pointer == array->field || fault.pointer == array->count;
    };
    if (array && std::any_of(found.list().begin(), found.list().end(), is_wrong)) return false;
  }
  return true;
}

// --- files on the command line -------------------------------------------------------------------

namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

// Returns the path of the tensor that "Field", "Field/1" or "Field[1]" may name; empty for anything
// that is not a field's name.
std::string TensorPath(std::string_view name) {
  const size_t end = std::min(name.find_first_of("/["), name.size());
  const std::string_view field = name.substr(0, end);
  const size_t letters = field.find_first_not_of(kLetters);
  if (field.empty() || letters == 0) return "";
  if (letters != std::string_view::npos &&
      field.find_first_not_of(kDigits, letters) != std::string_view::npos) {
    return "";
  }
  if (end == name.size()) return std::string(field);
  std::string_view index = name.substr(end + 1);
  if (name[end] == '[') {
    if (!index.ends_with(']')) return "";
    index.remove_suffix(1);
  }
  if (index.empty() || index.find_first_not_of(kDigits) != std::string_view::npos) return "";
  return fmt::format("{}/{}", field, index);
}

FileArgument TakeApart(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return {"", text};
  const std::string name = text.substr(0, equals);
  const std::string path = TensorPath(name);
  // A path with a folder is not taken for a misspelled name.
  if (path.empty() && name.find('/') != std::string::npos) return {"", text};
  return {path.empty() ? name : path, text.substr(equals + 1)};
}

}  // namespace

bool FileExists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

FileArgument FileArgument::Parse(const std::string& text) {
  FileArgument argument = TakeApart(text);
  if (text.starts_with('=') && !FileExists(text)) {
    throw Error(ErrorKind::kUsage,
                "'{0}' has no name before the '='; a file of that name is written ./{0}", text);
  }
  if (argument.path.empty()) throw Error(ErrorKind::kUsage, "'{}' names no file", text);
  return argument;
}

}  // namespace dmlop
