"""Answers that no one tensor can hold."""


class Apart(list):
    """Answers of members where data give them different numbers of axes: a list of N tensors in one tensor's place.

    A leaf to ``torch.utils._pytree``, as the tensor would be.
    """

    def unbind(self) -> tuple:
        """The members' tensors, as a tensor ``[N, ...]`` and a nested one give them."""
        return tuple(self)


def put_together(results, members):
    """The library's answers: where None stands, so many members' tensors follow behind all others."""
    answers = results[:-members * sum(one is None for one in results)]
    rest = iter(results[len(answers):])
    return [Apart(next(rest) for _ in range(members)) if one is None else one for one in answers]
