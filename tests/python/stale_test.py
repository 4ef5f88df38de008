"""Weights that change after a wide model took them in: what is noticed, and what is no change."""
import copy
import gc
import tempfile
import threading
import time
import unittest

from support import nets, same_as_modules, torch, widebench
from torch.nn.utils import prune

FAST = "fast"
X = torch.randn(8, 16)


class Stale(unittest.TestCase):
    def test_in_place_changes_are_noticed(self):
        modules = nets(3)
        wide = widebench.compile(modules, X, config=FAST)
        optimizer = torch.optim.SGD(modules[1].parameters(), lr=0.1)
        modules[1](X).sum().backward()
        optimizer.step()
        with self.assertRaises(widebench.Error) as caught:
            wide(X)
        self.assertEqual(caught.exception.stage, "stale")
        self.assertIn("member1", caught.exception.place)
        self.assertIn("refresh()", caught.exception.advice)
        wide.refresh()
        same_as_modules(self, wide, modules, X)
        follows = widebench.compile(modules, X, config=widebench.Config.fast(stale="refresh"))
        with torch.no_grad():
            modules[0][0].weight.mul_(2)
        same_as_modules(self, follows, modules, X)

    def test_memory_that_was_given_back(self):
        modules = nets(3)
        wide = widebench.compile(modules, X, config=FAST)
        modules[1][0].weight.untyped_storage().resize_(0)  # as FSDP does
        with self.assertRaises(widebench.Error) as caught:
            wide.state_dict(1)
        self.assertIn("memory", str(caught.exception))
        self.assertEqual(wide.state_dict(0).keys(), modules[0].state_dict().keys())

    def test_all_that_builds_takes_changes_in_where_a_call_does(self):
        for name in ("plan", "explain", "profile", "verify"):
            modules = nets(3)
            wide = widebench.compile(modules, X, config=widebench.Config.fast(stale="refresh"))
            wide.add(nets(4)[3])  # of which there is no build
            with torch.no_grad():
                modules[0][0].weight.mul_(2)
            getattr(wide, name)()
            self.assertTrue(torch.equal(wide.state_dict(0)["0.weight"], modules[0][0].weight), name)

    def test_changes_that_torch_does_not_count_are_noticed(self):
        def fused(modules):
            optimizer = torch.optim.AdamW([p for module in modules for p in module.parameters()], lr=0.1, fused=True)
            sum(module(X).square().sum() for module in modules).backward()
            optimizer.step()

        def replaced(modules):
            modules[1][0].weight = torch.nn.Parameter(torch.randn_like(modules[1][0].weight))

        def data(modules):
            modules[1][0].weight.data = torch.randn_like(modules[1][0].weight)

        def twice(modules):  # in memory that may have been the first one's
            for _ in range(2):
                modules[1][0].weight.data = modules[1][0].weight.data - 0.01

        def pruned(modules):
            prune.l1_unstructured(modules[1][0], "weight", 0.5)

        def sparse(modules):
            modules[1][0].weight = torch.nn.Parameter(modules[1][0].weight.detach().to_sparse())

        def through_data(modules):
            modules[1][0].weight.data.mul_(2)

        def numpy(modules):
            modules[1][0].weight.detach().numpy()[:] = 1

        def assigned(modules):
            modules[1].load_state_dict(nets(9)[8].state_dict(), assign=True)

        def layer(modules):
            modules[1][0] = copy.deepcopy(nets(9)[8][0])

        def no_layer(modules):
            modules[1][1] = torch.nn.Identity()

        def swapped(modules):
            torch.utils.swap_tensors(modules[1][0].weight, torch.nn.Parameter(torch.randn_like(modules[1][0].weight)))

        for change in (fused, replaced, data, twice, pruned, sparse, through_data, numpy, assigned, layer, no_layer, swapped):
            with self.subTest(change.__name__):
                modules = nets(3)
                wide = widebench.compile(modules, X, config=FAST)
                follows = widebench.compile(modules, X, config=widebench.Config.fast(stale="refresh"))
                same_as_modules(self, wide, modules, X)
                change(modules)
                for use in (wide, wide.verify, lambda _: wide.save_bundle("nowhere")):
                    time.sleep(0.05)  # until it looks again
                    with self.assertRaises(widebench.Error) as caught:
                        use(X)
                    self.assertEqual(caught.exception.stage, "stale")
                    self.assertRegex(caught.exception.place, "member 'member[01]', ")
                if change in (no_layer, pruned, sparse):  # no member of this architecture any more
                    continue
                wide.refresh()
                for _ in range(2):
                    same_as_modules(self, wide, modules, X)
                same_as_modules(self, follows, modules, X)

    def test_calls_beside_an_export_of_the_members(self):
        modules = nets(3)
        wide = widebench.compile(modules, X, config=FAST)
        expected, wrong, done = wide(X), [], threading.Event()

        def call():
            while not done.is_set():
                wide._short.look_at = 0.0
                try:
                    if not torch.equal(wide(X), expected):
                        wrong.append("numbers")
                except Exception as error:
                    wrong.append(repr(error))

        caller = threading.Thread(target=call)
        caller.start()
        widebench.compile(modules, X[:3], config=FAST)
        done.set()
        caller.join()
        self.assertEqual(wrong[:1], [])

    def test_modules_may_go_and_shared_parameters_stay(self):
        shared = torch.nn.Linear(4, 4)
        modules = [torch.nn.Sequential(shared, torch.nn.Linear(4, 4)).eval() for _ in range(3)]
        wide = widebench.compile(modules, torch.randn(2, 4), config=FAST)
        x = torch.randn(2, 4)
        before = wide(x)
        del modules[1]
        gc.collect()
        self.assertTrue(torch.equal(wide(x), before))
        del modules[1][1]  # a part that nobody needs any more
        time.sleep(0.05)
        self.assertTrue(torch.equal(wide(x), before))

    def test_weights_of_modules_that_are_gone_can_be_refreshed(self):
        base, heads = torch.nn.Linear(4, 4), [torch.nn.Linear(4, 2) for _ in range(3)]
        x = torch.randn(3, 4)
        wide = widebench.compile([torch.nn.Sequential(base, head) for head in heads], x, config="fast")
        gc.collect()
        with torch.no_grad():
            for write in (heads[1].weight.mul_, base.weight.data.mul_):
                write(2)
                with self.assertRaisesRegex(widebench.Error, r"call refresh\(\)"):
                    wide.unpack()
                wide.refresh()
                torch.testing.assert_close(wide(x), torch.stack([head(base(x)) for head in heads]))
        weights = [head.weight for head in heads]
        del heads, write
        gc.collect()
        with torch.no_grad():
            weights[1].mul_(2)
        with self.assertRaisesRegex(widebench.Error, "member1.*module is gone.*replace"):
            wide.refresh()
        wide.replace(1, torch.nn.Sequential(base, torch.nn.Linear(4, 2)))
        wide(x)

    def test_weights_that_are_only_moved_are_what_they_were(self):
        modules = nets(3)
        wide = widebench.compile(modules, X, config=FAST)
        before = wide(X)
        modules[1].share_memory()
        time.sleep(0.05)
        for _ in range(2):
            self.assertTrue(torch.equal(wide(X), before))
        with torch.no_grad():
            modules[1][0].weight.mul_(2)
        with self.assertRaisesRegex(widebench.Error, "refresh"):
            wide(X)

    def test_one_of_many_tensors_is_noticed_in_a_few_calls(self):
        modules = [torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(30)]).eval() for _ in range(3)]
        x = torch.randn(2, 4)
        wide = widebench.compile(modules, x, config=FAST)
        wide(x)
        modules[2][17].bias.data.add_(1)
        with self.assertRaisesRegex(widebench.Error, "17.bias"):
            for _ in range(len(modules) * 60 // 64 + 1):
                wide(x)
        for _ in range(5):  # and stays so
            with self.assertRaisesRegex(widebench.Error, "17.bias"):
                wide(x)
        wide.refresh()
        modules[0][9].bias.data.add_(1)
        with self.assertRaisesRegex(widebench.Error, "9.bias"):
            for _ in range(2 * len(modules)):  # a population, of which one is replaced at each turn
                wide.replace(2, modules[2])
                wide(x)

    def test_all_that_uses_weights_refreshes_them_where_that_is_asked_for(self):
        modules = nets(2)
        with tempfile.TemporaryDirectory() as folder:
            for config, refused in ((widebench.Config.fast(stale="refresh"), False), (widebench.Config.fast(), True)):
                wide = widebench.compile(modules, X, config=config)
                for name, use in (("verify", lambda: self.assertTrue(wide.verify())), ("bundle", lambda: wide.save_bundle(f"{folder}/b", replace=True))):
                    with self.subTest(name, refused=refused), torch.no_grad():
                        modules[1].get_parameter("0.weight").mul_(1.5)
                        if refused:
                            self.assertRaisesRegex(widebench.Error, "refresh", use)
                            continue
                        use()
                        self.assertTrue(torch.equal(wide.state_dict(1)["0.weight"], modules[1].get_parameter("0.weight")))
                if not refused:
                    same_as_modules(self, widebench.from_bundle(f"{folder}/b"), modules, X)

    def test_what_members_have_alike_is_no_longer_one_members(self):
        """Weights equal in all of them: that of one that leaves, or is read anew, may be written."""
        def write(module):
            with torch.no_grad():
                module[0].weight.add_(1)

        def pair():
            first, = nets(1)
            second = copy.deepcopy(first)
            with torch.no_grad():
                second[-1].bias.add_(1)
            return first, second, second(X).detach()

        def dropped(wide, first):
            wide.drop(0)
            write(first)

        def replaced(wide, first):
            wide.replace(0, nets(1)[0])
            write(first)

        def written_and_replaced(wide, first):
            write(first)
            wide.replace(0, nets(1)[0])

        for change in (dropped, replaced, written_and_replaced):
            for called in (False, True):
                first, second, wanted = pair()
                wide = widebench.compile([first, second], X, config=FAST)
                if called:
                    wide(X)
                change(wide, first)
                torch.testing.assert_close(wide(X)[-1].detach(), wanted, msg=f"{change.__name__}, called: {called}")
                self.assertTrue(wide.verify())
        for module_goes in (False, True):
            first, second, wanted = pair()
            wide = widebench.compile([first, second] if module_goes else [first], X, config=FAST)
            if not module_goes:
                wide.add(second.state_dict())
            wide(X)
            del second
            gc.collect()
            write(first)
            wide.refresh()
            torch.testing.assert_close(wide(X)[-1].detach(), wanted)
            torch.testing.assert_close(wide(X)[0], first(X))

    def test_no_state_dict_of_weights_that_were_written(self):
        modules = nets(2)
        wide = widebench.compile(modules, X, config=FAST)
        wide(X)
        with torch.no_grad():
            modules[0][0].weight.add_(1)
        for read in (wide.state_dict, wide.unpack, lambda: wide.state_dict(1)):
            with self.assertRaises(widebench.Error) as caught:
                read()
            self.assertEqual(caught.exception.stage, "stale")
        wide.load_member(0, modules[0].state_dict())  # needs nothing of before
        torch.testing.assert_close(wide.state_dict(0)["0.weight"], modules[0][0].weight.detach())
        same_as_modules(self, wide, modules, X)

    def test_parts_that_the_first_call_replaces_are_no_change(self):
        class Other(torch.nn.Sequential):
            pass

        class Replaces(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.part = torch.nn.Sequential(torch.nn.Linear(16, 4))

            def forward(self, x):
                if type(self.part) is not Other:
                    self.part = Other(*self.part)
                return self.part(x)

        modules = [Replaces().eval() for _ in range(3)]
        wide = widebench.compile(modules, X, config=FAST)
        same_as_modules(self, wide, modules, X)
        self.assertTrue(wide.verify())
        modules.append(Replaces().eval())
        wide.add(modules[3])
        modules[0] = Replaces().eval()
        wide.replace(0, modules[0])
        same_as_modules(self, wide, modules, X)
        modules[1].part = Other(torch.nn.Linear(16, 4))
        self.assertRaisesRegex(widebench.Error, "refresh", wide.verify)


if __name__ == "__main__":
    unittest.main()
