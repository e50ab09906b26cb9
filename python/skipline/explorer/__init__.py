"""The page in which sliders move a simulation, with the native engine behind it.

`page` finds the built page, `server` answers its requests on the loopback interface.
"""
