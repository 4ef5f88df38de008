"""scripts/peers.py: graphs, programs, checks, protocol."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "peers.py"
CORPUS = ROOT / "tests" / "corpus"

sys.path.insert(0, str(SCRIPT.parent))
import peers  # noqa: E402
import peers_subject  # noqa: E402

if peers.torch is None:
    print(f"SKIPPED: {peers.IMPORT_FAILURE}; scripts/setup --profile full installs Python's torch")
    sys.exit(77)

import torch  # noqa: E402
from made_up_cuda import MadeUpCuda  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

MEMBERS = ["seed0", "seed1", "seed2"]
EAGER = ["python_eager", "python_vmap"]


def value(name):
    return {"value": name}


# y = relu(linear(x)); its halves; a scaled buffer that is written back. Every kind of argument that JSON must spell out.
GRAPH = {
    "inputs": [{"name": "w", "kind": "parameter", "target": "layer.weight"},
               {"name": "b", "kind": "parameter", "target": "layer.bias"},
               {"name": "count", "kind": "buffer", "target": "count"},
               {"name": "x", "kind": "user", "target": "x"}],
    "nodes": [{"op": "aten.linear.default", "arguments": [value("x"), value("w"), value("b")], "results": ["y"]},
              {"op": "aten.clamp.default", "arguments": [value("y"), 0.0, {"float": "inf"}], "results": ["z"]},
              {"op": "aten.split.Tensor", "arguments": [value("z"), 2, 1], "results": ["left", None]},
              {"op": "aten.to.dtype", "arguments": [value("left"), {"dtype": "float16"}, False, False, None], "results": ["d"]},
              {"op": "aten.cat.default", "arguments": [[value("d"), value("d")], 1], "results": ["e"]},
              {"op": "aten.add.Tensor", "arguments": [value("count"), 1.0, 1], "results": ["next"]}],
    "outputs": [{"value": value("e"), "kind": "user", "target": ""},
                {"value": value("z"), "kind": "user", "target": ""},
                {"value": value("next"), "kind": "buffer_mutation", "target": "count"}]}


def expected_of(weights, x):
    z = torch.nn.functional.linear(x, weights["layer.weight"], weights["layer.bias"]).clamp(min=0)
    left = z[:, :2].half()
    return torch.cat([left, left], 1), z


def write_folder(folder, graph=GRAPH, shared=False, part="layer"):
    """Three members with weights of their own; with `shared` one input for all. `part` is what the graph calls the layer."""
    generator = torch.Generator().manual_seed(1)
    inputs, outputs = {}, {}
    one = torch.randn(5, 3, generator=generator)
    for member in MEMBERS:
        weights = {"layer.weight": torch.randn(4, 3, generator=generator), "layer.bias": torch.randn(4, generator=generator),
                   "count": torch.zeros(())}
        x = one if shared else torch.randn(5, 3, generator=generator)
        save_file({name.replace("layer", part): tensor for name, tensor in weights.items()}, folder / f"{member}.safetensors")
        inputs["input.0" if shared else f"{member}.input.0"] = x
        for k, output in enumerate(expected_of(weights, x)):
            outputs[f"{member}.output.{k}"] = output.contiguous()
    save_file(inputs, folder / "inputs.safetensors")
    save_file(outputs, folder / "outputs.safetensors")
    (folder / "model.json").write_text(json.dumps({
        "schema_version": 1, "members": MEMBERS, "weights": [f"{member}.safetensors" for member in MEMBERS],
        "inputs": "inputs.safetensors", "outputs": "outputs.safetensors", "graph": graph}))
    return folder


def prepare(folder, rivals):
    served = peers.Peers()
    with torch.inference_mode():
        answer = served.answer({"do": "prepare", "folder": str(folder), "threads": 1, "rivals": rivals})
    return served, {report["name"]: report for report in answer["rivals"]}


class WithFolder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)


class Graphs(WithFolder):
    def test_rivals_agree_with_the_outputs(self):
        for shared in (False, True):
            with self.subTest(shared=shared):
                _, reports = prepare(write_folder(self.folder, shared=shared), EAGER)
                for name in EAGER:
                    self.assertTrue(reports[name]["ok"], reports[name]["reason"])
                    self.assertLess(reports[name]["max_abs_err"], 1e-2)
                    self.assertGreater(reports[name]["first_run_us"], 0)

    def test_buffers_are_written_back(self):
        subject = peers.Subject(write_folder(self.folder))
        peers.eager(subject)()
        peers.eager(subject)()
        self.assertEqual([next(module.buffers()).item() for module in subject.modules], [2, 2, 2])

    def test_parts_may_have_names_of_methods(self):
        graph = json.loads(json.dumps(GRAPH).replace("layer.", "half."))
        _, reports = prepare(write_folder(self.folder, graph, part="half"), EAGER)
        for name in EAGER:
            self.assertTrue(reports[name]["ok"], reports[name]["reason"])

    def test_another_model_than_in_the_folder_is_no_rival(self):
        write_folder(self.folder)
        other = load_file(self.folder / "seed1.safetensors")
        save_file({name: tensor.clone() for name, tensor in other.items()}, self.folder / "seed2.safetensors")
        with self.assertRaisesRegex(peers.Unusable, "the eager loop's seed2.output.0 differs by"):
            prepare(self.folder, EAGER)

    def test_a_wrong_rival_cannot_be_run(self):
        wrong = {"nan": lambda outputs: outputs * float("nan"), "swapped": lambda outputs: outputs.flip(0),
                 "short": lambda outputs: outputs[:, :-1]}
        for name, change in wrong.items():
            def build(subject, change=change):
                run = peers.vmap(subject)
                return lambda: tuple(change(leaf) for leaf in run())
            peers.RIVALS[name] = build
            peers.STACKED.add(name)
            self.addCleanup(peers.RIVALS.pop, name)
            self.addCleanup(peers.STACKED.discard, name)
        served, reports = prepare(write_folder(self.folder), list(wrong))
        for name in wrong:
            self.assertFalse(reports[name]["ok"], name)
            self.assertRegex(reports[name]["reason"], "member seed0, output 0", name)
            self.assertNotIn(name, served.runs)

    def test_a_rival_that_throws_has_its_reason(self):
        _, reports = prepare(write_folder(self.folder), ["python_eager", "nonsense"])
        self.assertTrue(reports["python_eager"]["ok"])
        self.assertRegex(reports["nonsense"]["reason"], "there is no rival 'nonsense'")

    def test_an_operator_that_is_not_there_is_named(self):
        graph = json.loads(json.dumps(GRAPH))
        graph["nodes"][0]["op"] = "aten.nonsense.default"
        with self.assertRaisesRegex(peers.Unusable, "aten.nonsense.default"):
            prepare(write_folder(self.folder, graph), EAGER)


class Programs(WithFolder):
    def test_models_of_the_corpus(self):
        for name in ("mlp", "resblock", "minigpt_dynamic"):
            with self.subTest(name):
                source = CORPUS / name
                members = [f"seed{i}" for i in range(4)]
                (self.folder / "model.json").write_text(json.dumps({
                    "schema_version": 1, "members": members, "model": str(source / "model.pt2"),
                    "weights": [str(source / f"{member}.safetensors") for member in members],
                    "inputs": str(source / "golden.safetensors"), "outputs": str(source / "golden.safetensors")}))
                _, reports = prepare(self.folder, EAGER)
                self.assertTrue(reports["python_eager"]["ok"], reports["python_eager"]["reason"])
                if name != "minigpt_dynamic":  # vmap has no rule for symbolic sizes
                    self.assertTrue(reports["python_vmap"]["ok"], reports["python_vmap"]["reason"])
                else:
                    self.assertRegex(reports["python_vmap"]["reason"], "^$|sym_size")


class Compiled(WithFolder):
    def test_compiled_rivals_run_or_say_why(self):
        names = ["python_compile", "python_vmap_compile"]
        served, reports = prepare(write_folder(self.folder), names)
        for name in names:
            if reports[name]["ok"]:
                self.assertLess(reports[name]["max_abs_err"], 1e-2)
                self.assertGreater(reports[name]["build_us"], 1000)  # a compiler ran
                with torch.inference_mode():
                    self.assertEqual(len(served.answer({"do": "round", "rival": name, "runs": 2})["nanoseconds"]), 2)
            else:
                print(f"{name}: {reports[name]['reason']}")
                self.assertNotEqual(reports[name]["reason"], "")

    def test_without_a_compiler_there_is_a_reason(self):
        environment = dict(os.environ, CXX="/no/such/compiler", TORCHINDUCTOR_CACHE_DIR=str(self.folder / "cache"))
        with talk(environment) as ask:
            answer = ask({"do": "prepare", "folder": str(write_folder(self.folder)), "threads": 1,
                          "rivals": ["python_compile", "python_eager"]})
        compiled, eager = answer["rivals"]
        self.assertFalse(compiled["ok"])
        self.assertNotEqual(compiled["reason"], "")
        self.assertTrue(eager["ok"], eager["reason"])


class OnGpu(WithFolder):
    """On a torch.cuda that is made up; only the GPU's own answers are not seen here."""

    GPU = ["python_eager", "python_vmap", "python_streams", "python_graph"]

    def setUp(self):
        super().setUp()
        self.cuda = MadeUpCuda()
        for patch in (unittest.mock.patch.object(torch, "cuda", self.cuda),
                      unittest.mock.patch.object(peers_subject.Gpu, "place", "cpu")):
            patch.start()
            self.addCleanup(patch.stop)

    def prepare(self):
        served = peers.Peers()
        with torch.inference_mode():
            answer = served.answer({"do": "prepare", "folder": str(write_folder(self.folder)), "device": "cuda",
                                    "rivals": self.GPU})
        return served, {report["name"]: report for report in answer["rivals"]}

    def test_rivals_of_a_gpu_agree_with_the_outputs(self):
        _, reports = self.prepare()
        for name in self.GPU:
            self.assertTrue(reports[name]["ok"], (name, reports[name]["reason"]))
        self.assertGreaterEqual(len(self.cuda.on), len(MEMBERS))
        self.assertGreater(self.cuda.replays, 0)
        self.assertFalse(torch.backends.cudnn.allow_tf32)

    def test_a_time_ends_when_the_gpu_has_done_it(self):
        served, _ = self.prepare()
        for name in self.GPU:
            with self.subTest(name), torch.inference_mode():
                before = self.cuda.synchronized
                served.answer({"do": "round", "rival": name, "runs": 3})
                self.assertEqual(self.cuda.synchronized, before + 4)  # once for the inputs, once for each

    def test_a_graph_follows_its_inputs(self):
        served, _ = self.prepare()
        with torch.inference_mode():
            first = [leaf.clone() for leaf in peers.leaves(served.runs["python_graph"]())]
            served.subject.change_inputs()
            graph = peers.leaves(served.runs["python_graph"]())
            eager = peers.leaves(served.runs["python_eager"]())
        self.assertTrue(all(torch.equal(one, other) for one, other in zip(graph, eager, strict=True)))
        self.assertFalse(all(torch.equal(one, other) for one, other in zip(graph, first, strict=True)))

    def test_recurrent_weights_are_packed_once(self):
        weights = {"0": torch.zeros(20, 3), "1": torch.zeros(20, 5), "2": torch.zeros(20), "3": torch.zeros(20)}
        arguments = [value("x"), [value("h"), value("c")], [value(f"w{i}") for i in range(4)], True, 1, 0.0, False, False, True]
        inputs = [{"kind": "user", "name": name, "target": name} for name in "xhc"]
        inputs += [{"kind": "parameter", "name": f"w{i}", "target": f"{i}"} for i in range(4)]
        module = peers_subject.GraphReader({"inputs": inputs, "outputs": [{"kind": "user", "value": value("y")}], "nodes": [
            {"op": "aten.lstm.input", "arguments": arguments, "results": ["y", None, None]}]}).module(weights)
        with unittest.mock.patch.object(torch, "_cudnn_rnn_flatten_weight") as packed:
            peers_subject.Gpu().prepare(module)
        tensors, *others = packed.call_args.args  # by cuDNN's number of the cell
        self.assertEqual([one.shape for one in tensors], [one.shape for one in weights.values()])
        self.assertEqual(others, [4, 3, 2, 5, 0, 1, True, False])

    def test_without_a_gpu_there_is_one_line(self):
        self.cuda.available = False
        with self.assertRaisesRegex(peers.Unusable, "can use no GPU"):
            peers.open_device("cuda")
        if not os.path.exists("/dev/nvidia0"):
            done = subprocess.run([sys.executable, SCRIPT, "--check", "cuda"], capture_output=True, text=True, timeout=300,
                                  check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1), done.stderr)
            self.assertIn("can use no GPU", done.stderr)

    def test_on_the_cpu_they_say_what_they_need(self):
        _, reports = prepare(write_folder(self.folder), ["python_streams", "python_graph"])
        for report in reports.values():
            self.assertRegex(report["reason"], "needs a GPU")

    def test_what_a_graph_makes_lies_on_the_device(self):
        reader = peers_subject.GraphReader({"inputs": [], "outputs": [{"kind": "user", "value": value("r")}], "nodes": [
            {"op": "aten.arange.default", "arguments": [3, None, None, None, None], "results": ["r"]}]}, "meta")
        made, = reader.module({})()
        self.assertEqual(made.device.type, "meta")
        self.assertEqual(peers_subject.to_constant({"device": "cpu"}, "meta"), torch.device("meta"))


@contextlib.contextmanager
def talk(environment=None):
    process = subprocess.Popen([sys.executable, SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, env=environment)

    def ask(request):
        process.stdin.write((request if isinstance(request, str) else json.dumps(request)) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    try:
        yield ask
        assert ask({"do": "stop"}) == {"stopped": True}
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


class Protocol(WithFolder):
    def test_rounds_have_as_many_times_as_runs(self):
        write_folder(self.folder)
        with talk() as ask:
            answer = ask({"do": "prepare", "folder": str(self.folder), "threads": 1, "rivals": EAGER})
            self.assertEqual([report["name"] for report in answer["rivals"]], EAGER)
            self.assertEqual(answer["torch"], torch.__version__)
            for name in EAGER:
                for runs in (1, 7):
                    times = ask({"do": "round", "rival": name, "runs": runs})["nanoseconds"]
                    self.assertEqual(len(times), runs)
                    self.assertTrue(all(isinstance(time, int) and time > 0 for time in times))

    def test_every_round_has_inputs_of_its_own(self):
        def remembering(make, stacked, seen):
            def build(subject):
                run = make(subject)

                def kept():
                    outputs = run()
                    seen.append(peers.by_member(outputs, len(MEMBERS), stacked)[2][1].clone())
                    return outputs
                return kept
            return build

        for shared in (False, True):
            seen = {name: [] for name in EAGER}
            rivals = {name: remembering(peers.RIVALS[name], name in peers.STACKED, seen[name]) for name in EAGER}
            with unittest.mock.patch.dict(peers.RIVALS, rivals), torch.inference_mode():
                served, _ = prepare(write_folder(self.folder, shared=shared), EAGER)
                for name in EAGER:
                    seen[name].clear()
                    for _ in range(3):
                        served.answer({"do": "round", "rival": name, "runs": 1})
                    same = [torch.equal(seen[name][i], seen[name][k]) for i, k in ((0, 1), (0, 2), (1, 2))]
                    self.assertEqual(same, [False] * 3, (name, shared))

    def test_requests_that_cannot_be_met_are_answers(self):
        with talk() as ask:
            for request in ("nonsense", "[]", "{}", {"do": "dance"}, {"do": "round", "rival": "python_eager", "runs": 1},
                            {"do": "prepare", "folder": "/no/such/folder", "rivals": []}):
                self.assertIn("error", ask(request), request)

    def test_ends_with_its_input(self):
        done = subprocess.run([sys.executable, SCRIPT], stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b""))

    def test_check(self):
        done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, torch.__version__ + "\n"))
        # Isolated from its packages, the same Python has no torch.
        bare = subprocess.run([sys.executable, "-S", SCRIPT, "--check"], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(bare.returncode, 3)
        self.assertRegex(bare.stderr, "No module named '(torch|safetensors)'")
        self.assertEqual(bare.stderr.count("\n"), 1)


class Exported(WithFolder):
    """Folders made by the program itself."""

    def test_subjects_of_the_zoo(self):
        program = os.environ["WIDEBENCH"]
        for name in ("mlp", "resblock", "minigpt", "attention", "lstm"):
            with self.subTest(name):
                folder = self.folder / name
                subprocess.run([program, "export", name, "-n", "3", "-o", folder, "--quiet"], check=True, timeout=120)
                _, reports = prepare(folder, ["python_eager"])  # checked against the outputs that the program wrote
                self.assertTrue(reports["python_eager"]["ok"], reports["python_eager"]["reason"])

    def test_a_model_is_referred_to(self):
        program, source = os.environ["WIDEBENCH"], CORPUS / "mlp"
        folder = self.folder / "mlp"
        subprocess.run([program, "export", "--model", source / "model.pt2", "--weights", source / "seed0.safetensors",
                        source / "seed1.safetensors", "--inputs", source / "golden.safetensors", "-o", folder, "--quiet"],
                       check=True, timeout=120)
        self.assertEqual(sorted(path.name for path in folder.iterdir()),
                         ["inputs.safetensors", "model.json", "outputs.safetensors"])
        _, reports = prepare(folder, EAGER)
        for name in EAGER:
            self.assertTrue(reports[name]["ok"], reports[name]["reason"])


if __name__ == "__main__":
    unittest.main()
