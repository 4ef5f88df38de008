"""A model for each customer: members come, go and are retrained while the wide model serves; plans are made once."""
import torch

import widebench


def classifier():
    return torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 3)).eval()


torch.manual_seed(0)
customers = {name: classifier() for name in ("ada", "bob", "cai")}
requests = torch.randn(3, 16, 32)  # [customers, rows, features]
wide = widebench.compile(list(customers.values()), requests[0], in_dims=0, names=list(customers))
print(wide.names, tuple(wide(requests).shape))

customers["dee"] = classifier()
wide.add(customers["dee"], "dee")
print(wide.names, tuple(wide(torch.randn(4, 16, 32)).shape))

wide.drop("bob")
print(wide.names, tuple(wide(requests).shape))

optimizer = torch.optim.SGD(customers["ada"].parameters(), lr=0.1)
customers["ada"](requests[0]).square().mean().backward()
optimizer.step()  # ada is retrained, in place
try:
    wide(requests)
except widebench.Error as error:
    print("refused:", error)
wide.refresh()
print("ada's new answers:", torch.allclose(wide(requests)[0], customers["ada"](requests[0]), atol=1e-5))
