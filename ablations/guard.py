"""How a command ends when something outside of the code is wrong: one line, and an exit status."""

import sys
from collections.abc import Callable

from papermill import PapermillExecutionError

from blockproof.ablations.engine import CellsFailedError
from blockproof.ablations.record import RecordError
from blockproof.model.corpus import CorpusError
from blockproof.model.schema import ConfigError

FAILED, INTERRUPTED = 1, 130  # the latter is what a shell expects after Ctrl-C


def guarded(command: Callable[[], int], when_interrupted: str) -> int:
    """The command's exit status; errors that a user can mend are printed without a traceback."""
    try:
        return command()
    except KeyboardInterrupt:
        print(f"interrupted: {when_interrupted}", file=sys.stderr)
        return INTERRUPTED
    except PapermillExecutionError as error:
        print(
            f"error: a notebook failed in cell {error.exec_count}: {error.ename}: {error.evalue}",
            file=sys.stderr,
        )
    except (ConfigError, CorpusError, RecordError, CellsFailedError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
    return FAILED
