// SPDX-License-Identifier: Apache-2.0
// The ids of variations of place: their names, and how their details are read.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "core/judge/evidence.h"
#include "core/judge/place_variation.h"

namespace dmlop {
namespace {

struct PlaceName {
  std::string_view id;
  PlaceKind kind;
  std::string_view form;
  std::string_view text;
};

constexpr PlaceName kNames[] = {
    {"not-written", PlaceKind::kNotWritten, "not-written:[0, 128..255]", "a box is not written"},
    {"from-input", PlaceKind::kFromInput, "from-input:ATensor", "elements of an input"},
    {"shifted", PlaceKind::kShifted, "shifted:[0,0,0,-1] or shifted:[0,1],block=[0..7, *]",
     "shifted along each axis"},
    {"reversed", PlaceKind::kReversed, "reversed:axis=2 or reversed:axes=[1,2]",
     "reversed along axes"},
    {"permuted", PlaceKind::kPermuted, "permuted:[0,2,3,1] or permuted:[0,2,1,3],split=2/16",
     "written with other axes"},
    {"exchanged", PlaceKind::kExchanged, "exchanged:[16,-16],block=[0..15, 16..31]",
     "two blocks in each other's place"},
    {"tail-missing", PlaceKind::kMissingPart,
     "tail-missing:axis=1,from=80 or tail-missing:taps,from=8,terms", "the last terms left out"},
    {"head-missing", PlaceKind::kMissingPart,
     "head-missing:axis=1,to=16 or head-missing:axis=1,every=1024", "the first terms left out"},
    {"part-missing", PlaceKind::kMissingPart, "part-missing:axis=1,from=3,to=4",
     "some terms left out"},
    {"other-layout", PlaceKind::kOtherLayout,
     "other-layout:BTensor=[1,0] or other-layout:ATensor=[0,1,3,4,2],split=1/8",
     "a tensor in another layout"},
    {"padding-edge", PlaceKind::kPaddingEdge,
     "padding-edge, or with :mirrored, :symmetric, :wrapped or :zero",
     "padding made of the input"}};

const PlaceName* FindName(std::string_view id) {
  const auto* found =
      std::ranges::find(kNames, id.substr(0, id.find_first_of(":=")), &PlaceName::id);
  return found == std::end(kNames) ? nullptr : found;
}

// --- reading -------------------------------------------------------------------------------------

bool Take(std::string_view& text, std::string_view part) {
  if (!text.starts_with(part)) return false;
  text.remove_prefix(part.size());
  return true;
}

std::optional<int64_t> TakeNumber(std::string_view& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

// "[1,-2]"
std::optional<std::vector<int64_t>> TakeNumbers(std::string_view& text) {
  std::vector<int64_t> numbers;
  if (!Take(text, "[")) return std::nullopt;
  do {
    const auto number = TakeNumber(text);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  } while (Take(text, ","));
  return Take(text, "]") ? std::optional(numbers) : std::nullopt;
}

std::optional<Stretch> TakeStretch(std::string_view& text) {
  if (Take(text, "*")) return Stretch();
  const auto first = TakeNumber(text);
  if (!first || *first < 0) return std::nullopt;
  Stretch stretch{*first, *first, 1};
  if (!Take(text, "..")) return stretch;
  const auto last = TakeNumber(text);
  if (!last || *last < *first) return std::nullopt;
  stretch.last = *last;
  if (!Take(text, " by ")) return stretch;
  const auto step = TakeNumber(text);
  if (!step || *step < 1) return std::nullopt;
  stretch.step = *step;
  return stretch;
}

// "[*, 0..7]"
std::optional<std::vector<Stretch>> TakeBox(std::string_view& text) {
  std::vector<Stretch> box;
  if (!Take(text, "[")) return std::nullopt;
  do {
    while (Take(text, " ")) {
    }
    const auto stretch = TakeStretch(text);
    if (!stretch) return std::nullopt;
    box.push_back(*stretch);
  } while (Take(text, ","));
  return Take(text, "]") ? std::optional(box) : std::nullopt;
}

// Reads the details of one id; each function returns whether they have the form of its kind.
class Details {
 public:
  Details(const PlaceName& name, std::string_view text) : name_(name), text_(text) {
    place_.kind = name.kind;
  }

  std::optional<PlaceVariation> Read() {
    return ReadKind() && text_.empty() ? std::optional(place_) : std::nullopt;
  }

 private:
  bool ReadKind() {
    switch (name_.kind) {
      case PlaceKind::kNotWritten:
        return ReadUnwritten() && (!Take(text_, "=") || ReadValue());
      case PlaceKind::kFromInput:
        return ReadName("");
      case PlaceKind::kReversed:
        return Take(text_, "axis=") ? ReadOne() : Take(text_, "axes=") && ReadNumbers();
      case PlaceKind::kShifted:
        return ReadNumbers() && (!Take(text_, ",block=") || ReadBox());
      case PlaceKind::kExchanged:
        return ReadNumbers() && Take(text_, ",block=") && ReadBox();
      case PlaceKind::kOtherLayout:
        return ReadName(":=") && ((place_.is_written = Take(text_, ":written")), true) &&
               Take(text_, "=") && ReadOrder();
      case PlaceKind::kPermuted:
        return ReadOrder();
      case PlaceKind::kPaddingEdge:
        place_.name = text_;
        text_ = {};
        return FindBeyond(place_.name).has_value();
      case PlaceKind::kMissingPart:
        return Take(text_, "taps") ? ReadTaps() : Take(text_, "axis=") && ReadOne() && ReadPart();
      default:
        return ReadNumbers();
    }
  }

  // A box, a run of elements, or nothing for all.
  bool ReadUnwritten() {
    if (text_.empty() || text_.starts_with("=")) return true;
    if (text_.starts_with("[")) return ReadBox();
    return ReadOne() && Take(text_, "..") && ReadOne() && place_.numbers[0] <= place_.numbers[1];
  }

  // Taps are terms, and not those of one axis.
  bool ReadTaps() {
    place_.is_of_taps = true;
    place_.numbers.push_back(0);
    return ReadPart() && place_.is_of_terms;
  }

  // The axis has been read.
  bool ReadPart() {
    if (name_.id == "head-missing" && Take(text_, ",every=")) {
      place_.kind = PlaceKind::kBegunAnew;
      return ReadOne() && place_.numbers.back() > 0 && ReadFirst() && ReadFirstState();
    }
    const bool has_from = name_.id != "head-missing";
    const bool has_to = name_.id != "tail-missing";
    if (has_from && !(Take(text_, ",from=") && ReadOne())) return false;
    if (!has_from) place_.numbers.push_back(0);
    if (has_to && !(Take(text_, ",to=") && ReadOne())) return false;
    if (!has_to) place_.numbers.push_back(-1);
    place_.is_shorter = Take(text_, ",shorter");
    place_.is_of_terms = !place_.is_shorter && Take(text_, ",terms");
    place_.omission.is_counted = place_.is_of_terms && Take(text_, ",counted");
    place_.omission.is_last = place_.is_of_terms && Take(text_, ",last");
    return !Take(text_, ",of=") || ReadName("");
  }

  // The length of the first piece, if it is another one.
  bool ReadFirst() { return !Take(text_, ",from=") || (ReadOne() && place_.numbers.back() > 0); }

  bool ReadFirstState() {
    if (!Take(text_, ",")) return true;
    place_.name = std::exchange(text_, {});
    return FindFirstState(place_.name).has_value();
  }

  bool ReadOne() {
    const auto number = TakeNumber(text_);
    if (number) place_.numbers.push_back(*number);
    return number && *number >= 0;
  }

  bool ReadNumbers() {
    const auto numbers = TakeNumbers(text_);
    if (numbers) place_.numbers = *numbers;
    return numbers.has_value();
  }

  // After ",split=" follow an axis and the length of its blocks: "1/8".
  bool ReadOrder() {
    if (!ReadNumbers()) return false;
    if (!Take(text_, ",split=")) return true;
    const auto axis = TakeNumber(text_);
    if (!axis || *axis < 0 || !Take(text_, "/")) return false;
    const auto length = TakeNumber(text_);
    if (!length || *length < 1) return false;
    place_.split = {static_cast<size_t>(*axis), *length};
    return true;
  }

  bool ReadBox() {
    const auto box = TakeBox(text_);
    if (box) place_.box = *box;
    return box.has_value();
  }

  bool ReadName(std::string_view ends) {
    place_.name = text_.substr(0, text_.find_first_of(ends));
    text_.remove_prefix(place_.name.size());
    return !place_.name.empty();
  }

  bool ReadValue() {
    place_.value = text_;
    text_ = {};
    char* end = nullptr;
    std::strtod(place_.value.c_str(), &end);
    return !place_.value.empty() && *end == '\0';
  }

  const PlaceName& name_;
  std::string_view text_;
  PlaceVariation place_{PlaceKind::kShifted};
};

}  // namespace

bool IsPlaceId(std::string_view id) {
  return FindName(id) != nullptr;
}

std::vector<std::string> PlaceIds() {
  std::vector<std::string> ids;
  for (const PlaceName& name : kNames) ids.emplace_back(name.id);
  return ids;
}

std::string_view FormOfPlace(std::string_view id) {
  return FindName(id)->form;
}

std::string_view TextOfPlace(std::string_view id) {
  return FindName(id)->text;
}

std::optional<PlaceVariation> ParsePlace(std::string_view id) {
  const PlaceName* name = FindName(id);
  if (name == nullptr) return std::nullopt;
  id.remove_prefix(name->id.size());
  Take(id, ":");
  return Details(*name, id).Read();
}

}  // namespace dmlop
