"""Plots as SVG, in the manner of the program's reports: no script, no font, no picture from elsewhere; colours follow the page's."""
import html
import math
import statistics

_WIDTH, _ROW, _LEFT, _RIGHT, _TOP = 560.0, 18.0, 190.0, 86.0, 26.0
_OURS, _THEIRS = "#2f7ed8", "#d9822b"


def _text(x, y, words, anchor="start", weight="normal", longest=28):
    words = words if len(words) <= longest else words[:longest - 1] + "…"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{html.escape(words)}</text>'


def _document(title, rows, parts):
    height = _TOP + _ROW * rows + 8
    return (f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_WIDTH:.0f} {height:.0f}" width="{_WIDTH:.0f}" height="{height:.0f}" '
            f'font-family="sans-serif" font-size="10" fill="currentColor"><title>{html.escape(title)}</title>'
            f'{_text(0, 14, title, weight="bold", longest=90)}{"".join(parts)}</svg>')


def bars(title, rows):
    """A bar for each of ``(label, microseconds, another or None, measured)``, a tick for the other. Empty where all are 0."""
    rows = [(label, cost, other if other is not None and math.isfinite(other) else None, measured)
            for label, cost, other, measured in rows if math.isfinite(cost)]
    largest = max([max(cost, other or 0.0) for _, cost, other, _ in rows], default=0.0)
    if not largest > 0:
        return ""
    parts, scale = [], (_WIDTH - _LEFT - _RIGHT) / largest
    for i, (label, cost, other, measured) in enumerate(rows):
        y, width = _TOP + _ROW * i, max(cost * scale, 0.5)
        parts.append(_text(_LEFT - 6, y + 12, label, "end"))
        parts.append(f'<rect x="{_LEFT:.1f}" y="{y + 3:.1f}" width="{width:.1f}" height="12" fill="{_OURS}" fill-opacity="{1 if measured else 0.45}"/>')
        if other is not None:
            x = _LEFT + other * scale
            parts.append(f'<line x1="{x:.1f}" y1="{y + 1:.1f}" x2="{x:.1f}" y2="{y + 17:.1f}" stroke="{_THEIRS}" stroke-width="2"/>')
        parts.append(_text(_LEFT + max(width, (other or 0.0) * scale) + 6, y + 12, f"{cost:.1f} us{'' if measured else ' est.'}"))
    return _document(title, len(rows), parts)


def rounds(title, times):
    """A row for each contender: a dot for each round on a logarithmic scale, a tick for the median."""
    every = [one for row in times.values() for one in row if one > 0]
    if not every:
        return ""
    low, high = math.log(min(every)), math.log(max(every))
    scale = (_WIDTH - _LEFT - _RIGHT) / max(high - low, 1e-9)
    parts = []
    for i, (name, row) in enumerate(times.items()):
        y, colour = _TOP + _ROW * i, _OURS if name == "wide" else _THEIRS
        parts.append(_text(_LEFT - 6, y + 12, name, "end"))
        for one in row:
            if one > 0:
                parts.append(f'<circle cx="{_LEFT + (math.log(one) - low) * scale:.1f}" cy="{y + 9:.1f}" r="2.5" fill="{colour}" fill-opacity="0.35"/>')
        middle = statistics.median(row)
        if middle > 0:
            x = _LEFT + (math.log(middle) - low) * scale
            parts.append(f'<line x1="{x:.1f}" y1="{y + 2:.1f}" x2="{x:.1f}" y2="{y + 16:.1f}" stroke="{colour}" stroke-width="2"/>')
        parts.append(_text(_WIDTH - _RIGHT + 8, y + 12, f"{middle * 1e6:.1f} us"))
    return _document(title, len(times), parts)
