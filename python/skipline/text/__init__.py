"""Texts for people and programs, from any part: what stands below all other packages.

`terminal` writes, `layout` fits tables to its width, `quantity` rounds numbers, `csv_text` and
`html_card` are other forms of a table, `toml_model` reads TOML, `nearest` suggests names.
"""
