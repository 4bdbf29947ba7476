// SPDX-License-Identifier: Apache-2.0
#include "app/compare/drawing.h"

#include <fmt/format.h>

#include "app/files/output.h"
#include "core/base/error.h"

namespace dmlop {
namespace {

// The room for a map in JSON, which does not depend on the screen.
MapSpace JsonSpace(const Dims&) {
  return {.most = {32, 64},
          .least = {32, 64},
          .gap = {0, 0},
          .cell_height = 1,
          .most_panels = 64,
          .is_fixed = true};
}

}  // namespace

Drawing::Drawing(const DrawingOptions& options, ColorMode color, Forms forms)
    : options_(options), style_(StyleOf(color)), forms_(forms) {}

void Drawing::RequireOne(size_t comparisons) const {
  if (options_.picture.empty()) return;
  CheckPicturePath(options_.picture);
  if (IsStandardOutput(options_.picture)) {
    throw Error(ErrorKind::kUsage, "--picture takes a file here; compare -o - writes to a pipe");
  }
  if (comparisons == 1) return;
  throw Error(ErrorKind::kUsage, fmt::format("{}: a picture shows one comparison; there are {}",
                                             options_.picture, comparisons));
}

JudgeDetails Drawing::details() const {
  JudgeDetails details{.most_listed = options_.most_listed, .measure = options_.measure};
  if (options_.map && forms_.json) details.json = JsonSpace;
  if (options_.map && forms_.text) {
    details.printed = [this](const Dims& sizes) { return MapSpaceOf(sizes, style_); };
  }
  if (!options_.picture.empty()) {
    details.picture = [](const Dims&) { return PictureSpace(); };
  }
  return details;
}

std::string Drawing::Text(const Judgement& judgement) {
  const Dims& sizes = judgement.shown.view.layout.sizes;
  std::string text;
  if (judgement.printed) {
    text += MapText(*judgement.printed, sizes, style_, options_.measure.has_value());
  }
  if (picture_) {
    text += PictureText(options_.picture, *picture_, *judgement.picture, sizes, style_);
  }
  return text;
}

std::optional<ResultFile> Drawing::MakePicture(const Judgement& judgement) {
  if (!judgement.picture) return std::nullopt;
  picture_ = PictureOf(*judgement.picture, judgement.shown.view.layout.sizes);
  return ResultFile(options_.picture, PngBytes(*picture_));
}

}  // namespace dmlop
