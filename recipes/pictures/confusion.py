"""Which labels were taken for which."""

from collections.abc import Sequence

from matplotlib.figure import Figure  # no pyplot: no display is needed


def draw_confusion(references: Sequence[str], predictions: Sequence[str], labels: Sequence[str]) -> Figure:
    """Draw how many texts of each label (rows) were given each label (columns).

    Args:
        references: the label that each text has.
        predictions: the label that it was given.
        labels: all labels, in the order in which they are to stand.
    """
    from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

    side = 2.5 + 0.5 * len(labels)
    figure = Figure(figsize=(side + 0.5, side), layout="constrained")
    counts = confusion_matrix(references, predictions, labels=list(labels))
    ConfusionMatrixDisplay(counts, display_labels=list(labels)).plot(
        ax=figure.subplots(), cmap="Blues", colorbar=False, xticks_rotation="vertical" if len(labels) > 8 else 0
    )
    return figure
