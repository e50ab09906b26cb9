"""How far a new answer may be off: intervals from the errors of rows that others have measured.

`rows` are simulated numbers beside measured ones, `kinds` says which rows judge which numbers,
`intervals` makes 90 % intervals of them and tests these on experiments that were left out, `view`
writes them.
"""
