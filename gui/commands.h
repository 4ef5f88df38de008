#pragma once
// All that a person can do, by name. Menu, palette, shortcuts, buttons and tests go through it and nothing
// else.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wide::gui {

struct Command {
  std::string id;     ///< "sweep.start"; the panel first
  std::string title;  ///< "Start the sweep": what menu and palette show
  std::string menu;   ///< top-level menu it stands in ("Run"); empty: palette only
  std::string icon;   ///< a glyph of the icon font, may be empty
  std::string words;  ///< other words that find it: "light theme"
  int chord = 0;      ///< ImGuiKeyChord; 0: none
  /// `argument` is empty from menu, palette and shortcut. Runs on the window's thread and must not take long.
  std::function<void(const std::string& argument)> run;
  std::function<std::string()> refuse;  ///< why it cannot run now; empty text or empty function: it can
  std::function<bool()> checked;        ///< shown with a tick in the menu; empty: no tick
};

class Commands {
 public:
  /// Throws std::logic_error when the id is taken.
  void add(Command command);
  const Command* find(std::string_view id) const;                ///< null: there is none
  const std::vector<Command>& all() const { return commands_; }  ///< in the order they were added

  /// Empty when it can run now, else why not ("no command is called X" too).
  std::string refusal(std::string_view id) const;
  /// Runs it, or returns why not. What the command throws goes to `failed` when set.
  std::string run(std::string_view id, const std::string& argument = {});

  /// What to do with an exception of a command: message and id.
  std::function<void(const std::string& id, const std::string& message)> failed;
  /// Called after each command that ran, with id and argument: the log of what was done.
  std::function<void(const std::string& id, const std::string& argument)> ran;

 private:
  std::vector<Command> commands_;
};

/// Commands whose title or id holds the letters of `query` in order, best match first; all for an empty
/// query.
std::vector<const Command*> search(const Commands& commands, std::string_view query);

}  // namespace wide::gui
