#include "gui/panels/strategy_menu.h"

#include <imgui.h>

#include <set>

#include "gui/ui.h"

namespace wide::gui {
namespace {

// "grouped 0.41 ms" with the word that says where the number comes from.
std::string offered(const std::string& strategy, double us, bool measured) {
  auto text = strategy;
  text.append("   ").append(time_text(us, measured)).append(measured ? " measured" : " estimated");
  return text;
}

}  // namespace

std::string strategy_rows(const NodeView& offers, const std::string& now) {
  std::string wanted;
  if (ImGui::Selectable(
          ("AUTO: " + offered(offers.strategy, offers.microseconds, offers.measured) + "###auto").c_str(),
          now == "auto"))
    wanted = "auto";
  std::set<std::string> named;
  const auto row = [&](const std::string& strategy, double us, bool measured) {
    if (!named.insert(strategy).second) return;
    const auto label = offered(strategy, us, measured) + "###" + strategy;
    if (ImGui::Selectable(label.c_str(), now == strategy)) wanted = strategy;
  };
  // Of several nodes AUTO may have chosen several strategies: that is no name to choose.
  if (offers.strategy.find(',') == std::string::npos)
    row(offers.strategy, offers.microseconds, offers.measured);
  for (const auto& other : offers.alternatives) row(other.strategy, other.microseconds, other.measured);
  for (const auto& refusal : offers.refusals) {
    if (!named.insert(refusal.strategy).second) continue;
    ImGui::BeginDisabled();
    ImGui::Selectable((refusal.strategy + "   refused: " + refusal.reason).c_str());
    ImGui::EndDisabled();
  }
  return wanted;
}

void set_choice(std::map<std::string, std::string>& choices, const std::string& what,
                const std::string& strategy) {
  if (strategy == "auto") {
    choices.erase(what);
  } else {
    choices[what] = strategy;
  }
}

}  // namespace wide::gui
