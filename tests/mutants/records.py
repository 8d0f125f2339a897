"""Records: half a file taken for whole, a stale result, a cell run twice, a swallowed failure."""

from blockproof.ablations.patch import Patch
from blockproof.tests.mutants.mutant import Mutant

OTHER = "unit/ablations/test_fingerprint.py::test_other_source_and_other_arithmetic_have_another_fingerprint"
CODE = "unit/ablations/test_fingerprint.py::test_the_first_statement_counts_where_there_is_no_docstring"
REPEATS = "unit/ablations/test_runs.py::test_repeats_bit_by_bit_whatever_was_drawn_before"
LACKING = "unit/ablations/test_engine.py::test_runs_only_what_is_lacking"
WHOLE = "none: without a crash every file is whole"
ONCE = "none: a first run on one machine is right"

MISSING = "list({cell.key: cell for cell in cells if found[cell.key] is None}.values())"
FAILED = "            yield Outcome(cell, error)"


def record(old: str, new: str) -> tuple[Patch]:
    """A change in how a record is written."""
    return (Patch("ablations.record", old, new),)


def fingerprint(old: str, new: str) -> tuple[Patch]:
    """A change in what determines a result."""
    return (Patch("ablations.fingerprint", old, new),)


def engine(old: str, new: str) -> tuple[Patch]:
    """A change in who runs what."""
    return (Patch("ablations.engine", old, new),)


MUTANTS = (
    Mutant(
        "a record has its name before it is whole",
        (), (),
        record(
            "dir=path.parent, prefix=PARTIAL, delete=False) as file:\n        file.write(content)",
            "dir=path.parent, prefix=PARTIAL, delete=False) as file:\n"
            "        path.write_bytes(content)\n"
            "        file.write(content)",
        ),
        "unit/ablations/test_store.py::test_a_crash_while_storing_leaves_no_record", WHOLE,
    ),
    Mutant(
        "a record has its name before it is on the disk",
        (), (), record("os.fsync(file.fileno())", "pass"),
        "unit/ablations/test_store.py::test_the_data_are_on_the_disk_before_the_final_name", WHOLE,
    ),
    Mutant(
        "a truncated archive is read as far as it goes",
        (), (),
        record("lzma.decompress(path.read_bytes())", "lzma.LZMADecompressor().decompress(path.read_bytes())"),
        "unit/ablations/test_record.py::test_a_truncated_archive_is_refused_at_any_length", WHOLE,
    ),
    Mutant(
        "a damaged record counts as none",
        (), (),
        (
            Patch(
                "ablations.store",
                "except FileNotFoundError:",
                "except (FileNotFoundError, ValueError, KeyError, TypeError):",
            ),
        ),
        "unit/ablations/test_store.py::test_a_damaged_record_is_named_with_a_remedy", WHOLE,
    ),
    Mutant(
        "NaN is stored as no JSON has it",
        ("W10",), ("tensorflow/tensorboard#3057",),
        (Patch("ablations.store", "allow_nan=False", "allow_nan=True"),),
        "unit/ablations/test_store.py::test_what_json_cannot_hold_is_refused_and_leaves_nothing",
        "none: Python reads its own NaN",
    ),
    Mutant(
        "NaN is published as no JSON has it",
        ("W10",), ("langflow-ai/langflow#15228",), record("allow_nan=False", "allow_nan=True"),
        "unit/ablations/test_record.py::test_what_json_cannot_hold_is_not_published",
        "none: Python reads its own NaN",
    ),
    Mutant(
        "a log writes NaN as no JSON has it",
        ("W10",), ("TransformerLensOrg/CircuitsVis#48",),
        (Patch("model.log", "json.dumps(_finite(point), allow_nan=False)", "json.dumps(point)"),),
        "unit/running/test_log.py::test_what_is_no_number_is_null", "none: Python reads its own NaN",
    ),
    Mutant(
        "a line that was cut off ends the reading of a log in an error",
        (), (), (Patch("model.log", "break", "raise"),),
        "unit/running/test_log.py::test_a_last_line_that_was_cut_off_is_left_out", WHOLE,
    ),
    Mutant(
        "a resumed log keeps points that the checkpoint never reached",
        (), (), (Patch("model.log", 'if point["step"] < step', 'if point["step"] <= step'),),
        "unit/running/test_log.py::test_a_resume_keeps_what_was_reached_and_no_more", WHOLE,
    ),
    Mutant(
        "equal cells are run as often as they are asked for",
        (), (), engine(MISSING, "[cell for cell in cells if found[cell.key] is None]"),
        "unit/ablations/test_engine.py::test_runs_equal_cells_once_and_gives_each_its_record_in_order", ONCE,
    ),
    Mutant(
        "every cell is run again",
        (), (), engine("found = {cell.key: store.find(cell) for", "found = {cell.key: None for"), LACKING, ONCE,
    ),
    Mutant(
        "records are stored when all are done",
        (), (),
        engine(
            "            store.add(outcome.record)\n            found[outcome.cell.key] = outcome.record\n",
            "            found[outcome.cell.key] = outcome.record\n"
            "    for done in found.values():\n"
            "        done and store.add(done)\n",
        ),
        "unit/ablations/test_engine.py::test_every_record_is_stored_as_soon_as_it_is_there", ONCE,
    ),
    Mutant(
        "the first failure ends all",
        ("W04",), ("nteract/papermill#478",), engine(FAILED, f"{FAILED}\n            return"),
        "unit/ablations/test_engine.py::test_a_failed_cell_is_named_and_the_others_are_stored", ONCE,
    ),
    Mutant(
        "a failure is swallowed",
        ("W04",), ("scikit-hep/pyhf#1840",), engine("            failures.append(outcome)", "            continue"),
        "unit/ablations/test_engine.py::test_a_failed_cell_is_named_and_the_others_are_stored", ONCE,
    ),
    Mutant(
        "a record of other source counts as today's",
        (), (), fingerprint('"source": source_digest()', '"source": ""'), OTHER, ONCE,
    ),
    Mutant(
        "a record of another machine counts as this one's",
        ("X06",), ("ionelmc/pytest-benchmark#276",), fingerprint('"arithmetic": arithmetic()', '"arithmetic": ""'),
        OTHER, ONCE,
    ),
    Mutant(
        "a worker of another kind computes along",
        ("X08",), ("Jebel-Quant/basanos#378",),
        (Patch("ablations.worker", "if found != expected:", "if not found:"),),
        "unit/ablations/test_engine.py::test_a_worker_refuses_a_cell_that_its_own_source_would_run_otherwise", ONCE,
    ),
    Mutant(
        "modules that a package's name brings in are not part of the source",
        (), (),
        fingerprint(
            "names += [node.module, *(module for module in submodules if is_module(module))]",
            "names += [node.module]",
        ),
        "unit/ablations/test_fingerprint.py::test_every_form_of_an_import_is_followed", ONCE,
    ),
    Mutant(
        "the first statement of a function does not count as source",
        (), (), fingerprint("and ast.get_docstring(node) is not None", "and node.body"), CODE, ONCE,
    ),
    Mutant(
        "a cell's seed is not part of its name",
        (), (),
        (Patch("ablations.fingerprint", '"cell": cell.to_dict()', '"cell": {**cell.to_dict(), "seed": 0}'),),
        "unit/ablations/test_fingerprint.py::test_another_cell_has_another_fingerprint", ONCE,
    ),
    Mutant(
        "what is current is discarded with the rest",
        (), (), (Patch("ablations.store", "if path not in kept]", "if path in kept]"),),
        "unit/ablations/test_store.py::test_discard_keeps_what_is_current_and_deletes_the_rest", ONCE,
    ),
    Mutant(
        "published records lie in the order in which they finished",
        (), (), record("sorted(records, key=lambda record: record.cell.key)", "records"),
        "unit/ablations/test_record.py::test_the_packed_file_does_not_depend_on_who_finished_first", ONCE,
    ),
    Mutant(
        "runs are not seeded",
        ("X01",), ("hasktorch/hasktorch#787",),
        (
            Patch(
                "ablations.runs",
                "    torch.manual_seed(cell.seed)\n"
                "    model = Transformer(ModelConfig.from_dict(cell.model))\n"
                "    return",
                "    model = Transformer(ModelConfig.from_dict(cell.model))\n    return",
            ),
        ),
        REPEATS, ONCE,
    ),
    Mutant(
        "runs share the machine's threads",
        ("V03",), ("pytorch/pytorch#182551",), (Patch("ablations.runs", "torch.set_num_threads(1)", "pass"),),
        "unit/ablations/test_runs.py::test_runs_on_one_thread_and_gives_the_others_back", ONCE,
    ),
)  # fmt: skip
