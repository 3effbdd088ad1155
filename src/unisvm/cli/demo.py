"""`unisvm demo`."""


def run(picture, messages) -> None:
    raise NotImplementedError
