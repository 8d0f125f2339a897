"""Notebooks: a foreign kernel, parameters that nobody reads, no time limit, a figure that is never shown."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

FILE = "unit/ablations/test_notebook_call.py"
HERE = "none: it runs here and now"

CALL = "parameters=dict(parameters), kernel_name=KERNEL,"


def notebook(old: str, new: str) -> tuple[Patch]:
    """A change in how a notebook is run."""
    return (Patch("ablations.notebook", old, new),)


MUTANTS = (
    Mutant(
        "the kernel is whatever python3 is here",
        ("W01",), ("nteract/papermill#251",), notebook("kernel_name=KERNEL", 'kernel_name="python3"'),
        f"{FILE}::test_papermill_gets_all_that_is_given", HERE,
    ),
    Mutant(
        "the kernel is the first python of the path",
        ("W01",), ("treebeardtech/nbmake#8",), notebook("argv = [sys.executable,", 'argv = ["python",'),
        f"{FILE}::test_the_kernel_is_this_interpreter", HERE,
    ),
    Mutant(
        "a kernel of the user's wins",
        ("W01",), ("FESOM/tripyview#217",),
        notebook("filter(None, (folder, before))", "filter(None, (before, folder))"),
        f"{FILE}::test_the_kernel_is_this_interpreter", HERE,
    ),
    Mutant(
        "the user's path of kernels is lost",
        ("W01",), ("nteract/papermill#638",),
        notebook('else:\n                os.environ["JUPYTER_PATH"] = before', "else:\n                pass"),
        f"{FILE}::test_the_kernel_is_this_interpreter", HERE,
    ),
    Mutant(
        "parameters are not handed on",
        ("W02",), ("nteract/papermill#245",), notebook(CALL, CALL.replace("dict(parameters)", "{}")),
        f"{FILE}::test_papermill_gets_all_that_is_given", "none: the notebook runs with its defaults",
    ),
    Mutant(
        "a parameter that the notebook lacks is a warning alone",
        ("W03",), ("nteract/papermill#818",), notebook("if key not in declared:", "if not key:"),
        f"{FILE}::test_a_parameter_that_is_not_declared_starts_nothing", "none: papermill warns and runs",
    ),
    Mutant(
        "a cell may take for ever",
        ("W05", "W06"), ("nteract/papermill#125", "nteract/papermill#419"),
        notebook("execution_timeout=timeout", "execution_timeout=None"),
        f"{FILE}::test_papermill_gets_all_that_is_given", HERE,
    ),
    Mutant(
        "notebooks are looked for where one stands",
        ("W08",), ("nteract/papermill#418",),
        notebook(
            'resources.as_file(resources.files("blockproof.ablations") / f"{name}.ipynb") as path',
            'resources.as_file(Path("ablations") / f"{name}.ipynb") as path',
        ),
        f"{FILE}::test_it_does_not_matter_where_one_stands", HERE,
    ),
    Mutant(
        "the figure is made and never shown",
        ("W09",), ("nteract/papermill#278",),
        (Patch("ablations.study", "display(self.view.figure(self.frames))", "self.view.figure(self.frames)"),),
        f"{FILE}::test_the_figure_is_shown_once", "none: no cell raises",
    ),
    Mutant(
        "the figure of the notebook is in no theme",
        (), (), (Patch("ablations.study", "with style.themed(theme):", 'with style.themed("light"):'),),
        f"{FILE}::test_the_figure_is_shown_once", "none: no cell raises",
    ),
)  # fmt: skip
