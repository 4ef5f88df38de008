#pragma once
// What is to be measured, as a form has it, and as the command line that measures the same.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine.h"
#include "gui/views/gate_form.h"
#include "presets/preset.h"

namespace wide::gui {

/// An empty list leaves that axis as the preset has it.
struct SweepForm {
  std::string preset = "quick";         ///< name or file
  std::vector<std::string> subjects;    ///< built-in ones; empty: all of the preset
  std::string model;                    ///< a .pt2 of one's own instead of subjects
  std::vector<std::string> weights;     ///< its checkpoints
  std::optional<std::int64_t> members;  ///< in the checkpoints; where not known, one in each
  std::vector<std::int64_t> n;
  std::vector<std::string> dtypes, devices, modes;
  std::vector<std::string> strategies;  ///< "all" too
  std::vector<std::string> rivals;      ///< out of kChoosableRivals
  bool peers = false;                   ///< the Python ways beside them
  std::optional<int> threads;
  std::optional<double> timeout;  ///< seconds until a case is ended; as the preset has it
  std::optional<std::uint64_t> seed;
  std::string label, database;  ///< database: empty for the default one
  GateForm gate;                ///< what the sweep is held against
  bool resume = false;

  bool operator==(const SweepForm&) const = default;
};

inline const std::vector<std::string> kChoosableRivals = {"eager", "threads", "apart"};

/// Why the form cannot be measured; empty: it can, as far as the form shows.
std::string objection(const SweepForm& form);

/// What is worth knowing before it is measured: what a command line brought that the form has no field for,
/// and that members of a model without a checkpoint are copies. Empty: nothing.
std::string remark(const SweepForm& form);

/// Arguments of `widebench`, "benchmark" first.
std::vector<std::string> arguments(const SweepForm& form);

/// "widebench …" as a shell takes it, with quotes where needed.
std::string command_text(const std::vector<std::string>& arguments);

struct ParsedForm {
  SweepForm form;
  std::string fault;  ///< what could not be understood; empty: all of it was
};

/// Reads a line that arguments() could have given, or `widebench --preset NAME`. The program's name may be
/// any path.
ParsedForm parse_command(std::string_view line);

/// How many cases the form makes. Throws wide::Error when the preset cannot be read.
std::size_t count_cases(const SweepForm& form, const std::vector<app::SubjectInfo>& known);

/// "2, 4, 8" to numbers; also a range by doubling, "2..64". Nothing when it is no such list.
std::optional<std::vector<std::int64_t>> parse_counts(std::string_view text);
std::string counts_text(const std::vector<std::int64_t>& counts);

}  // namespace wide::gui
