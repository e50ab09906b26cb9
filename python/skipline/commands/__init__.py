"""The commands of `skipline`: one file for each, with its options and what it does.

A new command is a file here, which has a command of its name, and a line in `skipline.cli`. What a
command needs beside its options is imported inside its function, after what the user gave has been
checked: bad input is refused before anything heavy is loaded. Commands know every other package,
and no other package knows a command.
"""
