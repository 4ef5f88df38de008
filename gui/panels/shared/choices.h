#pragma once
// One or several of a list, in a drop-down.

#include <string>
#include <vector>

#include "gui/ui.h"

namespace wide::gui {

struct Choice {
  std::string name;
  std::string about;  ///< tooltip; may be empty
};

/// Several: a drop-down of ticks with a filter where the list is long. `none` is shown where nothing is
/// chosen. True when changed. What is chosen stays in the order of the list.
bool choose_many(const Ui& ui, const char* id, const std::vector<Choice>& choices,
                 std::vector<std::string>& chosen, const char* none);
bool choose_names(const Ui& ui, const char* id, const std::vector<std::string>& choices,
                  std::vector<std::string>& chosen, const char* none);

/// One. True when changed.
bool choose_one(const Ui& ui, const char* id, const std::vector<Choice>& choices, std::string& chosen);

/// Goes on in the same line where a button with this label still fits into the panel, else in the next one.
void beside(const char* label);
/// The same for anything `width` pixels wide.
void beside(float width);

/// A faint label in a table of label and field; leaves the cursor in the field's cell, all of whose width it
/// takes.
void field(const Ui& ui, const char* label);

}  // namespace wide::gui
