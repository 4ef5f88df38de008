// Opening models as a person would: sample, dialog, dropping, recent; what is shown of them; what goes wrong.
#include <fstream>

#include "app/engine.h"
#include "formats/error.h"
#include "gui/bed.h"
#include "zip_builder.h"

namespace wide::test {
namespace {

void empty_state_loads_sample(ImGuiTestContext* ctx) {
  fresh(ctx);
  show(ctx, "graph");
  ctx->ItemClick("//###Graph/###sample");
  settle(ctx);
  IM_CHECK(bench().session.model != nullptr);
  IM_CHECK_STR_EQ(bench().session.model->name.c_str(), "resblock");
  IM_CHECK_EQ(bench().session.model->members.size(), 4U);
}

void dialog_opens_folder(ImGuiTestContext* ctx) {
  fresh(ctx);
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_O);
  ctx->Yield(3);
  IM_CHECK(bench().files.is_open());
  ctx->ItemInputValue("//###files/##path", corpus("resblock").c_str());
  ctx->Yield(2);
  if (bench().files.is_open()) ctx->ItemClick("//###files/Open");
  settle(ctx);
  IM_CHECK(!bench().files.is_open());
  const auto model = bench().session.model;
  IM_CHECK(model != nullptr);
  IM_CHECK_EQ(model->members.size(), 4U);
  IM_CHECK_STR_EQ(model->members[0].c_str(), "seed0");
  IM_CHECK_STR_EQ(model->name.c_str(), "resblock");
}

void torchscript_is_refused(ImGuiTestContext* ctx) {
  fresh(ctx);
  const auto file = scratch() / "scripted.pt";
  std::ofstream(file, std::ios::binary)
      << formats::test::zip({{.name = "scripted/code/model.py", .bytes = "x"}});
  bench().open_files({file.string()});
  settle(ctx);
  IM_CHECK(noticed("scripted.pt: is TorchScript"));
}

void dialog_says_what_is_missing(ImGuiTestContext* ctx) {
  fresh(ctx);
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_O);
  ctx->Yield(3);
  ctx->ItemInputValue("//###files/##path", "/no/such/model.pt2");
  ctx->Yield(2);
  IM_CHECK(bench().files.is_open());
  ctx->ItemClick("//###files/Cancel");
  ctx->Yield(2);
  IM_CHECK(!bench().files.is_open());
  IM_CHECK(bench().session.model == nullptr);
}

void dropping_a_folder(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().open_files({corpus("mlp").string()});
  settle(ctx);
  IM_CHECK(bench().session.model && bench().session.model->members.size() == 4);
}

void dropping_a_checkpoint_adds_a_member(ImGuiTestContext* ctx) {
  fresh(ctx);
  const auto folder = corpus("resblock");
  bench().open_files({(folder / "model.pt2").string(), (folder / "seed0.safetensors").string()});
  settle(ctx);
  IM_CHECK(bench().session.model && bench().session.model->members.size() == 1);
  bench().open_files({(folder / "seed1.safetensors").string(), (folder / "seed0.safetensors").string()});
  settle(ctx);
  IM_CHECK_EQ(bench().session.model->members.size(), 2U);
}

void dropping_checkpoints_alone(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().open_files({(corpus("resblock") / "seed0.safetensors").string()});
  ctx->Yield(3);
  IM_CHECK(noticed("there is no exported model (.pt2)"));
  bench().open_files({"/somewhere/notes.txt"});
  IM_CHECK(noticed("notes.txt is neither a model"));
}

void a_broken_file(ImGuiTestContext* ctx) {
  fresh(ctx);
  const auto file = scratch() / "broken.pt2";
  std::ofstream(file) << "this is no archive";
  bench().open_files({file.string()});
  settle(ctx);
  IM_CHECK(noticed("broken.pt2"));
  IM_CHECK(bench().session.model == nullptr);
  IM_CHECK(bench().notices.log_text().find("broken.pt2") != std::string::npos);
}

void an_error_keeps_what_was_open(ImGuiTestContext* ctx) {
  with_sample(ctx);
  bench().open_files(
      {(corpus("mlp") / "model.pt2").string(), (corpus("resblock") / "seed0.safetensors").string()});
  settle(ctx);
  IM_CHECK(noticed("did not work"));
  IM_CHECK_STR_EQ(bench().session.model->name.c_str(), "resblock");
  bench().commands.run("strategies.validate");
  settle(ctx);
  IM_CHECK(bench().session.proof && bench().session.proof->passed);
}

void facts(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().open_files({corpus("resblock").string()});
  settle(ctx);
  const auto& model = *bench().session.model;
  IM_CHECK(model.parameters > 0 && model.member_bytes >= model.parameters * 4);
  IM_CHECK(model.kept_bytes > model.member_bytes && model.kept_bytes <= 4 * model.member_bytes);
  IM_CHECK(model.dtypes.contains("float32"));
  IM_CHECK(model.nodes > 0 && model.sequential == 0);
  IM_CHECK(model.activation_bytes > 0);
  IM_CHECK_EQ(model.inputs.size(), 1U);
  IM_CHECK(model.inputs[0].find("float32[") != std::string::npos);
  // Twice the members, twice what differs per member.
  IM_CHECK(model.weights_for(8) > 1.9 * model.weights_for(4) &&
           model.weights_for(8) <= 2.01 * model.weights_for(4));
}

void recent_models(ImGuiTestContext* ctx) {
  with_sample(ctx);
  bench().open_source({.subject = "mlp"});
  settle(ctx);
  IM_CHECK_STR_EQ(bench().session.model->name.c_str(), "mlp");
  IM_CHECK_EQ(bench().settings.recent.size(), 2U);
  show(ctx, "models");
  ctx->ItemClick("//###Models/###recent1");
  settle(ctx);
  IM_CHECK_STR_EQ(bench().session.model->name.c_str(), "resblock");
}

void subjects(ImGuiTestContext* ctx) {
  fresh(ctx);
  show(ctx, "models");
  ctx->ItemInputValue("//###Models/##filter", "tiny_h");
  ctx->ItemClick("//###Models/###subject_tiny_head");
  settle(ctx);
  IM_CHECK(bench().session.model && bench().session.model->name == "tiny_head");
}

void more_members(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "models");
  ctx->ItemInputValue("//###Models/##copies", 8);
  ctx->ItemClick("//###Models/Apply");
  settle(ctx);
  IM_CHECK_EQ(bench().session.model->members.size(), 8U);
}

void command_lines(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().open_files({corpus("resblock").string()});
  settle(ctx);
  show(ctx, "models");
  ctx->ItemClick("//###Models/###copy_line");
  IM_CHECK(clipboard().starts_with("widebench trace --model "));
  IM_CHECK(clipboard().find("seed3.safetensors") != std::string::npos);
  IM_CHECK_STR_EQ(gui::shell_quoted("it's").c_str(), "'it'\\''s'");
  IM_CHECK_STR_EQ(gui::arguments(gui::ModelSource{.subject = "mlp", .copies = 3}).c_str(), "mlp -n 3");
}

void sequential_nodes_are_named(ImGuiTestContext* ctx) {
  with_sample(ctx);
  bench().session.wish.all = "sequential";
  bench().build();
  settle(ctx);
  const auto& model = *bench().session.model;
  IM_CHECK(model.sequential > 0 && !model.sequential_ops.empty());
  show(ctx, "models");
  for (const auto& node : model.graph) {
    if (node.strategy == "sequential")
      IM_CHECK(ctx->ItemExists(("//###Models/###sequential_" + node.name).c_str()));
  }
}

void closing_a_model(ImGuiTestContext* ctx) {
  with_sample(ctx);
  IM_CHECK_STR_EQ(bench().commands.run("file.close").c_str(), "");
  settle(ctx);
  IM_CHECK(bench().session.model == nullptr);
  IM_CHECK_STR_EQ(bench().commands.refusal("file.close").c_str(), "no model is open");
}

// Each answer builds the graphs of all subjects: milliseconds, in every frame.
void subjects_are_asked_for_once(ImGuiTestContext* ctx) {
  fresh(ctx);
  int asked = 0;
  auto& subjects = bench().host.engine.subjects;
  subjects = [&asked, given = subjects] {
    ++asked;
    return given();
  };
  ctx->Yield(10);
  subjects = app::engine().subjects;
  IM_CHECK_EQ(asked, 0);  // known from the frames before
}

// A model and its training form beside each other: the window asks.
void a_folder_with_several_models(ImGuiTestContext* ctx) {
  fresh(ctx);
  const auto folder = scratch() / "two_models";
  std::filesystem::create_directories(folder);
  for (const auto& entry : std::filesystem::directory_iterator(corpus("resblock")))
    std::filesystem::copy(entry.path(), folder / entry.path().filename(),
                          std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy(folder / "model.pt2", folder / "model_train.pt2",
                        std::filesystem::copy_options::overwrite_existing);
  bench().open_files({folder.string()});
  ctx->Yield(4);
  IM_CHECK(!bench().jobs.busy());
  picture(ctx, "tour-28-chooser");
  ctx->ItemClick("//###choose_model/###model_0");
  settle(ctx);
  IM_CHECK(bench().session.model != nullptr);
  IM_CHECK_EQ(bench().session.model->source.models.size(), 1u);
  IM_CHECK_GT(bench().session.model->members.size(), 1u);
  bench().open_files({folder.string()});
  ctx->Yield(4);
  ctx->ItemClick("//###choose_model/###none");
  ctx->Yield(3);
  IM_CHECK(!bench().jobs.busy());
}

}  // namespace

void add_models_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "models", name)->TestFunc = test;
  };
  add("a folder with several models", a_folder_with_several_models);
  add("empty state loads the sample", empty_state_loads_sample);
  add("dialog opens a folder", dialog_opens_folder);
  add("dialog says what is missing", dialog_says_what_is_missing);
  add("dropping a folder", dropping_a_folder);
  add("dropping a checkpoint adds a member", dropping_a_checkpoint_adds_a_member);
  add("dropping checkpoints alone", dropping_checkpoints_alone);
  add("a broken file", a_broken_file);
  add("TorchScript is refused", torchscript_is_refused);
  add("an error keeps what was open", an_error_keeps_what_was_open);
  add("facts", facts);
  add("recent models", recent_models);
  add("subjects", subjects);
  add("subjects are asked for once", subjects_are_asked_for_once);
  add("more members", more_members);
  add("command lines", command_lines);
  add("sequential nodes are named", sequential_nodes_are_named);
  add("closing a model", closing_a_model);
}

}  // namespace wide::test
