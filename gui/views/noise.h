#pragma once
// How far times of this machine can be trusted: what its newest run showed where nothing differed.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/record.h"

namespace wide::gui {

struct Noise {
  double share = 0;       ///< 0.012: wide and its twin, the same work twice, seemed to differ by 1.2 %
  std::int64_t run = 0;   ///< that showed it
  std::size_t cases = 0;  ///< with a twin; `share` is the median over them
};

/// Beyond a tenth nothing that was measured then is to be believed.
bool unreliable(const Noise& noise);

/// Over the cases that have a twin; nothing where none has.
std::optional<Noise> noise_of(const std::vector<results::CaseRecord>& cases);
/// Of the newest run that was measured on the machine with this key and has a twin. Throws wide::Error when
/// the database cannot be read.
std::optional<Noise> read_noise(const std::filesystem::path& database, const std::string& machine_key);

/// "EPYC 7B13" of "AMD EPYC 7B13 64-Core Processor": a processor's name without what fills the line.
std::string short_processor(const std::string& name);

}  // namespace wide::gui
