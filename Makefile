# Every target is tools/dev.py; without make, run `python3 tools/dev.py TARGET` (on Windows: `py tools\dev.py TARGET`).
# Further words go in ARGS: make serve ARGS="--port 9000"
PYTHON ?= python3

.PHONY: serve check test nightly durations spec bench lint
serve check test nightly durations spec bench lint:
	@$(PYTHON) tools/dev.py $@ $(ARGS)
