"""`python -m realtime` is the command `realtime`."""

from realtime.cli import main

if __name__ == "__main__":
    main()
