"""The commands of `skipline`: one file for each, with its options and what it does.

A new command is a file here and a line in `skipline.cli`. What a command needs beside its options
is imported inside its function, so that `skipline --help` stays quick. Commands know every other
package, and no other package knows a command.
"""
