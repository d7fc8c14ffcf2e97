"""The table `make bench` prints: each row a budget, what was measured, and the floor measured in the same run."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Row:
    """One line. `met` None: there is no budget, the number is for information."""

    what: str
    measured: str
    budget: str = ""
    floor: str = ""
    met: bool | None = None


@dataclass(slots=True)
class Report:
    """Rows as they come; each is printed at once, because a run takes minutes."""

    rows: list[Row] = field(default_factory=list[Row])

    WIDTHS = (52, 34, 32, 44)

    def head(self) -> None:
        """The first lines."""
        self.line(("what", "measured", "budget", "floor in the same run"), "")
        print("-" * (sum(self.WIDTHS) + 3 * len(self.WIDTHS) + 6), flush=True)

    def add(self, row: Row) -> None:
        """Print and keep a row."""
        self.rows.append(row)
        verdict = {True: "pass", False: "MISS", None: ""}[row.met]
        self.line((row.what, row.measured, row.budget, row.floor), verdict)

    def line(self, cells: tuple[str, str, str, str], verdict: str) -> None:
        """One line of the table."""
        print(
            "   ".join(cell.ljust(width) for cell, width in zip(cells, self.WIDTHS, strict=True)),
            verdict,
            sep="   ",
            flush=True,
        )

    def conclude(self) -> None:
        """How many budgets are met."""
        judged = [row for row in self.rows if row.met is not None]
        missed = [row.what for row in judged if not row.met]
        print(
            f"\n{len(judged) - len(missed)} of {len(judged)} budgets met"
            + (f"; missed: {'; '.join(missed)}" if missed else "")
        )


def quantile(values: list[float] | list[int], share: float) -> float:
    """The value below which `share` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
