"""`python -m skipline`."""

from skipline.cli import main

main()
