#pragma once
// The sub-commands of `widebench runs`, a file each.

#include <memory>

#include "app/cli/context.h"

namespace wide::cli {

/// Adds a sub-command of runs with the options that all have: --db and the common ones.
CLI::App& add_runs_subcommand(CLI::App& runs, Context& context, const std::string& name,
                              const std::string& about, const std::shared_ptr<std::string>& database);

void add_runs_list(CLI::App& runs, Context& context);     ///< list, show
void add_runs_export(CLI::App& runs, Context& context);   ///< export, import
void add_runs_compare(CLI::App& runs, Context& context);  ///< compare
void add_runs_keep(CLI::App& runs, Context& context);     ///< pin, unpin, tag, note, delete, prune
void add_runs_restore(CLI::App& runs, Context& context);  ///< restore
void add_runs_trend(CLI::App& runs, Context& context);    ///< trend
void add_runs_resume(CLI::App& runs, Context& context);   ///< resume

}  // namespace wide::cli
