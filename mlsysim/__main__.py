"""``python -m mlsysim``: the command line."""

from mlsysim.cli import main

if __name__ == "__main__":
    main()
