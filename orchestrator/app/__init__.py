"""The composition root: configuration in, a wired run out. The only room that knows concrete roles, models, hands."""
