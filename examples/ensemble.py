"""An ensemble for regression: five networks trained apart, asked as one, with the spread of their answers as uncertainty."""
import torch

import widebench

torch.manual_seed(0)
x = torch.rand(256, 1) * 4 - 2
y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)


def trained(seed):
    torch.manual_seed(seed)
    net = torch.nn.Sequential(torch.nn.Linear(1, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(300):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
    return net.eval()


questions = torch.tensor([[-1.0], [0.0], [1.0], [4.0]])  # the last lies where nothing was seen
wide = widebench.compile([trained(seed) for seed in range(5)], questions)
answers = wide(questions)  # [5, 4, 1]
mean, spread = widebench.reduce.mean(answers), widebench.reduce.variance(answers).sqrt()
for at, middle, off in zip(questions, mean, spread):
    print(f"f({at.item():4.1f}) = {middle.item():5.2f} +- {off.item():.2f}")
print("surer where it has seen data:", bool(spread[:3].max() < spread[3]))
print("proved:", wide.verify().passed)
