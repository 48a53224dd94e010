"""Pictures of data with holes and of what a completer made of them; matplotlib draws them."""

__all__: list[str] = []
