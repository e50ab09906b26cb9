"""Texts for people and programs, from any part: what stands below all other packages.

`table` is what a view builds, `terminal` writes it, `layout` fits it to the width, `csv_text` and
`html_card` are its other forms; `quantity` rounds numbers, `toml_model` reads TOML, `nearest`
suggests names.
"""
