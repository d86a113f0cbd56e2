"""Views: text pictures first; the widget redraws the same values.

`text` and `html` need nothing but this package. `widget`, `tweak` and `compare` stand on anywidget and
ipywidgets: ``pip install 'aeskit[lab]'``.
"""
