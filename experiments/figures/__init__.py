"""The pictures: curves, heat maps and surfaces, in colours that everybody can tell apart."""

__all__: list[str] = []
