#pragma once
// What commands that take a user's model make of their options.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/context.h"
#include "app/cli/model_flags.h"
#include "core/model/wide_model.h"

namespace wide::cli {

/// What `options` say of planning: strategies, a stored plan, the cost book of this machine. Throws
/// wide::Error, and app::CannotMeasure for a device that is not there.
BuildOptions build_options(const Context& context, const ModelOptions& options);

/// Loads the members and logs the loader's warnings. Throws wide::Error, and app::CannotMeasure for a device
/// or mode that is not there. One model without checkpoints gives `copies` members with seeded weights where
/// that is given (printed graphs need no real ones), else itself. `copies` also keeps the text of each stage.
WideModel load_model(const Context& context, const ModelOptions& options,
                     std::optional<std::int64_t> copies = {}, std::optional<BuildOptions> build = {});

/// Sizes that the preset gives the subject, the first where it gives several; none, which means the subject's
/// own defaults, where the preset does not name it. Throws wide::Error ("preset").
std::map<std::string, std::int64_t> preset_sizes(const std::string& preset, const std::string& subject);

/// "auto", "NAME" and "KIND=NAME" as the planner wants them. Throws wide::Error ("usage").
StrategyChoice parse_strategies(const std::vector<std::string>& given);

/// Warns where nothing runs by a strategy that was asked for, and where the plan was chosen by measuring
/// beside other work.
void warn_of_plan(const Context& context, const ModelOptions& options, const Build& built);

}  // namespace wide::cli
